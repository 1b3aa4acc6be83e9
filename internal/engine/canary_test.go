package engine_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/faulty"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	when "github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// canaryWorld is a group of nodes of two builds, whose pinned runs say on which they began.
type canaryWorld struct {
	*world
	t       *testing.T
	a, b, c *engine.Engine // of build 1, of build 2, and a client
}

// parentOf starts a pinned run as its child.
func parentOf(child workflow.Workflow[int, string]) workflow.Workflow[string, string] {
	return workflow.New("family", func(wf *workflow.Context, id string) (string, error) {
		return workflow.RunChild(wf, child, 1, workflow.ChildID(id))
	})
}

// lateParentOf starts one with a delay and a deadline.
func lateParentOf(child workflow.Workflow[int, string]) workflow.Workflow[string, string] {
	return workflow.New("late-family", func(wf *workflow.Context, id string) (string, error) {
		return workflow.RunChild(wf, child, 1, workflow.ChildID(id), workflow.Delay(time.Minute), workflow.RunTimeout(24*time.Hour))
	})
}

func (c *canaryWorld) node(name, build string) *engine.Engine {
	order := pinnedOrder(build)
	return c.versionNode(name, build, order, parentOf(order), lateParentOf(order))
}

func twoBuilds(t *testing.T, w *world) *canaryWorld {
	t.Helper()
	c := &canaryWorld{world: w, t: t}
	c.a, c.b = c.node("a", "1"), c.node("b", "2")
	c.c = w.open(w.config())
	pass(time.Minute)
	return c
}

func (c *canaryWorld) set(build string, percent float64) {
	c.t.Helper()
	got, err := c.c.SetCanary(c.t.Context(), build, percent, false, request.By{Who: "ann", Why: "new tariffs"})
	if err != nil || got.Build != build || got.Percent != percent || got.Ended || got.By != "ann" {
		c.t.Fatalf("the canary is %+v, %v", got, err)
	}
	pass(time.Second)
}

// start starts runs at all nodes and the client by turns.
func (c *canaryWorld) start(format string, runs int, start func(e *engine.Engine, id string, i int)) {
	for i := range runs {
		start([]*engine.Engine{c.a, c.b, c.c}[i%3], fmt.Sprintf(format, i), i)
	}
	pass(3 * time.Second)
}

func (c *canaryWorld) orders(format string, runs int) {
	c.start(format, runs, func(e *engine.Engine, id string, i int) { begin(c.t, e, pinnedOrder("1"), id, i) })
}

// want says on which build each of the runs has begun, and returns how many on build 2.
func (c *canaryWorld) want(format string, runs int, build func(id string) string) (second int) {
	c.t.Helper()
	for i := range runs {
		id := fmt.Sprintf(format, i)
		d := describe(c.t, c.c, id)
		if want := build(id); want != "" && (d.Build != want || d.Status != "running") {
			c.t.Errorf("%s is %s on build %q, want running on %q: %s", id, d.Status, d.Build, want, d.Reason)
		}
		if d.Build == "2" {
			second++
		}
	}
	return second
}

// byShare is the build on which runs begin while build 2 gets a share, in percent.
func byShare(percent int) func(id string) string {
	return func(id string) string {
		if engine.OfShare("2", 100*percent, id) {
			return "2"
		}
		return "1"
	}
}

// TestE150_AShareOfNewRunsBeginsOnABuild, whoever starts them: callers at any node and
// elsewhere, with a delay or without, and other runs. Raised, lowered to nothing and ended it
// concerns only runs that begin from then on.
func TestE150_AShareOfNewRunsBeginsOnABuild(t *testing.T) {
	needsFencing.inAGroup(t, func(t *testing.T, w *world) {
		const runs = 48
		c := twoBuilds(t, w)
		c.set("2", 25)
		c.orders("some-%d", runs)
		if n := c.want("some-%d", runs, byShare(25)); n < 4 || n > 20 {
			t.Errorf("%d of %d runs began on the build that gets a quarter", n, runs)
		}
		c.start("late-%d", 12, func(e *engine.Engine, id string, i int) {
			beginWith(t, e, pinnedOrder("1"), id, i, request.Start{Delay: time.Minute})
		})
		for format, parent := range map[string]workflow.Workflow[string, string]{"of family-%d": parentOf(pinnedOrder("1")), "of late-family-%d": lateParentOf(pinnedOrder("1"))} {
			c.start(strings.TrimPrefix(format, "of "), 12, func(e *engine.Engine, id string, _ int) { begin(t, e, parent, id, "of "+id) })
		}
		pass(2 * time.Minute)
		for _, format := range []string{"late-%d", "of family-%d", "of late-family-%d"} {
			c.want(format, 12, byShare(25))
		}
		c.set("2", 60)
		c.orders("more-%d", runs)
		c.want("more-%d", runs, byShare(60))
		c.set("2", 0)
		c.orders("none-%d", runs)
		c.want("none-%d", runs, byShare(0))
		c.set("2", 100)
		c.orders("all-%d", runs)
		c.want("all-%d", runs, byShare(100))
		if got, err := c.c.EndCanary(t.Context(), false, request.By{}); err != nil || !got.Ended || got.Build != "2" {
			t.Fatalf("the end of the canary is %+v, %v", got, err)
		}
		pass(time.Second)
		c.orders("any-%d", runs)
		if n := c.want("any-%d", runs, func(string) string { return "" }); n == 0 || n == runs {
			t.Errorf("without a canary %d of %d runs began on build 2", n, runs)
		}
		c.want("some-%d", runs, byShare(25)) // they stay
		for _, format := range []string{"some-%d", "late-%d", "more-%d", "none-%d", "all-%d", "any-%d"} {
			for i := range 12 {
				signal(t, c.c, fmt.Sprintf(format, i), "proceed", "", "now")
			}
		}
		pass(5 * time.Second)
		for _, format := range []string{"some-%d", "late-%d", "more-%d", "none-%d", "all-%d", "any-%d"} {
			wantAll(t, c.c, "completed", format, 12)
		}
	})
}

// TestE150_WhoWaitsForARunThatBeginsElsewhere gets its result: callers whose own node gave it
// away, and a schedule.
func TestE150_WhoWaitsForARunThatBeginsElsewhere(t *testing.T) {
	inAGroup(t, func(t *testing.T, w *world) {
		const runs = 12
		c := twoBuilds(t, w)
		c.set("2", 100)
		told := make(chan error, runs)
		for i := range runs {
			go func() {
				id := fmt.Sprintf("order-%d", i)
				beginWith(t, c.a, pinnedOrder("1"), id, i, request.Start{ForEnd: true})
				got, err := finish[string](t, c.a, id)
				if err == nil && got != "2" {
					err = fmt.Errorf("%s was ended by build %q", id, got)
				}
				told <- err
			}()
		}
		pass(2 * time.Second)
		c.want("order-%d", runs, byShare(100))
		for i := range runs {
			signal(t, c.a, fmt.Sprintf("order-%d", i), "proceed", "", "now")
		}
		for range runs {
			if err := <-told; err != nil {
				t.Error(err)
			}
		}
		input, _ := history.Encode(1)
		if err := c.c.SetSchedule(t.Context(), "often", when.Spec{Every: time.Minute, Overlap: when.AllowAll}, request.Start{Type: "order", Input: input}); err != nil {
			t.Fatal(err)
		}
		pass(10*time.Minute + time.Second)
		fired, err := c.c.List(t.Context(), view.Filter{IDPrefix: "often"})
		if err != nil || len(fired) < 9 {
			t.Fatalf("the schedule has started %d runs, %v", len(fired), err)
		}
		for _, r := range fired {
			if r.Build != "2" || r.Status != "running" {
				t.Errorf("%s is %s on build %q", r.WorkflowID, r.Status, r.Build)
			}
		}
	})
}

// TestE150_AGreaterShareHasTheRunsOfASmallerOne, and another build gets others.
func TestE150_AGreaterShareHasTheRunsOfASmallerOne(t *testing.T) {
	const runs = 20_000
	var some, more, both int
	for i := range runs {
		id := fmt.Sprintf("order-%d", i)
		of := engine.OfShare("2", 1000, id)
		if of && !engine.OfShare("2", 3000, id) {
			t.Fatalf("%s is of a tenth, and not of three", id)
		}
		if of {
			some++
		}
		if engine.OfShare("2", 3000, id) {
			more++
		}
		if of && engine.OfShare("3", 1000, id) {
			both++
		}
		if engine.OfShare("2", 0, id) || !engine.OfShare("2", 10_000, id) {
			t.Fatalf("%s is of nothing, or not of all", id)
		}
	}
	for _, c := range []struct {
		n    int
		want float64
	}{{some, 0.1}, {more, 0.3}, {both, 0.01}} {
		if part := float64(c.n) / runs; math.Abs(part-c.want) > 0.01 {
			t.Errorf("of %d runs %d are of the share, want about %v of them", runs, c.n, c.want)
		}
	}
}

// TestE150_ACanaryLetsNothingWait: a run begins where it would without a canary if no live
// node of the right build has its workflow.
func TestE150_ACanaryLetsNothingWait(t *testing.T) {
	const runs = 12
	running := func(string) string { return "" }
	for name, c := range map[string]struct {
		percent float64
		build   string
		ends    func(c *canaryWorld)
	}{
		"no node was ever of the build": {100, "3", func(*canaryWorld) {}},
		"its node has stopped":          {100, "2", func(c *canaryWorld) { stop(c.t, c.b); c.b = c.a }},
		"its node has died":             {100, "2", func(c *canaryWorld) { c.kill(c.b); c.b = c.a }},
		"there is no other":             {0, "2", func(c *canaryWorld) { stop(c.t, c.a); c.a = c.b }},
	} {
		t.Run(name, func(t *testing.T) {
			inAGroup(t, func(t *testing.T, w *world) {
				world := twoBuilds(t, w)
				world.set(c.build, c.percent)
				c.ends(world)
				world.orders("order-%d", runs)
				pass(30 * time.Second)
				world.want("order-%d", runs, running)
				wantAll(t, world.c, "running", "order-%d", runs)
			})
		})
	}
}

// TestE150_RunsOfAPartitionGoToOneNode of the build, so that there are few wards, and all of
// its nodes get some.
func TestE150_RunsOfAPartitionGoToOneNode(t *testing.T) {
	inAGroup(t, func(t *testing.T, w *world) {
		const runs = 48
		c := twoBuilds(t, w)
		c.node("b2", "2")
		c.node("b3", "2")
		pass(time.Minute)
		c.set("2", 100)
		c.orders("order-%d", runs)
		c.want("order-%d", runs, byShare(100))
		at, of := map[int]string{}, map[string]int{}
		for i := range runs {
			id := fmt.Sprintf("order-%d", i)
			d := describe(t, c.c, id)
			if d.Away == "" {
				continue // its home is of the build
			}
			of[d.Away]++
			if p := engine.PartitionOf(c.a, id); at[p] == "" {
				at[p] = d.Away
			} else if at[p] != d.Away {
				t.Errorf("runs of partition %d began at %s and at %s", p, at[p], d.Away)
			}
		}
		if len(of) < 2 {
			t.Errorf("runs went to %v only", of)
		}
	})
}

// TestE150_WhereNothingMoves a canary is refused in words.
func TestE150_WhereNothingMoves(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		e := w.versionNode("a", "1", pinnedOrder("1"))
		_, err := e.SetCanary(t.Context(), "2", 10, false, request.By{})
		if moves := e.Info().Wards; moves != (err == nil) || err != nil && !strings.Contains(err.Error(), "on SQLite there is one node") {
			t.Errorf("runs move: %v; the canary: %v", moves, err)
		}
	})
}

// TestE150_WhateverWriteFails on the way of new runs to the node where they begin, at their
// home or there: the write, its answer, or the process with it. Each begins once and ends.
func TestE150_WhateverWriteFails(t *testing.T) {
	whateverWriteFails(t, needsNothing, 7, whateverFailsOfACanary)
}

func whateverFailsOfACanary(t *testing.T, w *world, k int, fault faulty.Fault, atHome bool) (hit bool) {
	const runs = 4
	c := twoBuilds(t, w)
	c.set("2", 100)
	at := w.plans[c.b]
	if atHome {
		at = w.plans[c.a]
	}
	k += at.Writes()
	at.At(k, fault)
	for i := range runs {
		begin(t, c.c, pinnedOrder("1"), fmt.Sprintf("order-%d", i), i)
		id := fmt.Sprintf("family-%d", i)
		begin(t, c.c, parentOf(pinnedOrder("1")), id, "of "+id)
	}
	all := []*engine.Engine{c.a, c.b, c.c}
	dead, build := c.b, "2"
	if atHome {
		dead, build = c.a, "1"
	}
	settle := func() { // and restart the node that the fault has ended
		for range 100 {
			pass(time.Second)
			select {
			case <-at.Crashed():
				if len(all) == 3 {
					w.kill(dead)
					all = append(all, c.node("again", build))
				}
			default:
			}
		}
	}
	settle()
	for i := range runs {
		signal(t, c.c, fmt.Sprintf("order-%d", i), "proceed", "", "now")
		signal(t, c.c, fmt.Sprintf("of family-%d", i), "proceed", "", "now")
	}
	settle()
	for _, format := range []string{"order-%d", "of family-%d", "family-%d"} {
		wantAll(t, c.c, "completed", format, runs)
	}
	hit = at.Writes() >= k
	at.Outage(false)
	for _, e := range all {
		if !hit && e != c.c {
			w.kill(e) // its fault is still to come
			continue
		}
		stop(t, e)
	}
	return hit
}
