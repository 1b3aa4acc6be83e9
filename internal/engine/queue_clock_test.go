package engine_test

import (
	"testing"
	"time"
)

// TestE82_AWorkerBeginsAfterTheClockWasSetBack: engine time does not go back with the
// database's clock. A worker that starts later learns it from what it claims, and begins that
// without waiting for the clock to come so far again.
func TestE82_AWorkerBeginsAfterTheClockWasSetBack(t *testing.T) {
	for _, after := range []time.Duration{0, 30 * time.Second} {
		inVirtualTime(t, func(t *testing.T, w *world) {
			x := newRendering(time.Second)
			e := w.owner(x.flow, x.activity)
			w.ahead.Store(-int64(time.Minute))
			pass(after)
			begin(t, e, x.flow, "1", 1)
			w.worker("a", "gpu", 1, x.activity)
			began := time.Now()
			if got, err := finish[string](t, e, "1"); got != "picture 1" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
			if took := time.Since(began); took > 3*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// TestE82_ADeadWorkersAttemptsAreTakenBackAfterTheClockWasSetBack: the last sign of life of
// the dead lies in the future then, and counts as one of now.
func TestE82_ADeadWorkersAttemptsAreTakenBackAfterTheClockWasSetBack(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		x := newRendering(time.Second)
		e := w.owner(x.flow, x.activity)
		dead := w.worker("a", "gpu", 1, x.activity)
		begin(t, e, x.flow, "1", 1)
		pass(500 * time.Millisecond)
		dead.Kill()
		w.ahead.Store(-int64(time.Hour))
		w.worker("b", "gpu", 1, x.activity)
		began := time.Now()
		if got, err := finish[string](t, e, "1"); got != "picture 1" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if took := time.Since(began); took > 30*time.Second { // its lease of 9 s, and the patience of the owner
			t.Errorf("it took %s", took)
		}
	})
}

// TestE82_ALivingWorkerKeepsItsAttemptsWhenTheClockLeaps: all leases are over at that moment,
// and whoever lives renews its own.
func TestE82_ALivingWorkerKeepsItsAttemptsWhenTheClockLeaps(t *testing.T) {
	for after := range 5 {
		inVirtualTime(t, func(t *testing.T, w *world) {
			x := newRendering(time.Minute)
			e := w.owner(x.flow, x.activity)
			pass(time.Duration(after) * 700 * time.Millisecond) // the owner and the worker look at other times
			w.worker("a", "gpu", 1, x.activity)
			begin(t, e, x.flow, "1", 1)
			pass(10 * time.Second)
			w.ahead.Store(int64(time.Hour))
			if got, err := finish[string](t, e, "1"); got != "picture 1" || err != nil || x.runs != 1 {
				t.Errorf("%q, %v after %d attempts", got, err, x.runs)
			}
		})
	}
}
