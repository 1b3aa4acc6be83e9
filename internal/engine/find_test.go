package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// TestE61_FindByCalls: runs are found by what their calls wait for and by the error
// of the latest attempt, and a page goes on where the one before ended, whatever
// has begun meanwhile.
func TestE61_FindByCalls(t *testing.T) {
	needsQueries.inBothModes(t, func(t *testing.T, w *world) {
		fails := activity.New("fails", func(context.Context, int) (int, error) { return 0, errRefused },
			activity.Retry(retry.Policy{MaxAttempts: 2, Backoff: retry.Fixed(time.Hour), Jitter: retry.NoJitter}))
		declined := activity.New("declined", func(context.Context, int) (int, error) { return 0, &declinedError{} },
			activity.Retry(retry.Policy{MaxAttempts: 1, OnExhausted: retry.Pause}))
		slow := activity.New("slow", func(ctx context.Context, n int) (int, error) { return n, busy(ctx, time.Hour) },
			activity.Retry(retry.Policy{CrashLimit: 1}))
		one := workflow.New("one", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, fails, n) })
		stops := workflow.New("stops", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, declined, n) })
		two := workflow.New("two", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, slow, n) })
		e := w.start(one, two, stops, fails, declined, slow)
		begin(t, e, two, "crashes", 7)
		pass(time.Minute)
		w.kill(e)
		e = w.start(one, two, stops, fails, declined, slow)
		pass(time.Minute)
		begin(t, e, one, "a", 1)
		pass(time.Second)
		begin(t, e, stops, "b", 1)
		pass(time.Second)
		begin(t, e, one, "c", 1)
		pass(time.Second)
		begin(t, e, two, "d", 1)
		pass(time.Minute)
		found := func(f view.Filter) string {
			t.Helper()
			runs, err := e.List(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, r := range runs {
				ids = append(ids, r.WorkflowID)
			}
			return strings.Join(ids, " ")
		}
		same(t, "in backoff", found(view.Filter{Call: view.CallBackoff}), "c a")
		same(t, "paused", found(view.Filter{Call: view.CallPaused}), "b")
		same(t, "quarantined", found(view.Filter{Call: view.CallQuarantined}), "crashes")
		same(t, "by error", found(view.Filter{ErrorType: "Declined"}), "b")
		same(t, "by workflow", found(view.Filter{Workflow: "two"}), "d crashes")

		first, err := e.List(t.Context(), view.Filter{Limit: 3})
		if err != nil || len(first) != 3 {
			t.Fatal(first, err)
		}
		begin(t, e, one, "later", 1)
		rest, err := e.List(t.Context(), view.Filter{Limit: 3, Before: first[2].RunID})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, r := range slices.Concat(first, rest) {
			ids = append(ids, r.WorkflowID)
		}
		same(t, "two pages", strings.Join(ids, " "), "d c b a crashes")
	})
}
