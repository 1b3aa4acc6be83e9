package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/internal/settings"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// guests counts the workflow IDs that are between their first activity and their last.
type guests struct {
	mu     sync.Mutex
	inside map[string]bool
	most   int
	order  []string

	stay         workflow.Workflow[int, int] // stays inside for an hour in each of some runs
	enter, leave activity.Activity[string, int]
}

func newGuests() *guests {
	c := &guests{inside: map[string]bool{}}
	c.enter = activity.New("enter", func(_ context.Context, id string) (int, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.inside[id] {
			c.order = append(c.order, id)
		}
		c.inside[id] = true
		c.most = max(c.most, len(c.inside))
		return 0, nil
	})
	c.leave = activity.New("leave", func(_ context.Context, id string) (int, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.inside, id)
		return 0, nil
	})
	c.stay = workflow.New("stay", func(wf *workflow.Context, again int) (int, error) {
		id := workflow.GetInfo(wf).WorkflowID
		if _, err := workflow.Call(wf, c.enter, id); err != nil {
			return 0, err
		}
		if err := workflow.Sleep(wf, time.Hour); err != nil {
			return 0, err
		}
		if again > 0 {
			return workflow.ContinueAsNew(wf, c.stay, again-1)
		}
		return workflow.Call(wf, c.leave, id)
	})
	return c
}

// who returns who is inside, sorted.
func (c *guests) who() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for id := range c.inside {
		all = append(all, id)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func (c *guests) config(w *world, perKey int) settings.Engine {
	config := w.config(c.stay, c.enter, c.leave)
	config.PerKey = perKey
	return config
}

// as starts a run with a key.
func (c *guests) as(t *testing.T, e *engine.Engine, key, id string, again int) {
	t.Helper()
	input, _ := history.Encode(again)
	if _, _, err := e.StartRun(t.Context(), request.Start{WorkflowID: id, Type: c.stay.Name(), Input: input, Settings: history.Settings{Key: key}}); err != nil {
		t.Fatal(err)
	}
}

// TestT3_SoManyRunsOfAKeyRunAtATime: the others wait in their order, and those of other keys and without
// one pass them. A chain counts once, also while it sleeps. Processes that are killed do not change that.
func TestT3_SoManyRunsOfAKeyRunAtATime(t *testing.T) {
	needsFencing.inBothModes(t, func(t *testing.T, w *world) {
		c := newGuests()
		e := w.startWith(c.config(w, 2))
		for i := range 5 {
			c.as(t, e, "ann", fmt.Sprint("a", i), i%2)
			pass(time.Second)
		}
		c.as(t, e, "bob", "b", 0)
		pass(time.Second)
		c.as(t, e, "", "none", 0)
		pass(time.Second)
		same(t, "inside", c.who(), "a0 a1 b none")
		w.kill(e)
		e = w.startWith(c.config(w, 2))
		for _, want := range []string{
			"a1 a2",       // a0 has ended; a1 continues as new
			"a3 a4", "a3", // a1 and a2 have ended, and a3 continues
			"",
		} {
			pass(time.Hour)
			same(t, "inside", c.who(), want)
		}
		c.mu.Lock()
		same(t, "order", fmt.Sprint(c.order), "[a0 a1 b none a2 a3 a4]")
		c.mu.Unlock()
		same(t, "tickets", len(gateOf(t, e, gates.Runs).Tickets), 0)
	})
}

// TestT3_WhoWaitsToBeginCanBeTakenAway: a run that waits for others of its key is canceled or terminated,
// its time runs out, or it is paused. Its ticket goes to the next one.
func TestT3_WhoWaitsToBeginCanBeTakenAway(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		c := newGuests()
		e := w.startWith(c.config(w, 1))
		input, _ := history.Encode(0)
		for _, id := range []string{"first", "canceled", "terminated", "late", "paused", "last"} {
			s := history.Settings{Key: "ann"}
			if id == "late" {
				s.RunTimeout = 10 * time.Minute
			}
			if _, _, err := e.StartRun(t.Context(), request.Start{WorkflowID: id, Type: c.stay.Name(), Input: input, Settings: s}); err != nil {
				t.Fatal(err)
			}
			pass(time.Second)
		}
		same(t, "what it waits for", describe(t, e, "last").Wait.Gate, gates.Runs)
		why, err := e.Why(t.Context(), "last", "")
		if err != nil || !strings.HasPrefix(why, "it has not begun: as many runs of its key run as may") {
			t.Errorf("why: %s, %v", why, err)
		}
		status, err := e.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(status.Waiting, func(w view.Waiting) bool { return w.Gate == gates.Runs })
		if i < 0 || status.Waiting[i].Count != 5 || status.Waiting[i].WorkflowID != "canceled" || len(status.Keys) != 1 || status.Keys[0].Waiting != 5 {
			t.Errorf("what waits: %+v, %+v", status.Waiting, status.Keys)
		}
		control(t, e, "canceled", core.Control{Operation: core.CancelTheRun})
		control(t, e, "terminated", core.Control{Operation: core.TerminateTheRun})
		control(t, e, "paused", core.Control{Operation: core.PauseTheRun})
		pass(15 * time.Minute)
		for id, want := range map[string]string{"canceled": "canceled", "terminated": "terminated", "late": "timed-out", "paused": "paused", "last": "running"} {
			same(t, id, describe(t, e, id).Status, want)
		}
		pass(time.Hour)
		same(t, "inside", c.who(), "") // the paused one counts
		control(t, e, "paused", core.Control{Operation: core.ResumeTheRun})
		pass(time.Minute)
		same(t, "inside", c.who(), "paused")
		pass(time.Hour)
		same(t, "inside", c.who(), "last")
		same(t, "nothing to wait for", describe(t, e, "last").Wait, nil)
	})
}

// TestT3_AParentMayWaitForItsChild although only one run of their key may run.
func TestT3_AParentMayWaitForItsChild(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		c := newGuests()
		parent := workflow.New("parent", func(wf *workflow.Context, _ int) (int, error) {
			return workflow.RunChild(wf, c.stay, 1, workflow.ChildID("child"))
		})
		config := c.config(w, 1)
		config.Workflows = append(config.Workflows, parent)
		e := w.startWith(config)
		input, _ := history.Encode(0)
		if _, _, err := e.StartRun(t.Context(), request.Start{WorkflowID: "p", Type: parent.Name(), Input: input, Settings: history.Settings{Key: "ann"}}); err != nil {
			t.Fatal(err)
		}
		c.as(t, e, "ann", "next", 0)
		pass(time.Minute)
		same(t, "inside", c.who(), "child")
		if _, err := finish[int](t, e, "p"); err != nil {
			t.Error(err)
		}
		pass(time.Minute)
		same(t, "inside", c.who(), "next")
	})
}

// TestT3_ResetsKeepTheirPlaceAndForksTakeNone: nobody begins between the end of a run that is reset and
// the run that goes on from there, and nobody waits for a fork.
func TestT3_ResetsKeepTheirPlaceAndForksTakeNone(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		c := newGuests()
		e := w.startWith(c.config(w, 1))
		for _, id := range []string{"x", "y"} {
			c.as(t, e, "ann", id, 1)
			pass(time.Minute)
		}
		pass(time.Hour) // x has continued as new
		reset(t, e, "x", core.Control{Call: 1})
		pass(time.Second)
		fork(t, e, request.Fork{WorkflowID: "x", NewID: "fork", Call: 1})
		pass(30 * time.Minute)
		same(t, "inside", c.who(), "fork x")
		pass(40 * time.Minute)
		same(t, "inside", c.who(), "y")
		pass(2 * time.Hour)
		same(t, "inside", c.who(), "")
		same(t, "tickets", len(gateOf(t, e, gates.Runs).Tickets), 0)
	})
}

// TestT3_TheNumberOfRunsIsEditedLive: for all keys or one, also after a crash, until the code's number
// holds again. Without a number nobody waits any more.
func TestT3_TheNumberOfRunsIsEditedLive(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		c := newGuests()
		e := w.startWith(c.config(w, 1))
		for i := range 5 {
			c.as(t, e, "ann", fmt.Sprint("a", i), 0)
			pass(time.Second)
		}
		if _, err := e.EditGate(t.Context(), gates.Runs, spec.Edit{PerKey: &spec.PerKey{Limit: 3}}, false, request.By{}); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		same(t, "inside", c.who(), "a0 a1 a2")
		edit := func(edit spec.Edit) view.GateChange {
			t.Helper()
			change, err := e.EditGate(t.Context(), gates.Runs, edit, false, request.By{})
			if err != nil {
				t.Fatal(err)
			}
			pass(time.Second)
			return change
		}
		change := edit(spec.Edit{Key: "ann", PerKey: &spec.PerKey{Limit: 4}})
		same(t, "change", fmt.Sprint(change.Before.PerKey, " ", change.After.PerKey, " ", change.Starting), "3 slots 4 slots 1")
		same(t, "inside", c.who(), "a0 a1 a2 a3")
		w.kill(e)
		e = w.startWith(c.config(w, 1))
		pass(time.Second)
		edit(spec.Edit{AsInCode: true, PerKey: &spec.PerKey{Limit: 2}, Key: "bob"})
		c.as(t, e, "bob", "b0", 0)
		c.as(t, e, "bob", "b1", 0)
		c.as(t, e, "bob", "b2", 0)
		pass(time.Second)
		same(t, "bounds", gateOf(t, e, gates.Runs).KeyBounds, "map[ann:4 slots bob:2 slots]")
		if who := c.who(); strings.Count(who, "b") != 2 {
			t.Errorf("inside: %s", who)
		}
		edit(spec.Edit{AsInCode: true})
		same(t, "bounds", len(gateOf(t, e, gates.Runs).KeyBounds), 0)
		if _, err := e.EditGate(t.Context(), gates.Runs, spec.Edit{Key: "bob", Limit: 3}, false, request.By{}); err == nil {
			t.Error("an edit of a key edits more")
		}
		stop(t, e)
		e = w.startWith(c.config(w, 0))
		pass(time.Hour)
		for _, id := range strings.Fields("a0 a1 a2 a3 a4 b0 b1 b2") {
			if _, err := finish[int](t, e, id); err != nil {
				t.Error(err)
			}
		}
		same(t, "tickets", len(gateOf(t, e, gates.Runs).Tickets), 0)
	})
}
