package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// TestF55_TheErrorThatACallRecoveredFrom: the sums of a call that has succeeded after failures
// say which error was the latest, after a crash too, and those of all other calls do not.
func TestF55_TheErrorThatACallRecoveredFrom(t *testing.T) {
	needsQueries.inBothModes(t, func(t *testing.T, w *world) {
		policy := activity.Retry(retry.Policy{MaxAttempts: 4, Backoff: retry.Fixed(time.Minute), Jitter: retry.NoJitter})
		body := func(ctx context.Context, n int) (int, error) { // fails n times
			if info, _ := activity.FromContext(ctx); info.Attempt <= n {
				return 0, &declinedError{Code: info.Attempt}
			}
			return n, nil
		}
		fails, ends := activity.New("fails", body, policy), activity.New("ends", body, policy)
		order := workflow.New("order", func(wf *workflow.Context, n int) (int, error) {
			for _, times := range []int{0, 2, 1} {
				if _, err := workflow.Call(wf, fails, times); err != nil {
					return 0, err
				}
			}
			return workflow.Call(wf, ends, 9)
		})
		e := w.start(order, fails, ends)
		begin(t, e, order, "run", 0)
		pass(90 * time.Second) // in the second backoff of call 2
		w.kill(e)
		e = w.start(order, fails, ends)
		if _, err := finish[int](t, e, "run"); err == nil {
			t.Error("it has not failed")
		}
		want := map[int64]string{1: "", 2: (&declinedError{Code: 2}).Error(), 3: (&declinedError{Code: 1}).Error(), 4: ""}
		check := func(calls []view.CallAttempts, err error, n int) {
			t.Helper()
			if err != nil || len(calls) != n {
				t.Fatal(len(calls), err)
			}
			for _, c := range calls {
				if c.RecoveredFrom != want[c.Call] || (c.RecoveredFromType == "Declined") != (want[c.Call] != "") {
					t.Errorf("call %d has recovered from %q, %q; want %q", c.Call, c.RecoveredFromType, c.RecoveredFrom, want[c.Call])
				}
				if c.RecoveredFrom != "" && (c.ErrorType != "" || c.Message != "") {
					t.Errorf("the latest attempt of call %d, which succeeded, has the error %q", c.Call, c.Message)
				}
			}
		}
		of, err := e.Calls(t.Context(), "run", "", view.CallRange{})
		check(of, err, 4)
		found, _, err := e.FindCalls(t.Context(), view.AttemptFilter{})
		check(found, err, 3) // without that of the first try
	})
}
