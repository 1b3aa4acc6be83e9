package wording

import (
	"strings"
	"testing"

	"github.com/perdure/perdure/view"
)

// TestWhyARunCannotContinue: what only lacks a codec is not called damaged, and what is damaged is not
// said to be well; a run that continues, or has ended, has no such reason.
func TestWhyARunCannotContinue(t *testing.T) {
	of := func(status string, damage *view.Damage) string {
		d := &view.Description{Run: view.Run{Status: status}, Damage: damage}
		h := HoldOf(d)
		if h == nil {
			return ""
		}
		return h.What + " " + strings.Join(h.Do, " ")
	}
	for _, c := range []struct{ got, has, hasNot string }{
		{of(view.StatusParked, &view.Damage{Coded: true}), "codec", "backup"},
		{of(view.StatusParked, &view.Damage{LastCall: 3}), "from a backup and start the engine again, or reset it to call 3", "Nothing is lost"},
		{of(view.StatusParked, &view.Damage{Newer: true}), "start an engine of that version. Else restore", "reset it"},
		{of(view.StatusWaitingForCode, nil), "Nothing is lost", "Parked"},
		{of(view.StatusParked, nil), "could not run", "backup"},
	} {
		if !strings.Contains(c.got, c.has) || strings.Contains(c.got, c.hasNot) {
			t.Errorf("it says %q, which is to have %q and not %q", c.got, c.has, c.hasNot)
		}
	}
	if got := of(view.StatusRunning, nil) + of(view.StatusFailed, nil); got != "" {
		t.Errorf("of a run that is not held it says %q", got)
	}
}
