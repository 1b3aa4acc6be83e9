package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/engine"
	when "github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/view"
)

// TestE82_ASchedulesTimesWhenTheClockSteps: whatever way the database's clock steps, with or
// without a restart, a schedule goes on with its next time, and fires none of its times twice.
func TestE82_ASchedulesTimesWhenTheClockSteps(t *testing.T) {
	for _, step := range []time.Duration{-30 * time.Minute, -5 * time.Minute, 30 * time.Minute} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprint(step, restart), func(t *testing.T) {
				needsClocks.inVirtualTime(t, func(t *testing.T, w *world) {
					c := newChores()
					chore := c.chore(0)
					e := w.start(chore)
					set(t, e, "s", "", when.Spec{Every: time.Minute})
					fired := func() int {
						c.mu.Lock()
						defer c.mu.Unlock()
						for id, n := range c.done {
							if n != 1 {
								t.Errorf("%s fired %d times", id, n)
							}
						}
						return len(c.done)
					}
					pass(3*time.Minute + 30*time.Second)
					before := fired()
					w.ahead.Store(int64(step))
					if restart {
						stop(t, e)
						e = w.start(chore)
					}
					pass(5 * time.Minute)
					if n := fired() - before; n < 4 {
						t.Errorf("it fired %d times before the step, and %d times in 5 minutes after it", before, n)
					}
				})
			})
		}
	}
}

// TestE82_RetentionWhenTheClockSteps: what has ended is kept for its time also if the clock was
// set back, and then deleted.
func TestE82_RetentionWhenTheClockSteps(t *testing.T) {
	for _, step := range []time.Duration{-30 * time.Minute, 30 * time.Minute} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprint(step, restart), func(t *testing.T) {
				needsClocks.inVirtualTime(t, func(t *testing.T, w *world) {
					w.patient = false // else an idle engine does not look at the clock
					const kept = time.Hour
					start := func() *engine.Engine {
						c := w.config(weighed)
						c.Retention, c.SweepEvery = view.Retention{Completed: kept}, time.Minute
						return w.startWith(c)
					}
					e := start()
					exists := func() bool {
						all, err := e.List(t.Context(), view.Filter{})
						if err != nil {
							t.Fatal(err)
						}
						return len(all) == 1
					}
					begin(t, e, weighed, "w", 1)
					pass(time.Minute)
					w.ahead.Store(int64(step))
					if restart {
						stop(t, e)
						e = start()
					}
					pass(kept - max(step, 0) - 5*time.Minute)
					if !exists() {
						t.Error("it is deleted too early")
					}
					pass(10*time.Minute + max(0, -step))
					if exists() {
						t.Error("it is kept after its time")
					}
				})
			})
		}
	}
}
