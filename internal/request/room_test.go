package request

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/roomtest"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// TestE60_ADryRunOfRetriesCountsSlotsOfGates: it tells which calls would start and which would wait
// at their gate, and so it comes. A gate that is paused or whose breaker is open lets none pass.
func TestE60_ADryRunOfRetriesCountsSlotsOfGates(t *testing.T) {
	here(t, func(a *asker) {
		door := spec.Spec{Name: "door", Limit: 3, Mode: spec.Rejoin}
		pauses := roomtest.Retry(retry.Policy{MaxAttempts: 1, OnExhausted: retry.Pause})
		a.Define("bank", charges(pauses, roomtest.Through(door)))
		for i := range 5 {
			id := fmt.Sprint("b", i)
			a.start("bank", id)
			a.settle()
			if i < 4 {
				a.Latest(id).Fails(1, "Busy", "no")
				a.settle()
			}
		}
		dry := func() string {
			in := core.Control{Operation: core.RetryNow, Calls: core.Selection{States: []string{view.CallPaused}}}
			result, err := a.ControlAll(a.ctx, view.Filter{}, in, true)
			a.Must(err)
			if len(result.Records) != result.Calls {
				a.Fatalf("%d records of %d calls", len(result.Records), result.Calls)
			}
			said := map[string]int{}
			for _, r := range result.Records {
				said[r.Outcome]++
				if r.Outcome == view.WouldWait && !strings.Contains(r.Note, "then it waits at gate door") {
					a.Errorf("it would wait: %q", r.Note)
				}
			}
			if said[view.WouldWait] != result.Waiting {
				a.Errorf("%d would wait, of %v", result.Waiting, said)
			}
			return fmt.Sprint(said)
		}
		if got, want := dry(), "map[selected:2 would-wait:2]"; got != want { // b4 has the third slot
			a.Errorf("it promises %s, not %s", got, want)
		}
		one, err := a.Preview(a.ctx, "b0", core.Control{Operation: core.RetryNow})
		if err != nil || one[0].Outcome != view.Selected {
			a.Errorf("of one call: %+v, %v", one, err)
		}
		a.Must(a.PauseGate(a.ctx, "door", true, by("p")))
		a.settle()
		if got := dry(); got != "map[would-wait:4]" {
			a.Errorf("while the gate is paused it promises %s", got)
		}
		a.Must(a.PauseGate(a.ctx, "door", false, by("q")))
		a.settle()
		if _, err := a.ControlAll(a.ctx, view.Filter{}, core.Control{ID: "r", Operation: core.RetryNow}, false); err != nil {
			a.Fatal(err)
		}
		a.settle()
		if g := a.gateOf(); g.Running != 3 || g.Waiting != 2 {
			a.Errorf("then %d run and %d wait", g.Running, g.Waiting)
		}
		time.Sleep(time.Second)
		one, err = a.Preview(a.ctx, "b0", core.Control{Operation: core.RetryNow})
		if err != nil || one[0].Outcome != view.Unchanged {
			a.Errorf("of a call that waits or runs: %+v, %v", one, err)
		}
	})
}

// TestE60_ADryRunOfRetriesKnowsPausedRuns: they refuse what starts an attempt, as the dry run says.
func TestE60_ADryRunOfRetriesKnowsPausedRuns(t *testing.T) {
	here(t, func(a *asker) {
		a.wait("w")
		_, err := a.Control(a.ctx, "w", "", core.Control{Operation: core.PauseTheRun})
		a.Must(err)
		a.settle()
		dry, err := a.Preview(a.ctx, "w", core.Control{Operation: core.RetryNow})
		a.Must(err)
		var refused *RefusedError
		if _, err := a.Control(a.ctx, "w", "", core.Control{Operation: core.RetryNow}); !errors.As(err, &refused) {
			a.Fatalf("a paused run answers %v", err)
		}
		for _, r := range dry {
			if r.Outcome != refused.Record.Outcome || r.Note != refused.Record.Note {
				a.Errorf("it is foreseen as %+v, and comes as %+v", r, refused.Record)
			}
		}
	})
}

// TestE60_ADryRunOfRetriesKnowsWhatIsPaused: an inline step by its own name, which is not that of
// an activity.
func TestE60_ADryRunOfRetriesKnowsWhatIsPaused(t *testing.T) {
	here(t, func(a *asker) {
		pauses := roomtest.Retry(retry.Policy{MaxAttempts: 1, OnExhausted: retry.Pause})
		a.Define("steps", charges(pauses, func(s *core.StartCall) { s.Kind = history.StepScheduled }))
		a.Define("bank", charges(pauses))
		for _, code := range []string{"steps", "bank"} {
			a.start(code, code)
			a.settle()
			a.Latest(code).Fails(1, "Busy", "no")
			a.settle()
		}
		for _, c := range []struct {
			paused      string
			steps, bank string
		}{
			{"charge", view.Selected, view.WouldWait},
			{"steps/charge", view.WouldWait, view.Selected},
		} {
			_, err := a.SwitchActivity(a.ctx, c.paused, true, 0, "", By{})
			a.Must(err)
			for id, want := range map[string]string{"steps": c.steps, "bank": c.bank} {
				r, err := a.Preview(a.ctx, id, core.Control{Operation: core.RetryNow})
				if err != nil || r[0].Outcome != want || strings.Contains(r[0].Note, "until its activity is resumed") != (want == view.WouldWait) {
					a.Errorf("while %s is paused, a retry of %s is foreseen as %+v, %v; want %s", c.paused, id, r, err, want)
				}
			}
			_, err = a.SwitchActivity(a.ctx, c.paused, false, 0, "", By{})
			a.Must(err)
		}
	})
}
