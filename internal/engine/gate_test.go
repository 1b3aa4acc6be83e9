package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

var errUnlucky = errors.New("unlucky")

// lineup is a workflow of one call through a gate, and a list of who ran, in order.
type lineup struct {
	activity activity.Activity[string, string]
	workflow workflow.Workflow[string, string]

	mu  sync.Mutex
	ran []string
}

// newLineup makes one whose activity takes a minute and fails at its first attempt
// if its input begins with "fails". Its input ends with its priority.
func newLineup(g *gate.Gate, policy retry.Policy) *lineup {
	x := &lineup{}
	x.activity = activity.New("pass", func(ctx context.Context, in string) (string, error) {
		info, _ := activity.FromContext(ctx)
		x.mu.Lock()
		x.ran = append(x.ran, fmt.Sprint(in, ".", info.Attempt))
		x.mu.Unlock()
		if err := busy(ctx, time.Minute); err != nil {
			return "", err
		}
		if strings.HasPrefix(in, "fails") && info.Attempt == 1 {
			return "", errUnlucky
		}
		return in, nil
	}, activity.Retry(policy))
	x.workflow = workflow.New("lineup", func(wf *workflow.Context, in string) (string, error) {
		priority := 0
		if i := strings.IndexByte(in, '+'); i >= 0 {
			priority = len(in) - i
		}
		return workflow.Call(wf, x.activity, in, activity.Through(g), activity.Priority(priority))
	})
	return x
}

func (x *lineup) order() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.ran)
}

var halfMinute = retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(30 * time.Second), Jitter: retry.NoJitter}

// TestR41_ModesInTheEngine: what a call in backoff keeps: its slot, nothing, or its
// place in line; Rejoin is the default. R44: priority goes before that.
func TestR41_ModesInTheEngine(t *testing.T) {
	for mode, want := range map[gate.Mode]string{
		gate.Hold:    "[fails.1 fails.2 x++.1 b.1 c.1 d.1]",
		gate.Release: "[fails.1 x++.1 b.1 c.1 d.1 fails.2]",
		gate.Rejoin:  "[fails.1 x++.1 fails.2 b.1 c.1 d.1]",
		"":           "[fails.1 x++.1 fails.2 b.1 c.1 d.1]",
	} {
		t.Run("mode="+string(mode), func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				x := newLineup(gate.New("door", 1, gate.WithMode(mode)), halfMinute)
				e := w.start(x.workflow, x.activity)
				for _, id := range []string{"fails", "b", "c", "d", "x++"} {
					begin(t, e, x.workflow, id, id)
					pass(time.Second)
				}
				for _, id := range []string{"fails", "b", "c", "d", "x++"} {
					if got, err := finish[string](t, e, id); got != id || err != nil {
						t.Errorf("%s: %q, %v", id, got, err)
					}
				}
				same(t, "order", fmt.Sprint(x.order()), want)
			})
		})
	}
}

func onlyGate(t *testing.T, e *engine.Engine) view.Gate {
	t.Helper()
	gates, err := e.Gates(t.Context())
	if err != nil || len(gates) != 1 {
		t.Fatalf("%d gates, %v", len(gates), err)
	}
	return gates[0]
}

// TestR47_AGateThatNobodyUsesIsForgotten: a gate is deleted a week after its last call, even
// across a restart. The next call creates it again.
func TestR47_AGateThatNobodyUsesIsForgotten(t *testing.T) {
	needsQueries.inBothModes(t, func(t *testing.T, w *world) {
		w.patient = true // for weeks
		x := newLineup(gate.New("door", 1), halfMinute)
		e := w.start(x.workflow, x.activity)
		there := func() int {
			gates, err := e.Gates(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return len(gates)
		}
		for i, id := range []string{"a", "b", "c"} {
			if i == 2 {
				pass(6 * 24 * time.Hour)
				same(t, "gates after six days", there(), 1)
			}
			begin(t, e, x.workflow, id, id)
			if _, err := finish[string](t, e, id); err != nil {
				t.Fatal(err)
			}
			pass(6 * time.Minute)
			if i == 0 {
				w.kill(e)
				e = w.start(x.workflow, x.activity)
				pass(8 * 24 * time.Hour)
				same(t, "gates after eight days", there(), 0)
				if err := e.PauseGate(t.Context(), "door", true, request.By{Who: "ann"}); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("a gate that is forgotten is paused: %v", err)
				}
			}
		}
		pass(6 * 24 * time.Hour)
		if err := e.PauseGate(t.Context(), "door", true, request.By{Who: "ann"}); err != nil {
			t.Error(err)
		}
		pass(9 * 24 * time.Hour)
		same(t, "paused by", onlyGate(t, e).Paused.By, "ann")
	})
}

// TestE60_PauseOfAGate: no call passes a paused gate until it is resumed, even after a
// restart. Running attempts continue.
func TestE60_PauseOfAGate(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		x := newLineup(gate.New("door", 1), halfMinute)
		e := w.start(x.workflow, x.activity)
		if err := e.PauseGate(t.Context(), "door", true, request.By{Who: "ann", Why: "why not"}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a gate that nobody knows is paused: %v", err)
		}
		begin(t, e, x.workflow, "a", "a")
		begin(t, e, x.workflow, "b", "b")
		pass(time.Second)
		if err := e.PauseGate(t.Context(), "door", true, request.By{Who: "ann", Why: "why not"}); err != nil {
			t.Fatal(err)
		}
		pass(10 * time.Minute)
		same(t, "ran", len(x.order()), 1)
		same(t, "paused by", onlyGate(t, e).Paused.By, "ann")
		same(t, "why b waits", onlyCall(t, e, "b").Gate.Paused.Why, "why not")
		w.kill(e)
		e = w.start(x.workflow, x.activity)
		pass(10 * time.Minute)
		same(t, "ran", len(x.order()), 1)
		if err := e.PauseGate(t.Context(), "door", false, request.By{Who: "ann"}); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"a", "b"} {
			if _, err := finish[string](t, e, id); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestE104_AGateIsEditedLive: in all stores, across a kill and a deployment, until it is as
// in code; what people did is in the audit.
func TestE104_AGateIsEditedLive(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		x := newLineup(gate.New("door", 1), halfMinute)
		e := w.start(x.workflow, x.activity)
		ann := request.By{Who: "ann", Why: "the night is long"}
		if _, err := e.EditGate(t.Context(), "door", view.GateEdit{Limit: 2}, false, ann); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a gate that nobody knows is edited: %v", err)
		}
		for _, id := range []string{"a", "b", "c", "d"} {
			begin(t, e, x.workflow, id, id)
			pass(time.Second)
		}
		for _, senseless := range []view.GateEdit{{}, {Limit: -1}, {Rate: &gate.Rate{PerSecond: -1}}, {Breaker: &gate.Breaker{Failures: 3}}, {Budget: &gate.Budget{Tokens: 1, Cost: 2}}} {
			if c, err := e.EditGate(t.Context(), "door", senseless, false, ann); !isInput(err) {
				t.Errorf("%+v is accepted: %+v, %v", senseless, c, err)
			}
		}
		if c, err := e.EditGate(t.Context(), "door", view.GateEdit{Limit: 3}, true, ann); err != nil || c.Starting != 2 || c.Waiting != 3 || !c.DryRun {
			t.Errorf("the dry run says %+v, %v", c, err)
		}
		pass(time.Second)
		same(t, "nothing happened", len(x.order()), 1)
		if c, err := e.EditGate(t.Context(), "door", view.GateEdit{Limit: 3}, false, ann); err != nil || c.Starting != 2 || c.After.Limit != 3 {
			t.Errorf("the edit says %+v, %v", c, err)
		}
		pass(time.Second)
		same(t, "ran", len(x.order()), 3)
		w.kill(e)
		e = w.start(x.workflow, x.activity)
		begin(t, e, x.workflow, "e", "e") // which declares a limit of 1
		pass(time.Second)
		g := onlyGate(t, e)
		same(t, "in force, declared", fmt.Sprint(g.Limit, g.Edited.Limit, g.Edited.Declared.Limit, " ", g.Edited.By), "3 3 1 ann")
		if _, err := e.EditGate(t.Context(), "door", view.GateEdit{AsInCode: true}, false, request.By{}); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"a", "b", "c", "d", "e"} {
			if _, err := finish[string](t, e, id); err != nil {
				t.Error(err)
			}
		}
		g = onlyGate(t, e)
		same(t, "as in code", fmt.Sprint(g.Limit, g.Edited), "1 <nil>")
		audit, err := e.AuditGroup(t.Context(), view.AuditFilter{})
		if err != nil {
			t.Fatal(err)
		}
		var told []string
		for _, r := range audit.Records {
			told = append(told, fmt.Sprint(r.Kind, " ", r.Name, " ", r.Operation, " ", r.Outcome, " by ", r.By, ": ", r.Why, " (", r.Note, ")"))
		}
		same(t, "audit", strings.Join(told, "\n"), "gate door edit applied by node:  (limit 3 -> 1)\n"+
			"gate door edit applied by ann: the night is long (limit 1 -> 3)")
	})
}

func isInput(err error) bool {
	var input *view.InputError
	return errors.As(err, &input)
}

// TestR47_AStoppedCallKeepsNoGate: calls of an activity that a person stopped, or
// that are paused themselves, leave their gates to others and come back later.
func TestR47_AStoppedCallKeepsNoGate(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		g := gate.New("door", 1, gate.WithMode(gate.Hold))
		slow := activity.New("slow", func(ctx context.Context, n int) (int, error) { return n, busy(ctx, time.Minute) })
		other := activity.New("other", func(ctx context.Context, n int) (int, error) { return n, busy(ctx, time.Second) })
		flow := workflow.New("flow", func(wf *workflow.Context, n int) (int, error) {
			if n == 3 {
				return workflow.Call(wf, other, n, activity.Through(g))
			}
			return workflow.Call(wf, slow, n, activity.Through(g))
		})
		e := w.start(flow, slow, other)
		for n := range 3 {
			begin(t, e, flow, fmt.Sprint(n), n)
			pass(time.Second)
		}
		pauseActivity(t, e, "slow", true, "p1")
		begin(t, e, flow, "3", 3)
		for _, id := range []string{"0", "3"} {
			if _, err := finish[int](t, e, id); err != nil {
				t.Error(err)
			}
		}
		pass(time.Hour)
		same(t, "waiting", fmt.Sprint(onlyGate(t, e).Waiting, onlyGate(t, e).Holders), "0 0")
		pauseActivity(t, e, "slow", false, "p2")
		for _, id := range []string{"1", "2"} {
			if _, err := finish[int](t, e, id); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestR47_NoSlotIsKeptForNobody: a gate that believes that a run holds it, or waits,
// finds out that there is no such run.
func TestR47_NoSlotIsKeptForNobody(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		x := newLineup(gate.New("door", 1), halfMinute)
		e := w.start(x.workflow, x.activity)
		begin(t, e, x.workflow, "a", "a")
		pass(time.Second)
		ghost := core.TicketKey{Workflow: "ghost", Run: "no such run", Call: 1, Ticket: 1}
		if err := engine.TellGate(e, core.ToGate{Gate: "door", Word: core.GateEnter, Ticket: ghost, Attempt: 1}); err != nil {
			t.Fatal(err)
		}
		late := core.TicketKey{Workflow: "a", Run: describe(t, e, "a").RunID, Call: 1, Ticket: 7}
		if err := engine.TellGate(e, core.ToGate{Gate: "door", Word: core.GateEnter, Ticket: late, Attempt: 1}); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		same(t, "waiting", onlyGate(t, e).Waiting, 2)
		begin(t, e, x.workflow, "b", "b")
		if _, err := finish[string](t, e, "b"); err != nil {
			t.Error(err)
		}
		pass(time.Second)
		same(t, "tickets", len(onlyGate(t, e).Tickets), 0)
	})
}

// TestR47_AnUnservedCallKeepsNoGate: a call whose activity is not registered does
// not keep a gate from others, and goes through when an engine has it.
func TestR47_AnUnservedCallKeepsNoGate(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		x := newLineup(gate.New("door", 1), halfMinute)
		served := activity.New("served", func(context.Context, string) (string, error) { return "", nil })
		other := workflow.New("other", func(wf *workflow.Context, in string) (string, error) {
			return workflow.Call(wf, served, in, activity.Through(gate.New("door", 1)))
		})
		e := w.start(x.workflow, other, served)
		begin(t, e, x.workflow, "a", "a")
		pass(time.Second)
		begin(t, e, other, "b", "b")
		if _, err := finish[string](t, e, "b"); err != nil {
			t.Error(err)
		}
		same(t, "state", onlyCall(t, e, "a").State, "queued")
		if err := e.Health(); err == nil || !strings.Contains(err.Error(), `activity "pass"`) {
			t.Errorf("the engine says: %v", err)
		}
		w.kill(e)
		e = w.start(x.workflow, x.activity)
		if _, err := finish[string](t, e, "a"); err != nil {
			t.Error(err)
		}
	})
}

// TestE60_RetryNowAtAGate: the next attempt waits for its gate, and not for the end
// of the backoff; a paused call leaves the gate and comes back.
func TestE60_RetryNowAtAGate(t *testing.T) {
	for _, mode := range []gate.Mode{gate.Hold, gate.Rejoin} {
		t.Run(string(mode), func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				policy := retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(24 * time.Hour), Jitter: retry.NoJitter}
				x := newLineup(gate.New("door", 1, gate.WithMode(mode)), policy)
				e := w.start(x.workflow, x.activity)
				for _, id := range []string{"fails", "b"} {
					begin(t, e, x.workflow, id, id)
					pass(time.Second)
				}
				pass(time.Minute)
				began := time.Now()
				if mode == gate.Hold { // else it runs by now
					control(t, e, "b", core.Control{Operation: core.PauseCall})
				}
				control(t, e, "fails", core.Control{Operation: core.RetryNow})
				if _, err := finish[string](t, e, "fails"); err != nil {
					t.Error(err)
				}
				pass(time.Hour)
				if mode == gate.Hold {
					control(t, e, "b", core.Control{Operation: core.ResumeCall})
				}
				if _, err := finish[string](t, e, "b"); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took > 2*time.Hour {
					t.Errorf("it took %s", took)
				}
				pass(time.Second)
				same(t, "tickets", len(onlyGate(t, e).Tickets), 0)
			})
		})
	}
}
