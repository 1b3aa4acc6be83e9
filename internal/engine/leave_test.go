package engine_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure/internal/faulty"
)

// TestE64_StopWithoutAnAnswer: an engine whose database does not answer any more
// stops in bounded time, and its work goes on elsewhere.
func TestE64_StopWithoutAnAnswer(t *testing.T) {
	needsFencing.inAGroup(t, func(t *testing.T, w *world) {
		x := newErrands(5, time.Second)
		a, b := w.node("a", x.workflow, x.activity), w.node("b", x.workflow, x.activity)
		pass(5 * time.Second)
		w.wantShares(b, "a:8 b:8")
		plan := w.plans[a]
		plan.At(plan.Writes()+1, faulty.Slow(24*time.Hour)) // it says that it leaves
		began := time.Now()
		if err := a.Stop(t.Context()); err == nil {
			t.Error("the node says that it left")
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("it took %s to stop", took)
		}
		pass(20 * time.Second)
		w.wantShares(b, "b:16")
	})
}
