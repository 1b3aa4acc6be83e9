package durable

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/bench/internal/system"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// The activities, without the bodies, which a session has.
var (
	step = activity.Declare[int, int]("step")
	try  = activity.Declare[struct{}, int]("try", activity.Retry(retry.Policy{
		MaxAttempts: system.Failures + 1,
		Backoff:     retry.Fixed(system.Backoff),
		Jitter:      retry.NoJitter,
	}))
)

var chain = chainOf("chain", step)

// chainOf returns the workflow of steps one after the other.
func chainOf(name string, step activity.Activity[int, int]) workflow.Workflow[int, int] {
	return workflow.New(name, func(wf *workflow.Context, steps int) (int, error) {
		n := 0
		for range steps {
			var err error
			if n, err = workflow.Call(wf, step, n); err != nil {
				return n, err
			}
		}
		return n, nil
	})
}

var flaky = workflow.New("flaky", func(wf *workflow.Context, _ struct{}) (int, error) {
	return workflow.Call(wf, try, struct{}{})
})

var fan = workflow.New("fan", func(wf *workflow.Context, width int) (int, error) {
	open := make([]workflow.Future[int], width)
	for i := range open {
		open[i] = workflow.Async(wf, step, i)
	}
	for i, f := range open {
		n, err := f.Get(wf)
		if err != nil {
			return i, err
		}
		if n != i+1 {
			return i, fmt.Errorf("step %d answered %d", i, n)
		}
	}
	return width, nil
})

var sleep = workflow.New("sleep", func(wf *workflow.Context, d time.Duration) (int, error) {
	return 0, workflow.Sleep(wf, d)
})

// definitions are the workflows and activities with the bodies of a session.
func definitions(c system.Config) perdure.Option {
	return perdure.Register(chain, flaky, fan, sleep,
		step.Impl(body(c)),
		try.Impl(func(ctx context.Context, _ struct{}) (int, error) {
			info, _ := activity.FromContext(ctx)
			return info.Attempt, c.Try(info.WorkflowID, info.Attempt)
		}))
}

// body is that of a step of a chain.
func body(c system.Config) activity.Func[int, int] {
	return func(_ context.Context, n int) (int, error) {
		c.Step(n)
		return n + 1, nil
	}
}
