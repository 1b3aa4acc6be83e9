package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// TestE60_CallsMadeAgainMayKeepTheirKeys: after a reset and a fork of the reset run, each call has
// the idempotency key that it had first, so a dependency that dedupes does nothing twice. A call
// of another activity in the place of one has a key of its own, and without asking all have.
func TestE60_CallsMadeAgainMayKeepTheirKeys(t *testing.T) {
	needsQueries.inBothModes(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		var keys []string
		broken := true
		var second atomic.Value // what the code calls next
		second.Store("b")
		take := func() string {
			mu.Lock()
			defer mu.Unlock()
			all := slices.Clone(keys)
			keys = nil
			return strings.Join(all, " ")
		}
		make := func(name string) activity.Activity[int, int] {
			return activity.New(name, func(ctx context.Context, _ int) (int, error) {
				mu.Lock()
				defer mu.Unlock()
				keys = append(keys, name+"="+activity.IdempotencyKey(ctx))
				if name == "last" && broken {
					return 0, errors.New("broken")
				}
				return 0, nil
			}, activity.Retry(retry.Never))
		}
		acts := map[string]activity.Activity[int, int]{}
		for _, name := range []string{"a", "b", "c", "last"} {
			acts[name] = make(name)
		}
		flow := workflow.New("flow", func(wf *workflow.Context, _ int) (int, error) {
			for _, name := range []string{"a", second.Load().(string), "last"} {
				if _, err := workflow.Call(wf, acts[name], 0); err != nil {
					return 0, err
				}
			}
			return 1, nil
		})
		e := w.start(flow, acts["a"], acts["b"], acts["c"], acts["last"])
		first := begin(t, e, flow, "x", 0)
		settle()
		same(t, "keys", take(), "a="+first+"/1 b="+first+"/2 last="+first+"/3")
		in := core.Control{ID: "r1", Operation: core.ResetTheRun, Call: 2, KeepKeys: true}
		preview, err := e.Preview(t.Context(), "x", in)
		if err != nil || !strings.Contains(preview[0].Note, "made again under the same idempotency key: call 2 (b)") {
			t.Fatal(preview, err)
		}
		reset(t, e, "x", in)
		settle()
		same(t, "keys of the reset run", take(), "b="+first+"/2 last="+first+"/3")
		in.ID, in.Call = "r2", 3
		reset(t, e, "x", in)
		settle()
		same(t, "keys of the run that was reset twice", take(), "last="+first+"/3")
		mu.Lock()
		broken = false
		mu.Unlock()
		second.Store("c")
		fork(t, e, request.Fork{WorkflowID: "x", NewID: "y", Call: 2, KeepKeys: true})
		settle()
		own := describe(t, e, "y").RunID
		same(t, "keys of the fork", take(), "c="+own+"/2 last="+first+"/3")
		var taken *request.IDInUseError
		if _, _, err := e.ForkRun(t.Context(), request.Fork{WorkflowID: "x", NewID: "y", Call: 2}); !errors.As(err, &taken) || !strings.Contains(err.Error(), "idempotency keys") {
			t.Errorf("the fork without keys: %v", err)
		}
		run, _ := fork(t, e, request.Fork{WorkflowID: "x", NewID: "z", Call: 2})
		settle()
		same(t, "keys of a fork without keeping them", take(), "c="+run+"/2 last="+run+"/3")
	})
}
