package engine_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// TestE116_ANodeDeclaresItsCode: in its row, by which other nodes and people know it.
func TestE116_ANodeDeclaresItsCode(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		charge := activity.New("charge", func(ctx context.Context, _ int) (int, error) { return 0, nil })
		plain := workflow.New("plain", func(*workflow.Context, int) (int, error) { return 0, nil })
		versioned := workflow.New("versioned", func(*workflow.Context, int) (int, error) { return 0, nil }, workflow.Version("7"))
		c := w.config(versioned, charge, plain)
		c.Build = "v3"
		e := w.startWith(c)
		nodes, err := e.Nodes(t.Context())
		if err != nil || len(nodes) != 1 {
			t.Fatalf("the nodes are %v, %v", nodes, err)
		}
		n := nodes[0]
		if n.Build != "v3" || !slices.Equal(n.Workflows, []view.Definition{{Name: "plain"}, {Name: "versioned", Version: "7"}}) || !slices.Equal(n.Activities, []string{"charge"}) {
			t.Errorf("the node is %+v", n)
		}
		c = w.config()
		c.Build = "a\x00b"
		if _, err := engine.Open(t.Context(), c); err == nil {
			t.Error("a build of control characters is taken")
		}
	})
}

// TestE116_AHeldRunSaysWhichBuildItNeeds: the one that advanced its code last; of a run
// that never began, one that has its workflow.
func TestE116_AHeldRunSaysWhichBuildItNeeds(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		order := func(extra bool) workflow.Workflow[int, string] {
			return workflow.New("order", func(wf *workflow.Context, _ int) (string, error) {
				if extra {
					_ = workflow.Sleep(wf, time.Second)
				}
				_, err := workflow.Call(wf, charge, 1)
				if err != nil {
					return "", err
				}
				return workflow.Receive(wf, proceed)
			})
		}
		serve := func(build string, definitions ...any) *engine.Engine {
			c := w.config(definitions...)
			c.Node, c.Build = "node of "+build, build
			return w.startWith(c)
		}
		var seen time.Time
		needs := func(e *engine.Engine, id, status, build string) {
			t.Helper()
			d := describe(t, e, id)
			switch n := d.Needs; {
			case d.Status != status:
				t.Errorf("%s is %s: %s", id, d.Status, d.Reason)
			case build == "" && n != nil:
				t.Errorf("%s needs %+v, and that cannot be known", id, n)
			case build != "" && (n == nil || n.Build != build || n.Node != "node of "+build || n.Live || n.Seen.After(seen)):
				t.Errorf("%s needs %+v, want %s, last seen until %s", id, n, build, seen)
			}
		}
		e := serve("v1", order(false), charge)
		begin(t, e, order(false), "o", 0)
		pass(time.Second)
		seen = time.Now()
		needs(e, "o", view.StatusRunning, "")
		stop(t, e)
		pass(time.Minute)
		for _, build := range []string{"v2", "v3"} { // which do not fit, and need not be remembered for that
			e = serve(build, order(true), charge)
			settle()
			signal(t, e, "o", proceed.Name(), build, "go") // a turn without code
			pass(time.Second)
			needs(e, "o", view.StatusParked, "v1")
			stop(t, e)
		}
		parent := workflow.New("parent", func(wf *workflow.Context, n int) (string, error) {
			return workflow.RunChild(wf, napper, time.Minute, workflow.ChildID(fmt.Sprint("nap-", n)))
		})
		e = serve("v4", parent)
		begin(t, e, parent, "p-1", 1)
		pass(time.Second)
		needs(e, "o", view.StatusParked, "v1")
		needs(e, "nap-1", view.StatusWaitingForCode, "")
		stop(t, e)
		e = serve("v5", parent, napper)
		pass(time.Second)
		needs(e, "nap-1", view.StatusRunning, "")
		seen = time.Now()
		stop(t, e)
		e = serve("v6", parent)
		begin(t, e, parent, "p-2", 2)
		pass(time.Minute)
		needs(e, "nap-1", view.StatusWaitingForCode, "v5")
		needs(e, "nap-2", view.StatusWaitingForCode, "v5")
		stop(t, e)
		e = serve("v1", order(false), charge)
		if got, err := finish[string](t, e, "o"); got != "go" || err != nil {
			t.Errorf("with the build it needs: %q, %v", got, err)
		}
	})
}

// TestE116_ALiveNodeThatFits: the run is a partition's, and so a node's that has not the
// code. It goes on where the code is, and needs none.
func TestE116_ALiveNodeThatFits(t *testing.T) {
	needsFencing.inAGroupOf(t, 1, func(t *testing.T, w *world) {
		parent := workflow.New("parent", func(wf *workflow.Context, _ int) (string, error) {
			return workflow.RunChild(wf, napper, time.Minute, workflow.ChildID("nap"))
		})
		node := func(name string, definitions ...any) *engine.Engine {
			c := w.config(definitions...)
			c.Node, c.Build = name, "build of "+name
			return w.startWith(c)
		}
		blue := node("blue", parent)
		node("green", parent, napper)
		begin(t, blue, parent, "p", 0)
		pass(time.Second)
		if d := describe(t, blue, "nap"); d.Needs != nil || d.Status != "running" || d.Away != "green" {
			t.Errorf("it is %s, away at %q, needs %+v", d.Status, d.Away, d.Needs)
		}
		stop(t, blue)
		if got, err := finish[string](t, blueless(w, parent), "p"); got != "slept 1m0s" || err != nil {
			t.Errorf("it ended with %q, %v", got, err)
		}
	})
}

// blueless is a client of the world.
func blueless(w *world, definitions ...any) *engine.Engine { return w.open(w.config(definitions...)) }

// TestE120_AGroupForEachVersion: two versions that do not fit each other's runs serve one
// database, a group each. Starts move to the new one by a share, and back; runs stay where
// they began, and whichever nodes come and go, none is parked or waits for code. An old
// group has no more use when nothing in it is open.
func TestE120_AGroupForEachVersion(t *testing.T) {
	inAGroup(t, func(t *testing.T, w *world) {
		blue := workflow.New("order", func(wf *workflow.Context, n int) (string, error) {
			if _, err := workflow.Call(wf, charge, n); err != nil {
				return "", err
			}
			word, err := workflow.Receive(wf, proceed)
			return "blue " + word, err
		})
		green := workflow.New("order", func(wf *workflow.Context, n int) (string, error) {
			if _, err := workflow.Call(wf, reserve, n); err != nil {
				return "", err
			}
			word, err := workflow.Receive(wf, proceed)
			return "green " + word, err
		})
		novel := workflow.New("novel", func(wf *workflow.Context, _ int) (string, error) {
			return workflow.Receive(wf, proceed)
		})
		node := func(name, group string, definitions ...any) *engine.Engine {
			c := w.config(definitions...)
			c.Node, c.Group, c.Build = name, group, "build "+group
			return w.startWith(c)
		}
		clients := map[string]*engine.Engine{}
		for _, group := range []string{"blue", "green"} {
			c := w.config()
			c.Group = group
			clients[group] = w.open(c)
		}
		undisturbed := func(when string, open map[string]int) {
			t.Helper()
			settle()
			for group, want := range open {
				counts, err := clients[group].Counts(t.Context(), 0)
				if err != nil || counts.Runs["running"] != want || counts.Runs["parked"] != 0 || counts.Runs["waiting-for-code"] != 0 {
					t.Fatalf("%s, %s has %+v, %v, want %d that run", when, group, counts, err, want)
				}
			}
		}
		where := map[string]string{}
		started := 0
		launch := func(n, percent int) {
			for range n {
				id := fmt.Sprint("order-", started)
				where[id] = "blue"
				if started++; started%100 < percent {
					where[id] = "green"
				}
				begin(t, clients[where[id]], blue, id, 1) // the declaration is the same
			}
		}
		answer := func(id string) {
			t.Helper()
			e := clients[where[id]]
			signal(t, e, id, proceed.Name(), "", "go")
			if got, err := finish[string](t, e, id); got != where[id]+" go" || err != nil {
				t.Errorf("%s in %s: %q, %v", id, where[id], got, err)
			}
		}

		b1, b2 := node("b1", "blue", blue, charge), node("b2", "blue", blue, charge)
		launch(20, 0)
		undisturbed("before the deploy", map[string]int{"blue": 20})
		g1 := node("g1", "green", green, novel, reserve)
		begin(t, clients["green"], novel, "novel", 0)
		launch(80, 50) // a canary
		inGreen := 1
		for _, group := range where {
			if group == "green" {
				inGreen++
			}
		}
		inBlue := started + 1 - inGreen
		if inGreen < 20 || inBlue < 40 {
			t.Fatalf("%d runs are in green and %d in blue", inGreen, inBlue)
		}
		undisturbed("with a canary", map[string]int{"blue": inBlue, "green": inGreen})
		stop(t, b1) // a rolling restart of the old, in the middle of it
		pass(time.Minute)
		b1 = node("b1", "blue", blue, charge)
		stop(t, b2)
		w.kill(g1)
		g1 = node("g1", "green", green, novel, reserve)
		undisturbed("after nodes came and went", map[string]int{"blue": inBlue, "green": inGreen})
		launch(10, 0) // a rollback: what is in green goes on there
		inBlue += 10
		undisturbed("after the rollback", map[string]int{"blue": inBlue, "green": inGreen})
		launch(10, 100)
		inGreen += 10
		undisturbed("all go to green", map[string]int{"blue": inBlue, "green": inGreen})
		for id, group := range where {
			if group == "blue" {
				answer(id)
			}
		}
		undisturbed("when blue has come to its end", map[string]int{"blue": 0, "green": inGreen})
		stop(t, b1)
		for id, group := range where {
			if group == "green" {
				answer(id)
			}
		}
		signal(t, clients["green"], "novel", proceed.Name(), "", "new")
		if got, err := finish[string](t, clients["green"], "novel"); got != "new" || err != nil {
			t.Errorf("the run of a new type: %q, %v", got, err)
		}
		undisturbed("at the end", map[string]int{"blue": 0, "green": 0})
		stop(t, g1)
	})
}
