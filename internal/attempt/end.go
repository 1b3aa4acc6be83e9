package attempt

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/retry"
)

// execute runs a body and reports how it ended.
func (r *Runner) execute(ctx context.Context, x *Attempt, body seal.Body) {
	var result history.Payload
	err, unbegun := errGoexit, false
	defer func() {
		if v := recover(); v != nil {
			err = retry.NewPanicError(v)
		}
		var cause error // why the body was to end
		if err != nil {
			cause = context.Cause(ctx)
		}
		x.life.over()
		r.bodyReturned(ctx, x, result, err, cause, unbegun)
	}()
	if unwanted := x.life.cause(); unwanted != nil {
		err, unbegun = unwanted, x.launch != nil
		return
	}
	result, err = body(ctx)
}

// bodyReturned reports the end of an attempt, unless its timeout has done so. Cause is that of
// the body's context if it failed. Unbegun says that the attempt waited for its time or its
// slot and its body was not called.
func (r *Runner) bodyReturned(ctx context.Context, x *Attempt, result history.Payload, err, cause error, unbegun bool) {
	first := !x.over.Swap(true)
	x.stopTimers()
	if !first {
		r.lateReturn(x)
		return
	}
	in, step := outcome(ctx, result, err, cause)
	in.Unbegun = unbegun
	r.end(x, in, step, x.slot)
}

// outcome returns how an attempt whose body returned has ended, and the transaction that the
// body wants with its result.
func outcome(ctx context.Context, result history.Payload, err, cause error) (in core.AttemptEnded, step *Transaction) {
	in = core.AttemptEnded{Outcome: core.Completed, Result: result}
	commit := seal.AttemptIn(ctx).Commits()
	answer, after := seal.AttemptIn(ctx).Answer()
	switch {
	case commit != nil && isPending(err):
		err = errPendingCommit
	case err == nil && answer != "" && commit != nil:
		err = errUnfoundCommit
	case err == nil && answer != "":
		in.Outcome, in.After = core.Outcome(answer), after
	case err == nil && commit != nil:
		step, in.Transaction = &Transaction{ctx, commit}, true
	}
	if err == nil {
		return in, step
	}
	in.Outcome, in.Failure = core.Failed, history.FromError(err)
	timeout, timedOut := cause.(*retry.TimeoutError)
	switch {
	case timedOut: // the body returned before the timer fired
		in.Outcome, in.Failure = core.TimedOut, history.FromError(&retry.TimeoutError{Kind: timeout.Kind, Limit: timeout.Limit, Err: err})
	case isPending(err):
		in.Outcome, in.Failure = core.Pending, nil
	case errors.Is(cause, errShutdown), errors.Is(cause, errLate), errors.Is(cause, errNoSlot):
		in.Outcome = core.Drained
	}
	return in, nil
}

// isPending reports whether a body says that its attempt continues outside.
func isPending(err error) bool {
	return history.Search(err, func(err error) bool { return err == activity.ErrPending })
}

// end reports an attempt's end to its owner. The caller has set over.
func (r *Runner) end(x *Attempt, in core.AttemptEnded, step *Transaction, slot *dispatch.Slot) {
	in.Call, in.Attempt, in.Began, in.Ended = x.Call, x.Number, x.began, r.config.Clock.Now()
	r.config.Owner.Ended(End{Attempt: x, Input: in, Transaction: step, Slot: slot})
}

// timedOut ends an attempt whose time is up, whether or not its body returns.
func (r *Runner) timedOut(x *Attempt, failure *retry.TimeoutError) {
	if x.over.Swap(true) {
		return
	}
	slot := x.slot
	r.mu.Lock() // waits for Begin, which sets the timers
	x.stopTimers()
	r.late++
	if x.holds = r.late > r.config.MaxLate; x.holds {
		slot = nil
	}
	r.mu.Unlock()
	x.life.end(failure)
	r.end(x, core.AttemptEnded{Outcome: core.TimedOut, Failure: history.FromError(failure)}, nil, slot)
}

// lateReturn handles the return of a body whose attempt has ended before. Its slot was freed
// then, unless too many such bodies were running.
func (r *Runner) lateReturn(x *Attempt) {
	r.mu.Lock()
	r.late--
	holds := x.holds
	r.mu.Unlock()
	if holds {
		r.config.Granted(x.slot.Free())
	}
}

// stopTimers stops all timers of an attempt, which are set before its body begins.
func (x *Attempt) stopTimers() {
	for _, t := range []*time.Timer{x.timer, x.lease, x.trial, x.launch} {
		if t != nil {
			t.Stop()
		}
	}
	x.pulse.stop()
}
