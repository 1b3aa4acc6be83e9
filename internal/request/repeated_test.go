package request

import (
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// TestF39_ARefusalIsAnsweredTheSame: who asks again for what a gate or a schedule has refused hears
// the refusal again, and no success.
func TestF39_ARefusalIsAnsweredTheSame(t *testing.T) {
	for outcome, refused := range map[string]bool{core.Refused: true, core.Applied: false} {
		n := &core.Note{Word: string(core.GateReset), Request: "k", Outcome: outcome, Text: "it has no breaker"}
		change, gate := gateAnswer(core.NewGate("door"), "door", n, false)
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
	data, err := history.Seal(core.Progress{CrashedOn: []string{"a1", "b1"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		builds map[string][]string
		want   string
	}{
		{map[string][]string{"1": {"a1", "a2"}, "2": {"b1"}}, view.Refused},
		{map[string][]string{"1": {"a1"}, "3": {"c1"}}, view.Selected},
		{nil, view.Selected},
	} {
		r := view.ControlRecord{Outcome: view.Selected}
		foreseeRetry(&store.Call{State: store.Quarantined, Data: data}, &core.Control{Operation: core.RetryNow, Builds: c.builds}, false, &r)
		if r.Outcome != c.want {
			t.Errorf("with %v it is %s, want %s: %s", c.builds, r.Outcome, c.want, r.Note)
		}
	}
}
