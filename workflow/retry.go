package workflow

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/firstlast"
	"github.com/perdure/perdure/retry"
)

// Retry runs a block of workflow code (several calls, say) until it succeeds, by
// a policy. It decides exactly as the engine does for a single activity; its
// waits are durable timers of this run. With AttemptTimeout every try has its
// own deadline. fn must use the context it is given. The result is as for Call.
//
// A call inside the block is retried by its own policy first; give it
// retry.Never if the block's is meant to be the only one.
func Retry[T any](wf *Context, policy retry.Policy, fn func(wf *Context) (T, error)) (T, error) {
	wf.enter()
	var zero T
	if err := validateBlockPolicy(policy); err != nil {
		return zero, retry.Terminal(fmt.Errorf("the policy of workflow.Retry is not usable: %w", err))
	}
	run := wf.instance.run
	seed := run.NextCall() // tells this block from others of the run
	state := retry.State{First: time.Unix(0, run.Now()).UTC()}
	var history []retry.Record
	for {
		started := time.Unix(0, run.Now()).UTC()
		out, err := Timeout(wf, policy.AttemptTimeout, fn)
		if err == nil {
			return out, nil
		}
		state.Attempt++
		state.Canceled = wf.scope.err != nil
		now := time.Unix(0, run.Now()).UTC()
		d := retry.Decide(&policy, state, retry.Classify(err), now, run.Draw(seed, state.Attempt))
		history = firstlast.Append(history, retry.Record{
			Number: state.Attempt, Start: started, End: now, Err: err, Delay: d.Delay, Reason: d.Reason,
		})
		if !d.Retry {
			return zero, blockFailure(policy, state, d, history, err)
		}
		state.Previous = d.Delay
		if wf.sleep("backoff", d.Delay) != nil {
			return zero, &retry.AbortedError{Attempt: state.Attempt, Phase: retry.PhaseBackoff, Cause: wf.scope.err, Last: err}
		}
	}
}

func validateBlockPolicy(p retry.Policy) error {
	if p.QueueTimeout != 0 {
		return fmt.Errorf("QueueTimeout is %s: a block of workflow code waits in no queue; set it on the activities inside", p.QueueTimeout)
	}
	if p.CrashLimit != 0 {
		return fmt.Errorf("CrashLimit is %d: a block of workflow code is not lost in a crash; set it on the activities inside", p.CrashLimit)
	}
	return activity.ValidatePolicy(p)
}

func blockFailure(p retry.Policy, s retry.State, d retry.Decision, history []retry.Record, err error) error {
	switch d.Reason {
	case retry.ReasonTerminal:
		return err
	case retry.ReasonCanceled:
		return &retry.AbortedError{Attempt: s.Attempt, Phase: retry.PhaseExecution, Cause: err}
	}
	return &retry.ExhaustedError{
		Name: "the block", Attempts: s.Attempt, Reason: d.Reason, Max: d.Max, Within: p.Within, Records: history, Err: err,
	}
}
