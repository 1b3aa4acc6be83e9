package engine_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/workflow"
)

// TestE5_NoWakeIsLostBehindTheScan: when an engine starts, more runs are overdue than one scan
// reads. The first ones sleep again, briefly, while due times are still being read. All of
// them wake.
func TestE5_NoWakeIsLostBehindTheScan(t *testing.T) {
	needsQueries.inVirtualTime(t, func(t *testing.T, w *world) {
		const runs = 1100 // a scan reads 1,000
		w.maxResident = -1
		order := workflow.New("order", func(wf *workflow.Context, n int) (int, error) {
			if err := workflow.Sleep(wf, time.Hour+time.Duration(n)*time.Millisecond); err != nil {
				return 0, err
			}
			return n, workflow.Sleep(wf, 3*time.Second)
		})
		e := w.start(order)
		for n := range runs {
			begin(t, e, order, fmt.Sprint(n), n)
		}
		stop(t, e)
		time.Sleep(2 * time.Hour)
		e = w.start(order)
		pass(time.Minute)
		c, err := e.Counts(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if c.Runs["completed"] != runs {
			t.Errorf("a minute after the start the runs are %v, want %d to be completed", c.Runs, runs)
		}
	})
}

// TestE6_AnActorIsNotReplayedForEachSignal: a run that waits for signals stays in
// memory between them, although the next time at which it would go on by itself
// is far off.
func TestE6_AnActorIsNotReplayedForEachSignal(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		const signals = 50
		var rounds atomic.Int64
		actor := workflow.New("actor", func(wf *workflow.Context, n int) (int, error) {
			for i := range n {
				rounds.Add(1)
				if workflow.Select(wf, workflow.ReceiveAsync(wf, proceed), workflow.NewTimer(wf, time.Hour)) != 0 {
					return i, nil // nobody signals any more
				}
			}
			return n, nil
		})
		e := w.start(actor)
		begin(t, e, actor, "actor", signals+1)
		for range signals {
			pass(time.Minute)
			signal(t, e, "actor", "proceed", "", "again")
		}
		if got, err := finish[int](t, e, "actor"); got != signals || err != nil {
			t.Errorf("the actor ended with %d, %v", got, err)
		}
		if got := rounds.Load(); got != signals+1 {
			t.Errorf("%d signals took %d rounds, want %d: the run was replayed", signals, got, signals+1)
		}
	})
}
