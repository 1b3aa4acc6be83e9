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
func ExampleHandle_Attempts() {
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
	attempts, err := eng.Workflow("job-1").Attempts(ctx)
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
