package suspects

import (
	"fmt"
	"testing"
	"time"
)

// TestE3_AnActivityIsConvictedBySeveralCalls: one call that dies again and again says nothing
// about its activity, and a survivor acquits it.
func TestE3_AnActivityIsConvictedBySeveralCalls(t *testing.T) {
	var s Shared
	for range 5 {
		s.Died("a")
	}
	if s.Deaths() != 1 || s.Convicted(1) || s.Patience() != 0 {
		t.Errorf("of one call: %+v", s)
	}
	before := s
	for n, patience := range []time.Duration{1, 2, 3} {
		s.Died(fmt.Sprint(n))
		if deaths := n + 2; s.Deaths() != deaths || s.Convicted(3) != (deaths >= 3) || s.Patience() != patience*time.Second {
			t.Errorf("after %d: %+v, %s", deaths, s, s.Patience())
		}
	}
	if s.Convicted(1000) || before.Deaths() != 1 {
		t.Error("a limit of 1000 is none, or a copy changes")
	}
}

// TestE3_ACrowdIsTriedBySamples: after a large group died, and only if none of the activity
// has survived, one call goes alone.
func TestE3_ACrowdIsTriedBySamples(t *testing.T) {
	for _, c := range []struct {
		group    int
		survived bool
		want     bool
	}{{0, false, false}, {3, false, false}, {4, false, true}, {64, false, true}, {64, true, false}} {
		if got := (Suspect{Group: c.group}).Single(c.survived); got != c.want {
			t.Errorf("a group of %d, survived %v: %v", c.group, c.survived, got)
		}
	}
}
