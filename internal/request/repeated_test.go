package request

import (
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// TestF39_ARefusalIsAnsweredTheSame: who asks again for what a gate or a schedule has refused hears
// the refusal again, and no success.
func TestF39_ARefusalIsAnsweredTheSame(t *testing.T) {
	for outcome, refused := range map[string]bool{core.Refused: true, core.Applied: false} {
		n := &core.Note{Word: string(core.GateReset), Request: "k", Outcome: outcome, Text: "it has no breaker"}
		change, gate := gateChange(core.NewGate("door"), &core.ToGate{Gate: "door", Word: core.GateReset}, n, 0)
		_, backfill := backfillAnswer("nightly", n)
		for what, err := range map[string]error{`of gate "door"`: gate, `backfill of schedule "nightly"`: backfill} {
			if (err != nil) != refused || refused && !strings.Contains(err.Error(), what+" is refused: it has no breaker") {
				t.Errorf("after %s, %s gets %v", outcome, what, err)
			}
		}
		if change.Outcome != outcome {
			t.Errorf("the outcome is %q", change.Outcome)
		}
	}
}

// TestE60_APreviewOfAQuarantinedCall: it would be refused only if every live build has crashed with
// it.
func TestE60_APreviewOfAQuarantinedCall(t *testing.T) {
	p := &core.Progress{CrashedOn: []string{"a1", "b1"}}
	for _, c := range []struct {
		builds map[string][]string
		want   string
	}{
		{map[string][]string{"1": {"a1", "a2"}, "2": {"b1"}}, view.Refused},
		{map[string][]string{"1": {"a1"}, "3": {"c1"}}, view.Selected},
		{nil, view.Selected},
	} {
		r := view.ControlRecord{Outcome: view.Selected}
		foreseeRetry(&store.Call{State: store.Quarantined}, p, &core.Control{Operation: core.RetryNow, Builds: c.builds}, false, &r)
		if r.Outcome != c.want {
			t.Errorf("with %v it is %s, want %s: %s", c.builds, r.Outcome, c.want, r.Note)
		}
	}
}
