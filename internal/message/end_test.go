package message

import (
	"testing"

	"github.com/perdure/perdure/internal/core"
)

// TestE84_WhichMessagesEndARun: if the answer to such a message is lost and the run has ended, it
// had its effect. Of a signal that cannot be said, and who waits for a reply gets that.
func TestE84_WhichMessagesEndARun(t *testing.T) {
	for _, c := range []struct {
		what string
		in   core.Control
		ends bool
	}{
		{"a plain request to cancel", core.Control{Operation: core.CancelTheRun}, true},
		{"a plain request to terminate", core.Control{Operation: core.TerminateTheRun}, true},
		{"a request to terminate that is answered", core.Control{Operation: core.TerminateTheRun, ID: "1"}, false},
		{"a signal", core.Control{Operation: core.SignalTheRun, Signal: "paid"}, false},
		{"a pause", core.Control{Operation: core.PauseTheRun, ID: "1"}, false},
	} {
		m, err := Request(group, "w", "", &c.in)
		if err != nil {
			t.Fatal(err)
		}
		if got := Ends(m); got != c.ends {
			t.Errorf("%s ends a run: %v", c.what, got)
		}
		if got := Terminates(m); got != (c.in.Operation == core.TerminateTheRun) {
			t.Errorf("%s terminates a run: %v", c.what, got)
		}
	}
	if m := ToSchedule(group, "s", &core.ToSchedule{Word: core.ScheduleDelete}); Ends(m) || Terminates(m) {
		t.Error("a message to a schedule ends a run")
	}
}
