package view

import (
	"encoding/json"
	"testing"
)

func overviewOf(id, input string, calls ...CallAttempts) *Overview {
	d := &Description{Run: Run{WorkflowID: id}}
	d.Input = Payload{JSON: json.RawMessage(input)}
	return &Overview{Description: d, Calls: calls}
}

// TestCompare: what went alike in both is counted, and what did not is there by number, also if only
// one of them made the call.
func TestCompare(t *testing.T) {
	call := func(number int64, name, outcome, errorType string, attempts int) CallAttempts {
		return CallAttempts{Call: number, Name: name, Outcome: outcome, ErrorType: errorType, Attempts: attempts}
	}
	a := overviewOf("a", "1", call(1, "reserve", OutcomeCompleted, "", 1), call(2, "charge", OutcomeFailed, "Declined", 3), call(4, "ship", OutcomeCompleted, "", 1), call(6, "tell", OutcomeCompleted, "", 1))
	b := overviewOf("b", "1", call(1, "reserve", OutcomeCompleted, "", 1), call(2, "charge", OutcomeFailed, "Timeout", 3), call(3, "refund", OutcomeCompleted, "", 1), call(4, "cancel", OutcomeCompleted, "", 1), call(6, "tell", OutcomeCompleted, "", 2))
	c := Compare(a, b)
	if c.A.WorkflowID != "a" || c.B.WorkflowID != "b" || !c.SameInput || c.Alike != 1 || len(c.Calls) != 4 {
		t.Fatalf("%+v", c)
	}
	for i, want := range []struct {
		call         int64
		a, b, parted bool
	}{{2, true, true, false}, {3, false, true, false}, {4, true, true, true}, {6, true, true, false}} {
		p := c.Calls[i]
		if p.Call != want.call || (p.A != nil) != want.a || (p.B != nil) != want.b || p.Parted() != want.parted {
			t.Errorf("%+v, want %+v", p, want)
		}
	}
	if c := Compare(a, overviewOf("c", "2", a.Calls...)); c.SameInput || c.Alike != 4 || c.Calls == nil || len(c.Calls) != 0 {
		t.Errorf("with another input and the same calls: %+v", c)
	}
	locked := overviewOf("d", "")
	locked.Description.Input = Payload{Locked: "encrypted"}
	if Compare(locked, locked).SameInput {
		t.Error("nobody can know whether encrypted inputs are the same")
	}
}
