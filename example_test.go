package perdure_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

var greet = activity.New("greet", func(ctx context.Context, name string) (string, error) {
	return "hello " + name, nil
})

var hello = workflow.New("hello", func(wf *workflow.Context, name string) (string, error) {
	return workflow.Call(wf, greet, name)
})

func Example() {
	ctx := context.Background()
	eng, err := perdure.Open(ctx, memory.New(), perdure.Register(hello, greet))
	if err == nil {
		err = eng.Start(ctx)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer eng.Close()
	fmt.Println(perdure.Run(ctx, eng, hello, "hello-1", "world"))
	// Output: hello world <nil>
}

// What happened to a call is on record, attempt by attempt.
func ExampleEngine_Attempts() {
	var calls int
	flaky := activity.New("flaky", func(ctx context.Context, in string) (string, error) {
		if calls++; calls < 3 {
			return "", errors.New("connection refused")
		}
		return "done", nil
	}, activity.Retry(retry.Policy{Backoff: retry.Fixed(time.Millisecond), Jitter: retry.NoJitter}))
	job := workflow.New("job", func(wf *workflow.Context, in string) (string, error) {
		return workflow.Call(wf, flaky, in)
	})
	ctx := context.Background()
	eng, err := perdure.Open(ctx, memory.New(), perdure.Register(job, flaky))
	if err == nil {
		err = eng.Start(ctx)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer eng.Close()
	fmt.Println(perdure.Run(ctx, eng, job, "job-1", "x"))
	attempts, err := eng.Attempts(ctx, "job-1")
	for _, a := range attempts {
		fmt.Printf("%d %s: %s %q\n", a.Number, a.Outcome, a.Reason, a.Message)
	}
	fmt.Println(err)
	// Output:
	// done <nil>
	// 1 failed: backoff "connection refused"
	// 2 failed: backoff "connection refused"
	// 3 completed: succeeded ""
	// <nil>
}

// Which calls needed more than three attempts, how often do activities succeed at
// once, and which errors are there?
func ExampleEngine_FindCalls() {
	flaky := activity.New("flaky", func(ctx context.Context, failures int) (string, error) {
		if info, _ := activity.FromContext(ctx); info.Attempt <= failures {
			return "", errors.New("connection refused")
		}
		return "done", nil
	}, activity.Retry(retry.Policy{MaxAttempts: 10, Backoff: retry.None}))
	job := workflow.New("job", func(wf *workflow.Context, failures int) (string, error) {
		return workflow.Call(wf, flaky, failures)
	})
	ctx := context.Background()
	eng, err := perdure.Open(ctx, memory.New(), perdure.Register(job, flaky))
	if err == nil {
		err = eng.Start(ctx)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer eng.Close()
	for id, failures := range map[string]int{"job-1": 0, "job-2": 0, "job-3": 1, "job-4": 7} {
		if _, err := perdure.Run(ctx, eng, job, id, failures); err != nil {
			fmt.Println(err)
		}
	}

	calls, _, err := eng.FindCalls(ctx, perdure.AttemptFilter{MoreThan: 3})
	for _, c := range calls {
		fmt.Printf("%s: %s needed %d attempts, %d failed\n", c.WorkflowID, c.Name, c.Attempts, c.Failed)
	}
	stats, err2 := eng.ActivityStats(ctx, time.Time{}, time.Time{})
	for _, s := range stats {
		fmt.Printf("%s: %d of %d calls succeeded at once\n", s.Name, s.FirstTry, s.Calls)
	}
	errs, err3 := eng.ErrorStats(ctx, perdure.AttemptFilter{})
	for _, s := range errs {
		fmt.Printf("%s: %d attempts of %d calls, %q\n", s.ErrorType, s.Attempts, s.Calls, s.Example.Message)
	}
	fmt.Println(errors.Join(err, err2, err3))
	// Output:
	// job-4: flaky needed 8 attempts, 7 failed
	// flaky: 2 of 4 calls succeeded at once
	// Error: 8 attempts of 2 calls, "connection refused"
	// <nil>
}
