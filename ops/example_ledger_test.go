package ops_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// Which calls needed more than three attempts, how often do activities succeed at
// once, and which errors are there?
func ExampleFindCalls() {
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

	calls, _, err := ops.FindCalls(ctx, eng, view.AttemptFilter{MoreThan: 3})
	for _, c := range calls {
		fmt.Printf("%s: %s needed %d attempts, %d failed\n", c.WorkflowID, c.Name, c.Attempts, c.Failed)
	}
	stats, err2 := ops.ActivityStats(ctx, eng, time.Time{}, time.Time{})
	for _, s := range stats {
		fmt.Printf("%s: %d of %d calls succeeded at once\n", s.Name, s.FirstTry, s.Calls)
	}
	errs, err3 := ops.ErrorStats(ctx, eng, view.AttemptFilter{})
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
