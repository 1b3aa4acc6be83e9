package engine_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/store"
)

// TestE7_StartsOnANodeThatWasFenced: a caller that starts a run on a node that has lost its
// partitions and does not know it yet gets the same result as on any other node: the run
// exists, once.
func TestE7_StartsOnANodeThatWasFenced(t *testing.T) {
	for _, elsewhere := range []bool{false, true} {
		t.Run(fmt.Sprint("started elsewhere meanwhile: ", elsewhere), func(t *testing.T) {
			needsFencing.inAGroup(t, func(t *testing.T, w *world) {
				x := newErrands(3, time.Second)
				a, b := w.node("a", x.workflow, x.activity), w.node("b", x.workflow, x.activity)
				pass(5 * time.Second)
				w.wantShares(b, "a:8 b:8")
				w.plans[a].Outage(true)
				const starts = 32
				runs := make([]string, starts)
				var calls sync.WaitGroup
				for i := range starts {
					calls.Go(func() {
						for { // those on partitions of b are told that the database is away
							run, _, err := tryBegin(t.Context(), a, x.workflow, fmt.Sprint(i), i)
							if !store.Unavailable(err) {
								if err != nil {
									t.Errorf("the start of run %d: %v", i, err)
								}
								runs[i] = run
								return
							}
							time.Sleep(time.Second)
						}
					})
				}
				pass(20 * time.Second)
				w.wantShares(b, "b:16")
				if elsewhere {
					for i := range starts {
						begin(t, b, x.workflow, fmt.Sprint(i), i)
					}
				}
				refused := w.log.count("partition has another owner")
				w.plans[a].Outage(false)
				calls.Wait()
				for i := range starts {
					if d := describe(t, b, fmt.Sprint(i)); d.RunID != runs[i] {
						t.Errorf("the start of run %d was answered with %s, and it is %s", i, runs[i], d.RunID)
					}
					if got, err := finish[int](t, b, fmt.Sprint(i)); got != i+3 || err != nil {
						t.Errorf("run %d: %d, %v", i, got, err)
					}
				}
				if now := w.log.count("partition has another owner"); now != refused {
					t.Errorf("the log speaks of %d refusals", now-refused)
				}
			})
		})
	}
}

// TestStartsWhilePartitionsComeAndGo: whatever happens to a partition while a run
// is started in it, who starts it is answered.
func TestStartsWhilePartitionsComeAndGo(t *testing.T) {
	needsFencing.inAGroup(t, func(t *testing.T, w *world) {
		x := newErrands(1, time.Millisecond)
		e := w.node("a", x.workflow, x.activity)
		const callers, each = 8, 100
		var calls sync.WaitGroup
		for c := range callers {
			calls.Go(func() {
				for i := range each {
					id := fmt.Sprint(c, " ", i)
					begin(t, e, x.workflow, id, i)
					if d := describe(t, e, id); d.WorkflowID != id {
						t.Errorf("%s was answered and is not there", id)
					}
				}
			})
		}
		for range 20_000 {
			engine.LoseAll(e)
			runtime.Gosched()
		}
		calls.Wait()
		pass(time.Minute)
		for c := range callers {
			for i := range each {
				if got, err := finish[int](t, e, fmt.Sprint(c, " ", i)); got != i+1 || err != nil {
					t.Errorf("run %d of %d: %d, %v", i, c, got, err)
				}
			}
		}
	})
}
