package workflow

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/firstlast"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/retry"
)

// Retry runs a block of workflow code (several calls, say) by a policy until it succeeds.
// It decides exactly as the engine does for a single activity; its waits are durable
// timers of this run. With AttemptTimeout each try has its own deadline, as with Timeout.
// If the code wakes from a wait after Within has passed, no further try follows. fn must
// use the context it is given; see Outer. The errors are those of Call.
//
// The policy is recorded when the block begins; a later change of the code applies to
// blocks that begin later.
//
// A call inside the block runs once if neither it nor its activity has a policy: the
// block's policy retries it. A call with a policy of its own is retried by that first.
// For a block of one call use RetryCall. In the ledger a try that failed because a call with one
// attempt did has the type of that call's error.
func Retry[T any](wf *Context, policy retry.Policy, fn func(wf *Context) (T, error)) (T, error) {
	return retryBlock(wf, "the block", policy, fn)
}

// retryBlock is Retry of what name says.
func retryBlock[T any](wf *Context, name string, policy retry.Policy, fn func(wf *Context) (T, error)) (T, error) {
	wf.enter()
	wf.belongs()
	var zero T
	if err := validateBlockPolicy(policy); err != nil {
		return zero, retry.Terminal(fmt.Errorf("the policy of workflow.Retry is not usable: %w", err))
	}
	b := wf.startBlock(name, &policy)
	for {
		started := b.now()
		out, err := inside(wf, wf.scope, true, func(wf *Context) (T, error) {
			return timeout(wf, b.policy().AttemptTimeout, b.record.Number(), fn)
		})
		if err == nil {
			b.succeeded(started)
			return out, nil
		}
		if err := b.failed(err, started); err != nil {
			b.leave()
			return zero, err
		}
	}
}

// RetryCall is Retry with a block of one call. Each try is a call of its own, with the
// policy's AttemptTimeout as its deadline: the wait for a slot or a gate counts, unlike
// for a call that the engine retries (see Call). The policy's HeartbeatTimeout,
// QueueTimeout and CrashLimit are those of each call, so the activity may also be one that
// is completed from outside. The activity's own policy is ignored, and opts must not have
// one. The errors are those of one call that was tried as often.
func RetryCall[In, Out any](wf *Context, policy retry.Policy, a activity.Activity[In, Out], in In, opts ...activity.Option) (Out, error) {
	var options seal.ActivityOptions
	_ = seal.Apply(&options, opts) // Call reports a nil option
	if options.Retry != nil {
		var zero Out
		return zero, retry.Terminal(fmt.Errorf("the call of %q by workflow.RetryCall has two policies: leave out activity.Retry", a.Name()))
	}
	try := retry.Never
	try.AttemptTimeout, try.HeartbeatTimeout, try.QueueTimeout, try.CrashLimit = policy.AttemptTimeout, policy.HeartbeatTimeout, policy.QueueTimeout, policy.CrashLimit
	policy.HeartbeatTimeout, policy.QueueTimeout, policy.CrashLimit = 0, 0, 0
	opts = slices.Concat(opts, []activity.Option{activity.Retry(try)})
	return retryBlock(wf, a.Name(), policy, func(wf *Context) (Out, error) {
		out, err := Call(wf, a, in, opts...)
		return out, ofOneAttempt(err)
	})
}

// ofOneAttempt returns what a call failed with that had one attempt, instead of the error
// that says so: who retries the call counts its attempts.
func ofOneAttempt(err error) error {
	if once, is := err.(*retry.ExhaustedError); is && once.Attempts == 1 && once.Reason == retry.ReasonMaxAttempts {
		return once.Err
	}
	return err
}

// block is a block of code that is retried.
type block struct {
	wf     *Context
	name   string // in its errors
	record *core.Block
	seed   int64 // tells its draws from those of others of the run
	state  retry.State
	tries  []retry.Record // that failed: the first and the last ones
}

func (wf *Context) startBlock(name string, policy *retry.Policy) *block {
	run := wf.instance.run
	b := &block{wf: wf, name: name, seed: run.NextCall(), record: run.StartBlock(policy)}
	b.state.First = b.now()
	return b
}

func (b *block) leave() { b.record.Leave() }

// succeeded is the end of a try that succeeded.
func (b *block) succeeded(started time.Time) {
	b.record.Tried(core.Try{Number: b.state.Attempt + 1, Started: started.UnixNano()})
	b.leave()
}

func (b *block) now() time.Time        { return time.Unix(0, b.wf.instance.run.Now()).UTC() }
func (b *block) policy() *retry.Policy { return b.record.Policy() }

// failed is the end of a try that failed: it waits for the next one, or returns what the
// block has come to.
func (b *block) failed(err error, started time.Time) error {
	run, policy, now := b.wf.instance.run, b.policy(), b.now()
	err = b.refused(err)
	b.state.Attempt++
	b.state.Canceled = b.wf.over()
	failure := history.FromError(ofOneAttempt(err))
	d := retry.Decide(policy, b.state, retry.Classify(err), now, run.Jitter(b.seed, b.state.Attempt))
	b.tries = firstlast.Append(b.tries, retry.Record{
		Number: b.state.Attempt, Start: started, End: now, Err: err, Delay: d.Delay, Reason: d.Reason,
	})
	try := core.Try{Number: b.state.Attempt, Started: started.UnixNano(), Failure: failure, Decision: d}
	b.record.Tried(try)
	if !d.Retry {
		return b.failure(d.Reason, d.Max, err)
	}
	b.state.Previous = d.Delay
	if d.Delay <= 0 {
		return b.canceled(err)
	}
	if failed := b.backOff(try, err); failed != nil {
		return failed
	}
	if b.record.TooLate() {
		b.record.EndBackoff(retry.ReasonWithin)
		return b.failure(retry.ReasonWithin, b.policy().AttemptLimit(), err)
	}
	return nil
}

// refused makes the refusal of a child terminal if it would come again: a run that has
// ended keeps its workflow ID. The failure for which the block was tried again comes
// along.
func (b *block) refused(err error) error {
	var inUse *ChildIDInUseError
	if !errors.As(err, &inUse) || slices.Contains(openStatuses, core.Status(inUse.Status)) {
		return err
	}
	if len(b.tries) > 0 {
		err = fmt.Errorf("%w; the first try failed: %w", err, b.tries[0].Err)
	}
	return retry.Terminal(err)
}

var openStatuses = []core.Status{core.StatusRunning, core.StatusPaused, core.StatusParked, core.StatusWaitingForCode}

// backOff waits for the next try.
func (b *block) backOff(t core.Try, last error) error {
	if err := b.canceled(last); err != nil {
		return err
	}
	err := Timer{b.wf.follow(b.record.Backoff(t))}.Wait(b.wf)
	if err == nil {
		return nil
	}
	return cmp.Or(b.canceled(last), err)
}

// canceled is what the block has come to if its scope is canceled.
func (b *block) canceled(last error) error {
	if !b.wf.over() {
		return nil
	}
	b.record.EndBackoff(retry.ReasonCanceled)
	return &retry.AbortedError{Attempt: b.state.Attempt, Phase: retry.PhaseBackoff, Cause: b.wf.scope.err, Last: last}
}

// failure is the error of a block after its last try.
func (b *block) failure(reason retry.Reason, limit int, err error) error {
	switch reason {
	case retry.ReasonTerminal:
		return err
	case retry.ReasonCanceled:
		return &retry.AbortedError{Attempt: b.state.Attempt, Phase: retry.PhaseExecution, Cause: err}
	}
	return &retry.ExhaustedError{
		Name: b.name, Attempts: b.state.Attempt, Reason: reason, Max: limit, Within: b.policy().Within, Records: b.tries, Err: err,
	}
}

func validateBlockPolicy(p retry.Policy) error {
	if fault := core.BlockFault(&p); fault != "" {
		return errors.New(fault + "; set it on the activities inside")
	}
	return p.Validate()
}
