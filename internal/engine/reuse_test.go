package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// TestE89_AnEndedChildOfTheChainIsFollowed: a block that is tried again, a run that is
// retried and one that continues as new start a child of one fixed ID each time. Each
// begins after the one before, and what it is sent reaches it.
func TestE89_AnEndedChildOfTheChainIsFollowed(t *testing.T) {
	count := activity.Declare[int, int64]("count")
	kid := workflow.New("kid", func(wf *workflow.Context, fails int64) (string, error) {
		n, err := workflow.Call(wf, count, 0)
		if err == nil && n <= fails {
			err = fmt.Errorf("kid %d fails", n)
		}
		return fmt.Sprint("kid ", n), err
	})
	policy := retry.Policy{MaxAttempts: 4, Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter}
	block := workflow.New("block", func(wf *workflow.Context, _ int) (string, error) {
		return workflow.Retry(wf, policy, func(wf *workflow.Context) (string, error) {
			return workflow.RunChild(wf, kid, 2, workflow.ChildID("kid"))
		})
	})
	retried := workflow.New("retried", func(wf *workflow.Context, _ int) (string, error) {
		return workflow.RunChild(wf, kid, 2, workflow.ChildID("kid"))
	}, workflow.RetryPolicy(policy))
	again := workflow.Declare[int, string]("again")
	chain := again.Impl(func(wf *workflow.Context, round int) (string, error) {
		if out, err := workflow.RunChild(wf, kid, 0, workflow.ChildID("kid")); err != nil || round == 3 {
			return out, err
		}
		return workflow.ContinueAsNew(wf, again, round+1)
	})
	for name, parent := range map[string]workflow.Workflow[int, string]{"block": block, "retried": retried, "chain": chain} {
		t.Run(name, func(t *testing.T) {
			needsTransactions.inBothModes(t, func(t *testing.T, w *world) {
				var runs atomic.Int64
				count := activity.New("count", func(context.Context, int) (int64, error) { return runs.Add(1), nil })
				e := w.start(parent, kid, count)
				begin(t, e, parent, "parent", 1)
				pass(time.Minute)
				if d := describe(t, e, "parent"); d.Status != view.StatusCompleted {
					t.Fatalf("the parent is %s: %+v", d.Status, d)
				}
				if got, err := finish[string](t, e, "parent"); got != "kid 3" || err != nil || runs.Load() != 3 {
					t.Errorf("got %q, %v after %d children", got, err, runs.Load())
				}
			})
		})
	}
}

// TestE89_ReuseIsTheParents: by option a child follows any run, one without a result, or
// none. An open run is never followed. The refusal of a block comes once, with the failure
// before it.
func TestE89_ReuseIsTheParents(t *testing.T) {
	parent := workflow.New("parent", func(wf *workflow.Context, reuse string) (string, error) {
		tries := 0
		_, err := workflow.Retry(wf, retry.Policy{MaxAttempts: 5, Backoff: retry.Fixed(time.Second)}, func(wf *workflow.Context) (string, error) {
			if tries++; tries == 1 {
				return "", errors.New("the first error")
			}
			return workflow.RunChild(wf, napper, time.Second, workflow.ChildID("x"), workflow.ChildReuse(workflow.Reuse(reuse)))
		})
		if refused := (*workflow.ChildIDInUseError)(nil); errors.As(err, &refused) {
			if tries != 2 || !strings.Contains(err.Error(), "the first error") {
				return "", fmt.Errorf("after %d tries: %w", tries, err)
			}
			return "refused", nil
		}
		if err != nil {
			return "", err
		}
		return "followed", nil
	})
	for _, test := range []struct {
		reuse workflow.Reuse
		fails bool // the run that has the ID
		want  string
	}{
		{workflow.ReuseOwn, true, "refused"}, {"", false, "refused"},
		{workflow.ReuseEnded, false, "followed"}, {workflow.ReuseEnded, true, "followed"},
		{workflow.ReuseFailed, false, "refused"}, {workflow.ReuseFailed, true, "followed"},
		{workflow.ReuseNever, true, "refused"},
	} {
		t.Run(fmt.Sprint(test.reuse, " ", test.fails), func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				e := w.start(parent, napper)
				begin(t, e, napper, "x", time.Minute)
				if test.fails {
					isError(t, e.Terminate(t.Context(), "x", "", request.By{}), nil)
				}
				pass(time.Hour)
				begin(t, e, parent, "parent", string(test.reuse))
				pass(time.Minute)
				if d := describe(t, e, "parent"); d.Status != view.StatusCompleted {
					t.Fatalf("the parent is %s: %+v", d.Status, d)
				}
				if got, err := finish[string](t, e, "parent"); got != test.want || err != nil {
					t.Errorf("got %q, %v; want %q", got, err, test.want)
				}
			})
		})
	}
}

// TestE89_OwnMeansTheSameWorkflow: an earlier child of the run that ran other code keeps its
// workflow ID.
func TestE89_OwnMeansTheSameWorkflow(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		other := workflow.New("other", func(*workflow.Context, int) (string, error) { return "other", nil })
		parent := workflow.New("parent", func(wf *workflow.Context, _ int) (string, error) {
			if _, err := workflow.RunChild(wf, other, 0, workflow.ChildID("x")); err != nil {
				return "", err
			}
			_, err := workflow.RunChild(wf, napper, time.Second, workflow.ChildID("x"))
			if refused := (*workflow.ChildIDInUseError)(nil); !errors.As(err, &refused) {
				return "", fmt.Errorf("want a refusal, got %w", err)
			}
			return "refused", nil
		})
		e := w.start(parent, other, napper)
		begin(t, e, parent, "parent", 0)
		if got, err := finish[string](t, e, "parent"); got != "refused" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
