package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// abroad is a group of two nodes, of which one alone has the code of the runs, and a client.
// All runs that are in partitions of the other one are away.
type abroad struct {
	*world
	t            *testing.T
	a, b, client *engine.Engine
	definitions  []any
	asked        int
}

const abroadRuns = 9

func newAbroad(t *testing.T, w *world, definitions ...any) *abroad {
	t.Helper()
	x := &abroad{world: w, t: t, definitions: definitions}
	x.a = w.versionNode("a", "1", definitions...)
	x.b = w.versionNode("b", "2", nothing)
	pass(time.Minute)
	x.client = w.open(w.config())
	return x
}

// from is who asks: either node, or the client.
func (x *abroad) from() *engine.Engine {
	x.asked++
	return []*engine.Engine{x.b, x.a, x.client}[x.asked%3]
}

// each does something to each run.
func (x *abroad) each(do func(id string, n int)) {
	for n := range abroadRuns {
		do(fmt.Sprintf("run-%d", n), n)
	}
}

// beginAbroad begins the runs, some of which are away then.
func beginAbroad[In, Out any](x *abroad, flow workflow.Workflow[In, Out], in func(n int) In) {
	x.t.Helper()
	x.each(func(id string, n int) { begin(x.t, x.a, flow, id, in(n)) })
	pass(2 * time.Second)
	away := 0
	x.each(func(id string, _ int) {
		if describe(x.t, x.b, id).Away == "a" {
			away++
		}
	})
	if away < 2 || away == abroadRuns {
		x.t.Errorf("%d of %d runs are away", away, abroadRuns)
	}
}

// wantResults wants the results of all runs.
func (x *abroad) wantResults(want func(n int) string) {
	x.t.Helper()
	x.each(func(id string, n int) {
		if got, err := finish[string](x.t, x.from(), id); got != want(n) || err != nil {
			x.t.Errorf("the result of %s is %q, %v, want %q", id, got, err, want(n))
		}
	})
}

// TestE117_EveryVerbReachesARunThatIsAway, whoever asks. What waits for half a minute a run, with
// three engines that look now and then, is played on a server at night only: the others of
// these go the same ways to the database.
func TestE117_EveryVerbReachesARunThatIsAway(t *testing.T) {
	for name, test := range map[string]func(t *testing.T, w *world){
		"query": queryAbroad, "update": updateAbroad, "calls": callsAbroad, "outside": outsideAbroad, "gate": gateAbroad,
		"queue": queueAbroad, "queue, home fits": queueBesideHome, "runs": runsAbroad, "family": familyAbroad, "retention": retentionAbroad,
	} {
		needs := needsFencing
		if name == "gate" || name == "calls" {
			needs = needsNothing
		}
		t.Run(name, func(t *testing.T) { needs.inAGroup(t, test) })
	}
}

func queryAbroad(t *testing.T, w *world) {
	flow := questioned("1")
	x := newAbroad(t, w, flow)
	beginAbroad(x, flow, func(int) int { return 1 })
	ask := func(want string) {
		t.Helper()
		x.each(func(id string, _ int) {
			if got, err := query(t.Context(), x.from(), id, progress.Name(), "> "); got != want || err != nil {
				t.Errorf("%s says %q, %v, want %q", id, got, err, want)
			}
		})
	}
	ask("> 0 of 1: ")
	x.each(func(id string, _ int) { signal(t, x.from(), id, "poke", "", "x") })
	x.wantResults(func(int) string { return "done" })
}

func updateAbroad(t *testing.T, w *world) {
	flow := accounts("1")
	x := newAbroad(t, w, flow, check)
	beginAbroad(x, flow, func(n int) string { return fmt.Sprint(n) })
	x.each(func(id string, n int) {
		if got, err := change(t.Context(), x.from(), id, "first", deposit, 100+n); got != 100+n || err != nil {
			t.Errorf("%s has %d, %v", id, got, err)
		}
		if _, err := change(t.Context(), x.from(), id, "refused", deposit, -5); err == nil {
			t.Errorf("%s takes less than nothing", id)
		}
		if got, err := change(t.Context(), x.from(), id, "close", closeIt, "in order"); got != 100+n || err != nil {
			t.Errorf("%s is closed with %d, %v", id, got, err)
		}
	})
	pass(time.Second)
	wantAll(t, x.b, "completed", "run-%d", abroadRuns)
}

func callsAbroad(t *testing.T, w *world) {
	f := newFragile(retry.Policy{MaxAttempts: 100, Backoff: retry.Fixed(20 * time.Minute)})
	x := newAbroad(t, w, f.flow, f.activity)
	beginAbroad(x, f.flow, func(n int) int { return n })
	wants := func(in core.Control, want string) {
		t.Helper()
		x.each(func(id string, _ int) {
			if got := fmt.Sprint(verdicts(control(t, x.from(), id, in))); got != want {
				t.Errorf("%s: %s, want %s", id, got, want)
			}
		})
	}
	wants(core.Control{Operation: core.PauseCall}, "[pause applied]")
	wants(core.Control{Operation: core.ResumeCall}, "[resume applied]")
	wants(core.Control{Operation: core.EditPolicy, Policy: &retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(10 * time.Minute)}}, "[edit-policy applied]")
	wants(core.Control{Operation: core.PauseTheRun}, "[pause-run applied]")
	wants(core.Control{Operation: core.ResumeTheRun}, "[resume-run applied]")
	f.broken.Store(false)
	x.each(func(id string, n int) {
		switch n % 3 {
		case 0:
			control(t, x.from(), id, core.Control{Operation: core.RetryNow})
		case 1:
			control(t, x.from(), id, skipWith(t, "done"))
		}
	})
	pass(30 * time.Minute)
	x.wantResults(func(int) string { return "done" })
	// Each was tried at first, and not where a person has given the result.
	if ran := f.ran.Load(); ran != abroadRuns+abroadRuns-abroadRuns/3 {
		t.Errorf("%d attempts ran", ran)
	}
}

func outsideAbroad(t *testing.T, w *world) {
	d := newDesk(patient)
	x := newAbroad(t, w, d.flow, d.activity)
	beginAbroad(x, d.flow, func(n int) int { return n })
	x.each(func(id string, _ int) {
		isError(t, beatOutside(t, x.from(), d.token(t, id, 1), "half"), nil)
		isError(t, say(t, x.from(), d.token(t, id, 1), "yes "+id), nil)
	})
	x.wantResults(func(n int) string { return fmt.Sprintf("yes run-%d", n) })
}

func gateAbroad(t *testing.T, w *world) {
	l := newLineup(gate.New("door", 1, gate.WithMode(gate.Hold)), halfMinute)
	x := newAbroad(t, w, l.workflow, l.activity)
	x.each(func(id string, _ int) { begin(t, x.a, l.workflow, id, id) })
	x.wantResults(func(n int) string { return fmt.Sprintf("run-%d", n) })
	if got := len(l.order()); got != abroadRuns {
		t.Errorf("%d attempts ran: %v", got, l.order())
	}
	pass(time.Second)
	if g := onlyGate(t, x.b); g.Holders != 0 || g.Waiting != 0 {
		t.Errorf("the gate is %+v", g)
	}
}

func queueAbroad(t *testing.T, w *world)     { queuesAbroad(t, w, false) }
func queueBesideHome(t *testing.T, w *world) { queuesAbroad(t, w, true) }

// queuesAbroad: the worker of runs that are away is killed, and their home, which has no
// code of them or has it by then, looks for what that leaves.
func queuesAbroad(t *testing.T, w *world, fits bool) {
	r := newRendering(30 * time.Second)
	x := newAbroad(t, w, r.flow, r.activity)
	first := w.worker("first", "gpu", abroadRuns, r.activity)
	beginAbroad(x, r.flow, func(n int) int { return n })
	if fits {
		x.client = w.versionNode("a2", "1", r.flow, r.activity)
		stop(t, x.b)
		x.b = x.client
	}
	pass(3 * time.Second)
	w.kill(first)
	pass(time.Minute)
	if n := engine.InMemory(x.a) + engine.InMemory(x.b); n > abroadRuns {
		t.Errorf("of %d runs %d are in memory", abroadRuns, n)
	}
	w.worker("second", "gpu", abroadRuns, r.activity)
	x.wantResults(func(n int) string { return fmt.Sprint("picture ", n) })
	x.each(func(id string, _ int) {
		if all := attemptsOf(t, x.b, id); len(all) != 2 || all[0].Outcome != "lost" || all[1].Outcome != "completed" {
			t.Errorf("the attempts of %s are %+v", id, all)
		}
	})
}

func runsAbroad(t *testing.T, w *world) {
	f := newTried()
	flow := f.threeTries()
	x := newAbroad(t, w, flow, f.activity)
	beginAbroad(x, flow, func(n int) string { return fmt.Sprint(n) })
	f.takeMade()
	x.each(func(id string, _ int) {
		if r := reset(t, x.from(), id, core.Control{Call: 2}); r.Outcome != view.Applied {
			t.Errorf("the reset of %s: %+v", id, r)
		}
	})
	pass(time.Second)
	if got := strings.Fields(f.takeMade()); len(got) != abroadRuns || slices.ContainsFunc(got, func(what string) bool { return what != "2" }) {
		t.Errorf("after the reset there was done %v", got)
	}
	x.each(func(id string, n int) {
		fork(t, x.from(), request.Fork{WorkflowID: id, NewID: fmt.Sprintf("fork-%d", n), Call: 2, By: request.By{Who: "ann", Why: "what if"}})
	})
	pass(time.Second)
	for _, prefix := range []string{"run", "fork"} {
		value, _ := history.Encode(8)
		got := forAll(t, x.from(), view.Filter{Workflow: "tries", IDPrefix: prefix + "-", Status: []string{"running"}}, core.Control{ID: prefix, Operation: core.SignalTheRun, Signal: "number", Value: value, By: "ann", Reason: "as agreed"}, false)
		if got.Applied != abroadRuns {
			t.Errorf("signals to all: %s", tally(got))
		}
	}
	pass(time.Second)
	for _, prefix := range []string{"run", "fork"} {
		wantAll(t, x.b, "completed", prefix+"-%d", abroadRuns)
		for n := range abroadRuns {
			id := fmt.Sprintf("%s-%d", prefix, n)
			if got, err := finish[string](t, x.from(), id); got != fmt.Sprintf("%d1' 2' 8 4' 5 of %s'", n, id) || err != nil {
				t.Errorf("the result of %s is %q, %v", id, got, err)
			}
		}
	}
}

// familyAbroad: children of runs that are away, away or not, hear of it when these end, by
// the chain in which they are, and the other way round.
func familyAbroad(t *testing.T, w *world) {
	var leaf workflow.Workflow[int, string]
	leaf = workflow.New("leaf", func(wf *workflow.Context, n int) (string, error) {
		if n < 10 {
			return workflow.ContinueAsNew(wf, leaf, n+10)
		}
		out, err := workflow.Receive(wf, poke)
		if err != nil {
			return "", fmt.Errorf("the child ends: %w", err)
		}
		return out, nil
	})
	tree := workflow.New("tree", func(wf *workflow.Context, n int) (string, error) {
		return workflow.RunChild(wf, leaf, n%2*10, workflow.ChildID(workflow.GetInfo(wf).WorkflowID+"-leaf"))
	})
	x := newAbroad(t, w, tree, leaf)
	beginAbroad(x, tree, func(n int) int { return n })
	x.each(func(id string, n int) {
		switch n / 3 {
		case 0:
			signal(t, x.from(), id+"-leaf", "poke", "", "x")
		case 1:
			if err := x.from().Cancel(t.Context(), id, "", request.By{Why: "enough"}); err != nil {
				t.Error(err)
			}
		default:
			if err := x.from().Terminate(t.Context(), id+"-leaf", "", request.By{Why: "enough"}); err != nil {
				t.Error(err)
			}
		}
	})
	pass(5 * time.Second)
	x.each(func(id string, n int) {
		want, leaf := []string{"completed", "canceled", "failed"}[n/3], []string{"completed", "canceled", "terminated"}[n/3]
		if got, of := describe(t, x.b, id), describe(t, x.b, id+"-leaf"); string(got.Status) != want || string(of.Status) != leaf {
			t.Errorf("%s is %s (%s), its child %s (%s)", id, got.Status, got.Reason, of.Status, of.Reason)
		}
	})
	pass(time.Minute)
	db := x.raw()
	if left, err := db.Inbox(t.Context(), engine.Owned(x.b), store.InboxRead{}); len(left) > 0 || err != nil {
		t.Errorf("messages are left: %+v, %v", left, err)
	}
}

func retentionAbroad(t *testing.T, w *world) {
	flow := workflow.New("short", func(wf *workflow.Context, n int) (string, error) {
		return fmt.Sprint(n), workflow.Sleep(wf, time.Minute)
	})
	x := newAbroad(t, w, flow)
	beginAbroad(x, flow, func(n int) int { return n })
	c := w.config()
	c.Node, c.Build, c.Retention = "c", "2", view.Retention{Completed: time.Minute}
	w.startWith(c)
	x.wantResults(func(n int) string { return fmt.Sprint(n) })
	stop(t, x.a)
	stop(t, x.b)
	pass(10 * time.Minute)
	if left := idsOf(t, x.client); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// TestE117_WhatWasUnderWayAtALostHome: attempts of runs that go to a node which had runs of
// the partition before their home took it are lost with that home, and known to be.
func TestE117_WhatWasUnderWayAtALostHome(t *testing.T) {
	for name, told := range map[string]bool{"by itself": false, "a message comes first": true} {
		t.Run(name, func(t *testing.T) {
			inAGroup(t, func(t *testing.T, w *world) { underWayAtALostHome(t, w, told) })
		})
	}
}

// underWayAtALostHome: with told set, who gets the runs hears of them by messages first.
func underWayAtALostHome(t *testing.T, w *world, told bool) {
	if told {
		w.db = slowToMove{w.db}
	}
	r := newRendering(30 * time.Second)
	long := activity.New("long", r.render)
	flow := workflow.New("flow", func(wf *workflow.Context, n int) (string, error) {
		if n < 100 {
			if _, err := workflow.Receive(wf, proceed); err != nil {
				return "", err
			}
		}
		return workflow.Call(wf, long, n)
	})
	x := newAbroad(t, w, flow, long)
	beginAbroad(x, flow, func(n int) int { return n })
	stop(t, x.b)
	home := w.versionNode("a2", "1", flow, long)
	pass(time.Minute)
	const late = 24
	for n := range late {
		begin(t, x.a, flow, fmt.Sprintf("late-%d", n), 100+n)
	}
	pass(5 * time.Second)
	x.b = w.versionNode("b2", "2", nothing)
	pass(100 * time.Millisecond)
	w.kill(home)
	for n := range late {
		if told {
			signal(t, x.client, fmt.Sprintf("late-%d", n), "ignored", "", "now")
		}
	}
	pass(2 * time.Minute)
	wantAll(t, x.b, "completed", "late-%d", late)
	lost := 0
	for n := range late {
		all := attemptsOf(t, x.b, fmt.Sprintf("late-%d", n))
		for _, a := range all {
			if a.Outcome == "lost" {
				lost++
				if a.Node == "" || a.Reason != "lease_expired" {
					t.Errorf("run %d lost an attempt at %q: %s", n, a.Node, a.Reason)
				}
			}
		}
		if last := all[len(all)-1]; last.Outcome != "completed" || len(all) > 2 {
			t.Errorf("the attempts of run %d are %+v", n, all)
		}
	}
	if lost == 0 || lost == late {
		t.Errorf("%d of %d attempts are lost", lost, late)
	}
	x.each(func(id string, _ int) { signal(t, x.from(), id, "proceed", "", "now") })
	x.wantResults(func(n int) string { return fmt.Sprint("picture ", n) })
}

// slowToMove is a database that takes its time to tell which runs have come to a ward.
type slowToMove struct{ store.Opener }

func (s slowToMove) Open(ctx context.Context) (store.Store, error) {
	inner, err := s.Opener.Open(ctx)
	return slowlyMoved{inner}, err
}

type slowlyMoved struct{ store.Store }

func (s slowlyMoved) Due(ctx context.Context, places []int, after, until int64, limit int) ([]store.Wake, error) {
	if _, ward := store.SplitPlace(slices.Max(append(places, 0))); ward != 0 {
		time.Sleep(5 * time.Second)
	}
	return s.Store.Due(ctx, places, after, until, limit)
}
