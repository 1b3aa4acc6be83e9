package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/workflow"
)

// TestE94_ARunKeepsItsSlot: with many more runs than slots, a step costs one turn, as it
// does with slots to spare: a run waits for a slot once and not for each of its calls.
func TestE94_ARunKeepsItsSlot(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		const runs, slots, steps = 12, 2, 5
		brief := activity.New("brief", func(ctx context.Context, n int) (int, error) { return n, busy(ctx, time.Millisecond) })
		chain := workflow.New("chain", func(wf *workflow.Context, _ int) (int, error) {
			for n := range steps {
				if _, err := workflow.Call(wf, brief, n); err != nil {
					return 0, err
				}
			}
			return steps, nil
		})
		config := w.config(chain, brief, holding, hold)
		config.Concurrency = slots
		e := w.startWith(config)
		for i := range slots {
			begin(t, e, holding, fmt.Sprint("holder ", i), time.Second)
		}
		settle()
		for i := range runs {
			begin(t, e, chain, fmt.Sprint(i), 0)
		}
		pass(time.Minute)
		for i := range runs {
			if got, err := finish[int](t, e, fmt.Sprint(i)); got != steps || err != nil {
				t.Fatalf("run %d: %d, %v", i, got, err)
			}
		}
		for i := range runs {
			// The first turn, and one for each end of a call. That a slot was granted is in
			// no turn of the history; that a call was queued is in its row, written with one.
			if got := queuedCalls(t, e, fmt.Sprint(i)); got > 1 {
				t.Errorf("%d calls of run %d waited for a slot, want at most the first", got, i)
			}
		}
		demandSlots(t, e, slots)
		stop(t, e)
	})
}

// queuedCalls returns how many calls of a run waited in the queue: they began later than
// they were ready.
func queuedCalls(t *testing.T, e *engine.Engine, id string) (n int) {
	t.Helper()
	for _, a := range attemptsOf(t, e, id) {
		if a.Started != nil && a.Queued != nil && a.Started.After(*a.Queued) {
			n++
		}
	}
	return n
}
