package engine_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/extent"
	when "github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/store"
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
						w.start(chore)
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
					if w.in.onDisk && restart != (step > 0) && !extent.Nightly() {
						t.Skip("On a database each step is seen by one of them.")
					}
					w.patient = false // else an idle engine does not look at the clock
					const kept = time.Hour
					start := func() *engine.Engine {
						c := w.config(weighed)
						c.Retention, c.SweepEvery = view.Retention{Completed: kept}, time.Minute
						return w.startWith(c)
					}
					e := start()
					exists := func() bool {
						_, err := e.Describe(t.Context(), "w", "")
						if err != nil && !errors.Is(err, store.ErrNotFound) {
							t.Fatal(err)
						}
						return err == nil
					}
					begin(t, e, weighed, "w", 1)
					pass(time.Minute)
					w.ahead.Store(int64(step))
					if restart {
						stop(t, e)
						e = start()
					}
					begin(t, e, weighed, "another", 1) // a process sees its own clock leap, and this one has not
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
