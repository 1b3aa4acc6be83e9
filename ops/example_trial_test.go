package ops_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// What would half the attempts have done to the calls on record?
func ExampleTryPolicy() {
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
	for id, failures := range map[string]int{"job-1": 0, "job-2": 2, "job-3": 7, "job-4": 99} {
		if _, err := perdure.Run(ctx, eng, job, id, failures); err != nil && failures < 10 {
			fmt.Println(err)
		}
	}

	trial, err := ops.TryPolicy(ctx, eng, retry.Policy{MaxAttempts: 5, Backoff: retry.None}, view.TrialFilter{Activity: "flaky"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("on record: %d succeeded with %d attempts in all\n", trial.Recorded.Succeeded, trial.Recorded.Attempts)
	fmt.Printf("at 5 attempts: %d would have, with %d attempts\n", trial.Trial.Succeeded, trial.Trial.Attempts)
	for _, c := range trial.Classes {
		fmt.Printf("%s, then %s: %d, such as %s\n", c.Recorded, c.Trial, c.Calls, c.Example.WorkflowID)
	}
	// Output:
	// on record: 2 succeeded with 21 attempts in all
	// at 5 attempts: 1 would have, with 13 attempts
	// failed, then failed: 1, such as job-4
	// succeeded, then failed: 1, such as job-3
	// succeeded, then succeeded: 1, such as job-2
}
