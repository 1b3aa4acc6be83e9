package engine_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// TestE60_AtAGate: a call that is paused in line lets the others pass, and joins the line
// again when it is resumed. A call that is skipped or failed while it holds the gate gives
// its place to the next. A call that is retried now does not jump the queue.
func TestE60_AtAGate(t *testing.T) {
	for _, mode := range []gate.Mode{gate.Hold, gate.Release, gate.Rejoin} {
		t.Run("mode="+string(mode), func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				x := newLineup(gate.New("door", 1, gate.WithMode(mode)), retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(time.Hour), Jitter: retry.NoJitter})
				e := w.start(x.workflow, x.activity)
				for _, id := range []string{"a", "b", "c", "d"} {
					begin(t, e, x.workflow, id, id)
					pass(time.Second)
				}
				same(t, "b waits", onlyCall(t, e, "b").State, "gated")
				same(t, "at the gate", verdicts(control(t, e, "b", core.Control{Operation: core.RetryNow})), "[retry-now unchanged]")
				control(t, e, "b", core.Control{Operation: core.PauseCall})
				same(t, "b is paused", onlyCall(t, e, "b").State, "paused")
				control(t, e, "a", skipWith(t, "skipped")) // which holds the gate
				pass(time.Second)
				same(t, "c runs", onlyCall(t, e, "c").State, "running")
				control(t, e, "b", core.Control{Operation: core.ResumeCall})
				control(t, e, "c", failWith(errRefused))
				pass(time.Second)
				same(t, "d runs", onlyCall(t, e, "d").State, "running")
				for _, id := range []string{"b", "d"} {
					if out, err := finish[string](t, e, id); out != id || err != nil {
						t.Errorf("%s: %q, %v", id, out, err)
					}
				}
				same(t, "order", x.order(), "[a.1 c.1 d.1 b.1]")
				same(t, "nobody is left", gateOf(t, e, "door").Holders, 0)
			})
		})
	}
}

// TestE60_InBackoffAtAGate: retry now and pause of a call that keeps its slot, or
// does not.
func TestE60_InBackoffAtAGate(t *testing.T) {
	for _, mode := range []gate.Mode{gate.Hold, gate.Release, gate.Rejoin} {
		t.Run("mode="+string(mode), func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				x := newLineup(gate.New("door", 1, gate.WithMode(mode)), retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(1000 * time.Hour), Jitter: retry.NoJitter})
				e := w.start(x.workflow, x.activity)
				begin(t, e, x.workflow, "fails", "fails")
				pass(2 * time.Minute)
				begin(t, e, x.workflow, "next", "next")
				control(t, e, "fails", core.Control{Operation: core.PauseCall})
				if out, err := finish[string](t, e, "next"); out != "next" || err != nil { // who is paused keeps nothing
					t.Errorf("%q, %v", out, err)
				}
				control(t, e, "fails", core.Control{Operation: core.RetryNow})
				if out, err := finish[string](t, e, "fails"); out != "fails" || err != nil {
					t.Errorf("%q, %v", out, err)
				}
				same(t, "order", x.order(), "[fails.1 next.1 fails.2]")

				begin(t, e, x.workflow, "fails too", "fails too")
				pass(2 * time.Minute)
				control(t, e, "fails too", core.Control{Operation: core.RetryNow})
				if out, err := finish[string](t, e, "fails too"); out != "fails too" || err != nil {
					t.Errorf("%q, %v", out, err)
				}
				same(t, "nobody is left", gateOf(t, e, "door").Holders, 0)
			})
		})
	}
}

// gateOf is what is known of a gate.
func gateOf(t *testing.T, e *engine.Engine, name string) view.Gate {
	t.Helper()
	settle()
	gates, err := e.Gates(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range gates {
		if g.Name == name {
			return g
		}
	}
	t.Fatalf("there is no gate %q in %+v", name, gates)
	return view.Gate{}
}
