package engine_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// TestE7_WhoLostAPartitionLoadsNoRunOfIt: a hook returns when another node has taken the partition
// over. That the hook was called is no concern of the old owner any more: it does not run the
// code of the run, and keeps nothing of it in memory.
func TestE7_WhoLostAPartitionLoadsNoRunOfIt(t *testing.T) {
	inAGroupOf(t, 1, func(t *testing.T, w *world) {
		var ran [2]atomic.Int64
		f := newFragile(pausing)
		node := func(i int, name string, hook time.Duration) *engine.Engine {
			flow := workflow.New("flow", func(wf *workflow.Context, n int) (string, error) {
				ran[i].Add(1)
				return workflow.Call(wf, f.activity, n)
			})
			c := w.config(flow, f.activity)
			c.Node = name
			c.OnPaused = func(view.PausedCall) { time.Sleep(hook) }
			return w.startWith(c)
		}
		a := node(0, "a", 10*time.Minute)
		begin(t, a, f.flow, "x", 1)
		pass(10 * time.Second)
		same(t, "state", onlyCall(t, a, "x").State, "paused")
		w.plans[a].Outage(true)
		b := node(1, "b", 0)
		pass(time.Minute)
		w.plans[a].Outage(false)
		pass(time.Minute)
		same(t, "partitions of the old owner", a.Gauges().Partitions, 0)
		before := ran[0].Load()
		pass(10 * time.Minute)
		same(t, "runs of the code at the old owner", ran[0].Load(), before)
		same(t, "runs in memory there", a.Gauges().Residents, 0)
		if ran[1].Load() == 0 {
			t.Error("the new owner has not loaded the run")
		}
		same(t, "state", onlyCall(t, b, "x").State, "paused")
	})
}
