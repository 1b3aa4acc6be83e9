package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// attemptKey names a running attempt.
type attemptKey struct {
	run     string
	call    int64
	attempt int
}

// execution is a body that runs.
type execution struct {
	engine   *Engine
	key      attemptKey
	resident *resident
	lane     lane
	cancel   context.CancelCauseFunc
	timer    *time.Timer // enforces the attempt's timeout, nil if it has none
	over     atomic.Bool // its end was reported
	trial    *time.Timer // ends its time in the probation lane, nil elsewhere
	launch   *time.Timer // starts it, nil if it was started at once
	holds    bool        // its slot was not given back although it is over
	pulse    pulse
}

// trialTime is how long an attempt keeps the probation lane to itself. One that
// runs longer, and its process with it, makes room for the next.
const trialTime = 30 * time.Second

// errUnwanted is the cause of a body's context when nobody wants the attempt any
// more.
var errUnwanted = &workflow.CancelError{Reason: "the call was canceled"}

// errLate is the cause of the context of an attempt whose time came when the lease
// was over.
var errLate = errors.New("the lease of the node is over")

// errPendingCommit is the failure of an attempt that wants something done with a
// result which it leaves to others.
var errPendingCommit = retry.Terminal(errors.New("the body used activity.OnCommit and returned activity.ErrPending: " +
	"its attempt has no result of its own, so there is no transaction that records it; do one or the other"))

// begin starts an attempt. Its turn is durable, its slot reserved; the engine's
// mu is held.
func (e *Engine) begin(r *activeRun, d core.Dispatch, l lane) {
	x := &execution{engine: e, key: attemptKey{r.id, d.Call, d.Attempt}, resident: r.resident, lane: l}
	ctx, cancel := context.WithCancelCause(x.context(e.bodies, attemptInfo(r, d)))
	x.cancel = cancel
	body := e.body(r, d)
	// Its code was dropped, the engine stops, or so much time went by since the turn
	// that another node may own the run.
	if body == nil || e.phase != running || !e.member.Holds() {
		cancel(nil)
		e.report(x, core.AttemptEnded{Outcome: core.Drained}, nil)
		e.slots.release(e, l)
		return
	}
	if around := e.config.Around; around != nil {
		inner := body
		body = func(ctx context.Context) (history.Payload, error) { return around(ctx, inner) }
	}
	e.executions[x.key] = x
	r.partition.active++
	wait := max(e.clock.Until(d.Started), 0) // it was made durable ahead of its time
	if d.AttemptTimeout > 0 {
		timeout := &retry.TimeoutError{Kind: retry.TimeoutAttempt, Limit: d.AttemptTimeout}
		// The body sees the deadline; the timer holds also for one that does not look.
		timed, stop := context.WithTimeoutCause(ctx, wait+d.AttemptTimeout, timeout)
		ctx, x.cancel = timed, func(cause error) { cancel(cause); stop() }
		x.timer = time.AfterFunc(wait+d.AttemptTimeout, func() { e.timedOut(x, timeout) })
	}
	e.listenTo(x, d, wait)
	if l == probation {
		x.trial = time.AfterFunc(trialTime, func() { e.trialOver(x) })
	}
	if wait == 0 {
		e.code.Run(func() { e.execute(ctx, x, body) })
		return
	}
	launch := sync.OnceFunc(func() { e.code.Run(func() { e.execute(ctx, x, body) }) })
	var unwanted func() bool
	x.launch = time.AfterFunc(math.MaxInt64, func() {
		unwanted()
		if !e.member.Holds() { // another node may own the run by now
			x.cancel(errLate)
		}
		launch()
	})
	unwanted = context.AfterFunc(ctx, launch) // which is told at once
	x.launch.Reset(wait)
}

// trialOver offers a running attempt to leave the probation lane. The run decides
// that, and puts it on record; if another node has it now, nobody needs to.
func (e *Engine) trialOver(x *execution) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.executions[x.key] != x {
		return
	}
	p := x.resident.partition
	if e.partitions[p.number] != p {
		e.leaveProbation(x)
		return
	}
	offer := core.OffProbation{AttemptRef: core.AttemptRef{Call: x.key.call, Attempt: x.key.attempt}}
	e.deliverLocked(p, x.key.run, mail{input: offer})
}

// leaveProbation moves a running attempt out of the probation lane. It may exceed
// the limit of regular slots by one.
func (e *Engine) leaveProbation(x *execution) {
	if x == nil || x.lane != probation {
		return
	}
	x.lane = regular
	e.slots.used++
	e.slots.release(e, probation)
}

// body finds what an attempt runs, nil if that is gone.
func (e *Engine) body(r *activeRun, d core.Dispatch) workflow.Body {
	if d.Step {
		if r.instance == nil {
			return nil
		}
		return r.instance.Body(d.Call)
	}
	def := e.defs.activities[d.Name]
	if def == nil {
		return nil
	}
	return func(ctx context.Context) (history.Payload, error) {
		out, err := def.Invoke(ctx, d.Input.Decode)
		if err != nil {
			return history.Payload{}, err
		}
		result, err := history.Encode(out)
		if err != nil {
			return history.Payload{}, retry.Terminal(fmt.Errorf("the result of activity %q: %w", d.Name, err))
		}
		return result, nil
	}
}

// context is what a body gets to know of its attempt.
func (x *execution) context(parent context.Context, info activity.Info) context.Context {
	return retry.NewContext(activity.NewLinkedContext(parent, info, x), retry.AttemptInfo{
		TraceID: info.CallID, ID: info.AttemptID, Number: info.Attempt, Max: info.Max, Final: info.Final,
	}, x.alive)
}

// Token implements activity.Link.
func (x *execution) Token() string {
	return x.engine.Client.Token(request.Attempt{
		Partition: x.resident.partition.number, Run: x.key.run, Call: x.key.call, Number: x.key.attempt,
	})
}

func attemptInfo(r *activeRun, d core.Dispatch) activity.Info {
	start := r.run.Start()
	info := activity.Info{
		WorkflowID: start.WorkflowID, RunID: r.id, Workflow: start.Type, Activity: d.Name,
		CallID: r.run.CallID(d.Call), AttemptID: core.AttemptID(r.id, d.Call, d.Attempt), Trace: d.Trace,
		Attempt: d.Attempt, Max: d.Max, Final: d.Final,
		Scheduled: time.Unix(0, d.Scheduled), Started: time.Unix(0, d.Started),
	}
	if d.AttemptTimeout > 0 {
		info.Deadline = info.Started.Add(d.AttemptTimeout)
	}
	return info
}

// execute runs a body and reports how it ended.
func (e *Engine) execute(ctx context.Context, x *execution, body workflow.Body) {
	var result history.Payload
	err := errors.New("the body called runtime.Goexit (a test's FailNow, perhaps)")
	defer func() {
		if v := recover(); v != nil {
			err = retry.NewPanicError(v)
		}
		x.cancel(nil)
		e.bodyReturned(ctx, x, result, err)
	}()
	if unwanted := context.Cause(ctx); unwanted != nil {
		err = unwanted
		return
	}
	result, err = body(ctx)
}

// bodyReturned reports the end of an attempt, unless its timeout did before.
func (e *Engine) bodyReturned(ctx context.Context, x *execution, result history.Payload, err error) {
	x.stopTimers()
	if x.over.Swap(true) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.lateReturn(x)
		return
	}
	in := core.AttemptEnded{Outcome: core.Completed, Result: result}
	var step *transaction
	commit := activity.Commits(ctx)
	if commit != nil && isPending(err) {
		err = errPendingCommit
	}
	if commit != nil && err == nil {
		step, in.Transaction = &transaction{ctx, commit}, true
	}
	if err != nil {
		in.Outcome, in.Failure = core.Failed, history.FromError(err)
		cause := context.Cause(ctx)
		if errors.Is(cause, errShutdown) || errors.Is(cause, errLate) {
			in.Outcome = core.Drained
		}
		if timeout, is := cause.(*retry.TimeoutError); is { // in time for its timer
			in.Outcome, in.Failure = core.TimedOut, history.FromError(&retry.TimeoutError{Kind: timeout.Kind, Limit: timeout.Limit, Err: err})
		} else if isPending(err) {
			in.Outcome, in.Failure = core.Pending, nil
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.report(x, in, step)
	e.slots.release(e, x.lane)
}

// isPending reports whether a body says that its attempt goes on outside.
func isPending(err error) bool {
	return history.Search(err, func(err error) bool { return err == activity.ErrPending })
}

// report tells the run of an attempt's end, and what its body wants in the
// transaction, nil for nothing. The engine's mu is held.
func (e *Engine) report(x *execution, in core.AttemptEnded, step *transaction) {
	in.Call, in.Attempt, in.Ended = x.key.call, x.key.attempt, e.clock.Now()
	if e.executions[x.key] == x {
		delete(e.executions, x.key)
		x.resident.partition.active--
	}
	e.quiet.Broadcast()
	if e.partitions[x.resident.partition.number] != x.resident.partition {
		return // another node owns the run now
	}
	if in.Outcome != core.Completed || step != nil { // the next attempt is told what this one said
		e.tellRun(x)
	}
	e.deliverLocked(x.resident.partition, x.key.run, mail{input: in, transaction: step})
}

// timedOut ends an attempt whose time is up, whether or not its body cares.
func (e *Engine) timedOut(x *execution, failure *retry.TimeoutError) {
	if x.over.Swap(true) {
		return
	}
	e.mu.Lock() // begin, which sets the timers, has let go of it
	defer e.mu.Unlock()
	x.stopTimers()
	x.cancel(failure)
	e.report(x, core.AttemptEnded{Outcome: core.TimedOut, Failure: history.FromError(failure)}, nil)
	e.health.lateBodies++
	if x.holds = e.health.lateBodies > e.config.MaxAbandoned; !x.holds {
		e.slots.release(e, x.lane)
	}
}

func (x *execution) stopTimers() {
	for _, t := range []*time.Timer{x.timer, x.trial, x.launch} {
		if t != nil {
			t.Stop()
		}
	}
	x.pulse.stop()
}

// lateReturn is the return of a body whose attempt was given up before. Its slot
// was freed then, unless too many such bodies were running.
func (e *Engine) lateReturn(x *execution) {
	e.health.lateBodies--
	if x.holds {
		e.slots.release(e, x.lane)
	}
}

// giveUpAttempts reports the attempts that did not end in time for a shutdown.
func (e *Engine) giveUpAttempts() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, x := range e.executions {
		if !x.over.Swap(true) {
			e.health.lateBodies++
			e.report(x, core.AttemptEnded{Outcome: core.Drained}, nil)
		}
	}
}
