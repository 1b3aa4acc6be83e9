package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/retry"
)

// TestE147_WhoNeverBeganIsNotQuarantined: a process dies shortly before the time of a retry
// that must not run again after any loss. It did not begin, so it is not lost, and runs.
func TestE147_WhoNeverBeganIsNotQuarantined(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		for _, before := range []time.Duration{150 * time.Millisecond, 10 * time.Millisecond, time.Millisecond} {
			for _, down := range []time.Duration{0, time.Second} {
				u := startUnbegun(t, w, retry.Policy{CrashLimit: 1}, 0)
				pass(500*time.Millisecond - before)
				w.kill(u.engine)
				time.Sleep(down)
				u.engine = w.start(u.definitions...)
				pass(10 * time.Second)
				if d := describe(t, u.engine, "run"); d.Status != "completed" {
					t.Fatalf("killed %s before the retry, and back %s later: the run is %s, %+v", before, down, d.Status, d.Pending)
				}
				u.wantTwice(t, fmt.Sprint(before, down))
				stop(t, u.engine)
			}
		}
	})
}

// TestE147_EditsOfTheCrashLimit of a call in backoff, which say when its retry goes on record,
// let it begin in time.
func TestE147_EditsOfTheCrashLimit(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		for _, limits := range [][2]int{{3, 1}, {1, 3}} {
			u := startUnbegun(t, w, retry.Policy{CrashLimit: limits[0]}, 0)
			control(t, u.engine, "run", core.Control{Operation: core.EditPolicy, Change: fmt.Sprintf("[crashes: %d]", limits[1])})
			pass(5 * time.Second)
			u.wantTwice(t, fmt.Sprint(limits))
			if u.began[1].Sub(u.began[0]) != time.Second {
				t.Errorf("attempts began at %v", u.began)
			}
			stop(t, u.engine)
		}
	})
}
