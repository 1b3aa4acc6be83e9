package demo

import (
	"testing"
	"time"
)

func TestKillsComeAtEvenDistancesWhenMuchIsInFlight(t *testing.T) {
	start := time.Unix(0, 0)
	plan := &killPlan{kills: 3, steps: 400, slots: 16}
	steps := []struct {
		what     string
		steps    int
		running  int
		after    time.Duration
		want     bool
		thenDone bool
	}{
		{"too early", 99, 16, 0, false, false},
		{"due, but little in flight", 100, 3, 0, false, false},
		{"due, and still little", 110, 9, time.Second, false, false},
		{"due, and much in flight", 110, 10, time.Second, true, true},
		{"the second is not due", 120, 16, time.Second, false, false},
		{"the second is due and waits", 200, 1, 2 * time.Second, false, false},
		{"it has waited long enough", 210, 1, 2*time.Second + patience, true, true},
		{"the third is overdue, but nothing runs", 399, 0, 10 * time.Second, false, false},
		{"nothing runs, however late it is", 399, 0, 20 * time.Second, false, false},
		{"something runs", 399, 1, 20 * time.Second, true, true},
		{"there is no fourth", 400, 16, 30 * time.Second, false, false},
	}
	for _, s := range steps {
		if got := plan.now(s.steps, s.running, start.Add(s.after)); got != s.want {
			t.Errorf("%s: %v", s.what, got)
		}
		if s.thenDone {
			plan.killed()
		}
	}
	if plan.done != 3 {
		t.Errorf("%d kills", plan.done)
	}
	none := &killPlan{kills: 0, steps: 400, slots: 16}
	if none.now(400, 16, start) {
		t.Error("a plan without kills kills")
	}
}
