package dispatch

import "testing"

// TestE94_WhatAStepDoesNotUseIsGivenBack: slots of ended attempts are left to their run for its next
// step, as promises. What that step does not use goes to calls that wait, or is free; then nothing
// is left to the run.
func TestE94_WhatAStepDoesNotUseIsGivenBack(t *testing.T) {
	for _, waiting := range []int{0, 1, 3} {
		s := NewSlots(2, func() bool { return true })
		seats := s.SeatsOf("run", Tenure{})
		for range 2 {
			slot := s.Take(Regular)
			if kept, grants := seats.Keep(slot); !kept || len(grants) != 0 {
				t.Fatalf("the slot of an ended attempt is kept: %v; it is given to %d others", kept, len(grants))
			}
		}
		if u := s.Usage(); !seats.Kept() || u.Regular != 0 || u.Promised != 2 {
			t.Fatalf("before the step something is left: %v; %+v", seats.Kept(), u)
		}
		for i := range waiting {
			s.Wait(&Waiter{Call: Call{"other", int64(i + 1)}})
		}
		got := len(seats.Stepped(false))
		if want := min(waiting, 2); got != want || seats.Kept() {
			t.Errorf("with %d that wait, %d get a slot, want %d; something is left: %v", waiting, got, want, seats.Kept())
		}
		if u := s.Usage(); u.Regular+u.Promised != got || u.Waiting != waiting-got {
			t.Errorf("with %d that wait: %+v", waiting, u)
		}
		if again := seats.Stepped(false); len(again) != 0 {
			t.Errorf("with %d that wait, the next step gives %d slots back", waiting, len(again))
		}
	}
}
