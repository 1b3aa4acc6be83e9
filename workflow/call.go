package workflow

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/retry"
)

// Call runs an activity and waits for its result. The engine retries it by the first of
// these policies that is set: the one given here, the activity's, inside Retry
// retry.Never, the engine's, retry.Policy{}. When no further attempt follows, the error
// is
//
//   - a *retry.ExhaustedError around the last failure,
//   - the error itself, if it was marked with retry.Terminal,
//   - a *retry.AbortedError, if the call or its scope was canceled.
//
// errors.Is and errors.As find wrapped errors that are registered with package retry, now
// and in every replay.
func Call[In, Out any](wf *Context, a activity.Activity[In, Out], in In, opts ...activity.Option) (Out, error) {
	return Async(wf, a, in, opts...).Get(wf)
}

// Async starts an activity and does not wait for it.
func Async[In, Out any](wf *Context, a activity.Activity[In, Out], in In, opts ...activity.Option) Future[Out] {
	wf.enter()
	input, err := history.Encode(in)
	if err != nil {
		err = retry.Terminal(fmt.Errorf("the input of %q: %w", a.Name(), err))
		return Future[Out]{refuse(a.Name(), err)}
	}
	return typed[Out](wf.schedule(history.ActivityScheduled, a.Name(), input, seal.Of(a).Options, opts))
}

// typed makes a future of a call whose result is an Out, even if it is given by a
// person.
func typed[Out any](p *pending) Future[Out] {
	if p.call != nil {
		p.call.Reader = reader[Out]{}
	}
	return Future[Out]{p}
}

// reader reads results that are an Out.
type reader[Out any] struct{}

// Read implements core.Reader.
func (reader[Out]) Read(result history.Payload) error {
	var out Out
	return result.Decode(&out)
}

// never is the policy of calls that are retried by a block around them.
var never = retry.Never

// schedule begins an activity call or an inline step.
func (wf *Context) schedule(kind history.Kind, name string, input history.Payload, options seal.ActivityOptions, opts []activity.Option) *pending {
	if wf.over() {
		return refuse(name, wf.scope.aborted(name))
	}
	what := "activity name"
	if kind == history.StepScheduled {
		what = "step name"
	}
	if err := history.CheckName(what, name); err != nil {
		return refuse(name, retry.Terminal(err))
	}
	if len(opts) > 0 {
		own := options // here, so that a call without options needs none
		if err := seal.Apply(&own, opts); err != nil {
			own.Fault = err
		}
		if own.Verify != nil && own.Verify != options.Verify {
			own.Fault = errVerifyOfCall
		}
		options = own
	}
	if options.Fault != nil {
		return refuse(name, retry.Terminal(fmt.Errorf("the options of %q are not usable: %w", name, options.Fault)))
	}
	if err := options.ValidateVerify(); err != nil {
		return refuse(name, retry.Terminal(fmt.Errorf("the options of %q are not usable: %w", name, err)))
	}
	if err := options.ValidateGates(); err != nil {
		return refuse(name, retry.Terminal(fmt.Errorf("the gates of %q are not usable: %w", name, err)))
	}
	if options.Queue != "" {
		if kind == history.StepScheduled {
			return refuse(name, retry.Terminal(fmt.Errorf("the step %q has a queue: its code is that of the workflow, which no other process has; make an activity of it, or leave the queue out", name)))
		}
		if err := history.CheckName("queue", options.Queue); err != nil {
			return refuse(name, retry.Terminal(err))
		}
	}
	run := wf.instance.run
	policy := run.DefaultPolicy()
	if wf.runsOnce() {
		policy = &never
	}
	if options.Retry != nil {
		policy = options.Retry
		if err := policy.Validate(); err != nil {
			return refuse(name, retry.Terminal(fmt.Errorf("the retry policy of %q is not usable: %w", name, err)))
		}
	}
	verb := intercept.Call
	if kind == history.StepScheduled {
		verb = intercept.Step
	}
	wf.instance.intercept(verb, name)
	return wf.follow(run.StartCall(core.StartCall{
		Kind: kind, Name: name, Trace: run.Began().Trace, Input: input, Policy: policy,
		Gates: gatesOnRecord(options), Priority: options.Priority, Queue: options.Queue, Shielded: wf.shielded(),
		Verify: verifyOnRecord(options),
	}))
}

// errVerifyOfCall is why one call cannot have a Verify function of its own.
var errVerifyOfCall = errors.New("activity.Verify is an option of one call: what is asked after a crash is found by the name of the activity; declare it there")

// verifyOnRecord returns how attempts of a call are asked about, nil for not at all.
func verifyOnRecord(o seal.ActivityOptions) *history.Verify {
	if o.Verify == nil && o.VerifyBy == nil {
		return nil
	}
	return &history.Verify{SettleAfter: o.SettleAfter, Retry: o.VerifyRetry, By: o.VerifyBy}
}
