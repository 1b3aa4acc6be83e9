package dispatch_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/dispatch"
)

// TestE3_TheProbationLaneIsClosedWhileRunsAreResumed: until the last of them has taken a step, and
// regular slots are held back no longer than a second.
func TestE3_TheProbationLaneIsClosedWhileRunsAreResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := dispatch.NewSlots(1, func() bool { return true })
		r := dispatch.NewRecovery(slots)
		granted := 0
		note := func([]dispatch.Grant) { granted++ }
		r.KeepBack(note)
		if s := slots.Take(dispatch.Regular); s == nil {
			t.Error("slots are held back although nothing is resumed")
		} else {
			s.Free()
		}
		r.Begin()
		r.BeginRun()
		r.KeepBack(note)
		r.Lost(2)
		if slots.Take(dispatch.Probation) != nil {
			t.Error("the lane is open while a run is resumed")
		}
		if _, runs, _ := r.Done(); runs != 0 || r.Open() != 1 {
			t.Errorf("%d runs are resumed before the last part is done", runs)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if granted != 1 {
			t.Errorf("slots were let go %d times", granted)
		}
		if _, runs, lost := r.Done(); runs != 1 || lost != 2 {
			t.Errorf("%d runs with %d lost attempts were resumed", runs, lost)
		}
		lane := slots.Take(dispatch.Probation)
		if lane == nil {
			t.Fatal("the lane is closed for ever")
		}
		lane.Free()
		r.Begin()
		r.Abort()
		if slots.Take(dispatch.Probation) == nil || r.Open() != 0 {
			t.Error("a recovery that was given up goes on")
		}
	})
}

// TestE3_ASuspectThatRunsWhileRecoveryBegins leaves the lane closed when it ends.
func TestE3_ASuspectThatRunsWhileRecoveryBegins(t *testing.T) {
	slots := dispatch.NewSlots(4, func() bool { return true })
	r := dispatch.NewRecovery(slots)
	running := slots.Take(dispatch.Probation)
	r.Begin()
	running.Free()
	if slots.Take(dispatch.Probation) != nil {
		t.Error("the lane is open while a run is resumed")
	}
	r.Done()
	if slots.Take(dispatch.Probation) == nil {
		t.Error("the lane is closed for ever")
	}
}
