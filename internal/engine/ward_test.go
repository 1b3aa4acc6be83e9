package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/workflow"
)

// What runs do by each version.
const (
	didOld = "old;more;old last;"
	didNew = "new;new last;"
)

// twoVersions are two versions of a program, and a book of what their activities did.
type twoVersions struct {
	old, new, only workflow.Workflow[int, int]
	mark           activity.Activity[string, int]

	mu   sync.Mutex
	done map[string]int
}

func newTwoVersions() *twoVersions {
	v := &twoVersions{done: map[string]int{}}
	v.mark = activity.New("mark", func(ctx context.Context, what string) (int, error) {
		info, _ := activity.FromContext(ctx)
		v.mu.Lock()
		defer v.mu.Unlock()
		v.done[info.WorkflowID+" "+what]++
		return 1, nil
	})
	step := func(wf *workflow.Context, what string) error {
		_, err := workflow.Call(wf, v.mark, what)
		return err
	}
	begins := func(first ...string) func(wf *workflow.Context, n int) (int, error) {
		return func(wf *workflow.Context, n int) (int, error) {
			for _, what := range first {
				if err := step(wf, what); err != nil {
					return 0, err
				}
			}
			if _, err := workflow.Receive(wf, proceed); err != nil {
				return 0, err
			}
			return n, step(wf, first[0]+" last")
		}
	}
	v.old, v.new = workflow.New("order", begins("old", "more")), workflow.New("order", begins("new"))
	v.only = workflow.New("only", begins("only"))
	return v
}

// nothing is the code of nodes that know no other workflow.
var nothing = workflow.New("nothing", func(*workflow.Context, int) (int, error) { return 0, nil })

func (w *world) versionNode(name, build string, definitions ...any) *engine.Engine {
	w.t.Helper()
	c := w.config(definitions...)
	c.Node, c.Build = name, build
	return w.startWith(c)
}

// wantOnce says that nothing was done twice, and the runs of a kind did what one of the
// versions does.
func (v *twoVersions) wantOnce(t *testing.T, format string, n int, versions ...string) {
	t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	for what, times := range v.done {
		if times != 1 {
			t.Errorf("%q was done %d times", what, times)
		}
	}
	for i := range n {
		id, did := fmt.Sprintf(format, i), ""
		for _, what := range []string{"old", "more", "old last", "new", "new last", "only", "only last"} {
			if v.done[id+" "+what] > 0 {
				did += what + ";"
			}
		}
		if !slices.Contains(versions, did) {
			t.Errorf("run %s did %q, want one of %q", id, did, versions)
		}
	}
}

func wantAll(t *testing.T, e *engine.Engine, status, format string, n int) {
	t.Helper()
	for i := range n {
		if d := describe(t, e, fmt.Sprintf(format, i)); string(d.Status) != status {
			t.Errorf("run %d is %s: %s", i, d.Status, d.Reason)
		}
	}
}

// TestE117_ARollingDeployParksNothing: two versions side by side, runs in flight of both.
func TestE117_ARollingDeployParksNothing(t *testing.T) {
	needsFencing.inAGroup(t, func(t *testing.T, w *world) {
		const runs = 12
		v := newTwoVersions()
		a := w.versionNode("a", "1", v.old, v.mark)
		for i := range runs {
			begin(t, a, v.old, fmt.Sprintf("old-%d", i), i)
		}
		pass(time.Second)
		b := w.versionNode("b", "2", v.new, v.only, v.mark)
		pass(time.Minute)
		wantAll(t, a, "running", "old-%d", runs)
		for i := range runs {
			begin(t, b, v.new, fmt.Sprintf("new-%d", i), i)
			begin(t, b, v.only, fmt.Sprintf("only-%d", i), i)
		}
		pass(2 * time.Second)
		wantAll(t, a, "running", "new-%d", runs)
		wantAll(t, a, "running", "only-%d", runs)
		for i := range runs {
			for _, id := range []string{"old", "new", "only"} {
				signal(t, []*engine.Engine{a, b}[i%2], fmt.Sprintf("%s-%d", id, i), "proceed", "", "now")
			}
		}
		pass(2 * time.Second)
		for _, id := range []string{"old", "new", "only"} {
			wantAll(t, b, "completed", id+"-%d", runs)
		}
		v.wantOnce(t, "old-%d", runs, didOld)
		v.wantOnce(t, "new-%d", runs, didOld, didNew)
		v.wantOnce(t, "only-%d", runs, "only;only last;")
	})
}

// apart are runs of an old version in a group of two nodes: those in partitions of the new
// one are away at the old.
func apart(t *testing.T, w *world, runs int) (v *twoVersions, a, b *engine.Engine) {
	t.Helper()
	v = newTwoVersions()
	a = w.versionNode("a", "1", v.old, v.mark)
	for i := range runs {
		begin(t, a, v.old, fmt.Sprintf("old-%d", i), i)
	}
	pass(time.Second)
	b = w.versionNode("b", "2", v.new, v.mark)
	pass(time.Minute)
	for i := range runs {
		signal(t, b, fmt.Sprintf("old-%d", i), "ignored", "", "now") // they are loaded, and move
	}
	pass(2 * time.Second)
	wantAll(t, a, "running", "old-%d", runs)
	return v, a, b
}

// TestE117_WhatIsAskedOfARunThatIsAway reaches it: signals, queries, results, cancellation
// and termination, from either node and from a client.
func TestE117_WhatIsAskedOfARunThatIsAway(t *testing.T) {
	inAGroup(t, func(t *testing.T, w *world) {
		const runs = 12
		v, a, b := apart(t, w, runs)
		c := w.open(w.config())
		for i := range runs {
			id := fmt.Sprintf("old-%d", i)
			from := []*engine.Engine{a, b, c}[i%3]
			switch i / 3 {
			case 0:
				if err := from.Terminate(t.Context(), id, "", request.By{Why: "enough"}); err != nil {
					t.Error(err)
				}
			case 1:
				if err := from.Cancel(t.Context(), id, "", request.By{Why: "enough"}); err != nil {
					t.Error(err)
				}
			default:
				told := make(chan error, 1)
				go func() { _, err := finish[int](t, from, id); told <- err }()
				pass(time.Second)
				signal(t, from, id, "proceed", "", "now")
				pass(2 * time.Second)
				select {
				case err := <-told:
					if err != nil {
						t.Errorf("the result of run %d is %v", i, err)
					}
				default:
					t.Errorf("run %d has no result: %s", i, describe(t, from, id).Status)
				}
			}
		}
		pass(2 * time.Second)
		for i := range runs {
			want := []string{"terminated", "canceled", "completed", "completed"}[i/3]
			if d := describe(t, c, fmt.Sprintf("old-%d", i)); string(d.Status) != want {
				t.Errorf("run %d is %s, not %s", i, d.Status, want)
			}
		}
		v.wantOnce(t, "old-%d", runs, didOld, "old;more;")
	})
}

// TestE117_WhenANodeDies, the runs that were away there go on at another node that has
// their code, or are parked if none has, until one comes.
func TestE117_WhenANodeDies(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, w *world, e *engine.Engine){
		"stopped": func(t *testing.T, _ *world, e *engine.Engine) { stop(t, e) },
		"killed":  func(_ *testing.T, w *world, e *engine.Engine) { w.kill(e) },
	} {
		for which, both := range map[string][2]string{"away": {"a", "running"}, "last away": {"a", "parked"}, "home": {"b", "running"}} {
			t.Run(name+" "+which, func(t *testing.T) {
				needsFencing.inAGroup(t, func(t *testing.T, w *world) {
					const runs = 12
					v, a, b := apart(t, w, runs)
					rest, gone := b, a
					if which == "away" {
						w.versionNode("a2", "1", v.old, v.mark)
						pass(time.Minute)
					}
					if which == "home" {
						rest, gone = a, b
					}
					end(t, w, gone)
					pass(2 * time.Minute)
					for i := range runs {
						signal(t, rest, fmt.Sprintf("old-%d", i), "ignored", "", "again")
					}
					pass(2 * time.Second)
					wantAll(t, rest, both[1], "old-%d", runs)
					if which == "last away" {
						w.versionNode("a2", "1", v.old, v.mark)
						pass(2 * time.Second)
						wantAll(t, rest, "running", "old-%d", runs)
					}
					for i := range runs {
						signal(t, rest, fmt.Sprintf("old-%d", i), "proceed", "", "now")
					}
					pass(time.Minute)
					wantAll(t, rest, "completed", "old-%d", runs)
					v.wantOnce(t, "old-%d", runs, didOld)
				})
			})
		}
	}
}

// TestE117_NothingMovesWhileItsAttemptRuns here: a run that is held while an attempt of it
// runs stays until that has ended, and goes on elsewhere with its result.
func TestE117_NothingMovesWhileItsAttemptRuns(t *testing.T) {
	inAGroup(t, func(t *testing.T, w *world) {
		const runs = 6
		var mu sync.Mutex
		begun, ended := map[string]int{}, map[string]int{}
		count := func(book map[string]int, ctx context.Context) {
			info, _ := activity.FromContext(ctx)
			mu.Lock()
			defer mu.Unlock()
			book[info.WorkflowID+" "+info.Activity]++
		}
		long := activity.New("long", func(ctx context.Context, n int) (int, error) {
			count(begun, ctx)
			if err := busy(ctx, 40*time.Second); err != nil {
				return 0, err
			}
			count(ended, ctx)
			return n, nil
		})
		short := activity.New("short", func(ctx context.Context, n int) (int, error) { count(ended, ctx); return n + 1, nil })
		version := func(first activity.Activity[int, int]) workflow.Workflow[int, int] {
			return workflow.New("order", func(wf *workflow.Context, n int) (int, error) {
				if _, err := workflow.Call(wf, first, n); err != nil {
					return 0, err
				}
				return workflow.Call(wf, short, n)
			})
		}
		older, newer := version(long), version(short)
		a := w.versionNode("a", "1", older, long, short)
		for i := range runs {
			begin(t, a, older, fmt.Sprintf("run-%d", i), i)
		}
		pass(time.Second)
		w.kill(a)
		b := w.versionNode("b", "2", newer, long, short)
		pass(20 * time.Second)
		wantAll(t, b, "parked", "run-%d", runs) // and what was under way is tried again
		w.versionNode("a2", "1", older, long, short)
		pass(5 * time.Second)
		for i := range runs {
			id := fmt.Sprintf("run-%d", i)
			if d := describe(t, b, id); d.Away != "" {
				t.Errorf("run %d went to %s while an attempt of it runs", i, d.Away)
			}
		}
		pass(30 * time.Second)
		wantAll(t, b, "completed", "run-%d", runs)
		mu.Lock()
		defer mu.Unlock()
		for i := range runs {
			id := fmt.Sprintf("run-%d", i)
			if began, l, s := begun[id+" long"], ended[id+" long"], ended[id+" short"]; began != 2 || l != 1 || s != 1 {
				t.Errorf("of run %d long began %d times and ended %d times, and short ended %d times", i, began, l, s)
			}
		}
	})
}

// TestE117_VersionsComeAndGo: nodes of three versions come, go and are killed while runs
// with children, timers, retries and successors are in flight. Every run ends, and nothing
// is done twice that was not lost with a node.
func TestE117_VersionsComeAndGo(t *testing.T) {
	inAGroup(t, func(t *testing.T, w *world) {
		for seed := range uint64(3) {
			w.anew()
			versionsComeAndGo(t, w, rand.New(rand.NewPCG(seed, 117)))
		}
	})
}

func versionsComeAndGo(t *testing.T, w *world, random *rand.Rand) {
	var mu sync.Mutex
	done := map[string]int{}
	work := activity.New("work", func(ctx context.Context, n int) (int, error) {
		info, _ := activity.FromContext(ctx)
		if info.Attempt == 1 && n%5 == 0 {
			return 0, errors.New("not yet")
		}
		if err := busy(ctx, 300*time.Millisecond); err != nil {
			return 0, err
		}
		mu.Lock()
		defer mu.Unlock()
		done[info.CallID]++
		return n + 1, nil
	})
	version := func(steps int) []any {
		leaf := workflow.New("leaf", func(wf *workflow.Context, n int) (int, error) {
			for range steps {
				if _, err := workflow.Call(wf, work, n); err != nil {
					return 0, err
				}
				if err := workflow.Sleep(wf, time.Second); err != nil {
					return 0, err
				}
			}
			return steps, nil
		})
		var tree workflow.Workflow[int, int]
		tree = workflow.New("tree", func(wf *workflow.Context, n int) (int, error) {
			for range steps {
				if _, err := workflow.Call(wf, work, n); err != nil {
					return 0, err
				}
			}
			got, err := workflow.RunChild(wf, leaf, n)
			if err != nil || n >= 100 {
				return got, err
			}
			return workflow.ContinueAsNew(wf, tree, n+100)
		})
		return []any{leaf, tree, work}
	}
	versions := [][]any{version(1), version(2), version(3)}
	type node struct {
		*engine.Engine
		version int
	}
	var nodes []node
	join := func(v int) {
		nodes = append(nodes, node{w.versionNode(fmt.Sprint("n", len(nodes), "-", random.Uint32()), fmt.Sprint(v), versions[v]...), v})
	}
	join(0)
	join(1)
	join(2)
	const runs = 40
	for i := range runs {
		e := nodes[random.IntN(len(nodes))]
		begin(t, e.Engine, versions[e.version][1].(workflow.Workflow[int, int]), fmt.Sprintf("tree-%d", i), i%7)
		pass(time.Duration(random.IntN(200)) * time.Millisecond)
		if i%5 == 4 { // one goes, another of its version comes, before or after
			at := random.IntN(len(nodes))
			n := nodes[at]
			nodes = append(nodes[:at], nodes[at+1:]...)
			first := random.IntN(2) == 0
			if first {
				join(n.version)
			}
			if random.IntN(2) == 0 {
				w.kill(n.Engine)
			} else {
				stop(t, n.Engine)
			}
			if !first {
				join(n.version)
			}
		}
	}
	pass(5 * time.Minute)
	wantAll(t, nodes[0].Engine, "completed", "tree-%d", runs)
	mu.Lock()
	defer mu.Unlock()
	for call, n := range done {
		if n > 1 {
			t.Errorf("%s was done %d times", call, n)
		}
	}
	if len(done) < runs*2 {
		t.Errorf("%d calls were made", len(done))
	}
	for _, n := range nodes {
		stop(t, n.Engine)
	}
}
