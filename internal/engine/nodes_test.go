package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/settings"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// node starts an engine under a name of its own.
func (w *world) node(name string, definitions ...any) *engine.Engine {
	w.t.Helper()
	c := w.config(definitions...)
	c.Node = name
	return w.startWith(c)
}

// shares says how many partitions each node has, by name; those that are gone and
// have none are left out.
func shares(t *testing.T, e *engine.Engine) string {
	t.Helper()
	nodes, err := e.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, n := range nodes {
		if n.State == "live" || n.State == "draining" || n.Partitions > 0 {
			count[n.Name] += n.Partitions
		}
	}
	var text []string
	for _, name := range slices.Sorted(maps.Keys(count)) {
		text = append(text, fmt.Sprint(name, ":", count[name]))
	}
	return strings.Join(text, " ")
}

func (w *world) wantShares(e *engine.Engine, want string) {
	w.t.Helper()
	if got := shares(w.t, e); got != want {
		w.t.Fatalf("the partitions are spread as %s, want %s", got, want)
	}
}

// errands is a workflow of some slow activities that keep a book of who ran them.
type errands struct {
	workflow workflow.Workflow[int, int]
	activity activity.Activity[int, int]

	mu   sync.Mutex
	runs map[string]int // by call ID
	took time.Duration
}

func newErrands(steps int, took time.Duration) *errands {
	x := &errands{runs: map[string]int{}, took: took}
	x.activity = activity.New("errand", func(ctx context.Context, n int) (int, error) {
		info, _ := activity.FromContext(ctx)
		if err := busy(ctx, x.took); err != nil {
			return 0, err
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		x.runs[info.CallID]++
		return n + 1, nil
	})
	x.workflow = workflow.New("errands", func(wf *workflow.Context, n int) (int, error) {
		for range steps {
			var err error
			if n, err = workflow.Call(wf, x.activity, n); err != nil {
				return n, err
			}
		}
		return n, nil
	})
	return x
}

// repeated are the calls that ran to their end more than once.
func (x *errands) repeated() (ids []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for id, n := range x.runs {
		if n > 1 {
			ids = append(ids, id)
		}
	}
	return ids
}

// TestE80_NodesShareTheWork: nodes that join and leave in good order move the work
// among them while it goes on; no attempt is lost or runs twice.
func TestE80_NodesShareTheWork(t *testing.T) {
	needsFencing.inAGroup(t, func(t *testing.T, w *world) {
		x := newErrands(20, 200*time.Millisecond)
		a := w.node("a", x.workflow, x.activity)
		w.wantShares(a, "a:16")
		const runs = 100
		client := w.open(w.config())
		for i := range runs {
			begin(t, client, x.workflow, fmt.Sprint(i), i)
		}
		b := w.node("b", x.workflow, x.activity)
		pass(2 * time.Second)
		w.wantShares(a, "a:8 b:8")
		c := w.node("c", x.workflow, x.activity)
		pass(2 * time.Second)
		if got := shares(t, a); !slices.Contains([]string{"a:5 b:6 c:5", "a:6 b:5 c:5", "a:5 b:5 c:6"}, got) {
			t.Fatalf("the partitions are spread as %s", got)
		}
		began := time.Now()
		if err := a.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %s to leave", took)
		}
		settle()
		w.wantShares(b, "b:8 c:8")
		for i := range runs {
			if got, err := finish[int](t, client, fmt.Sprint(i)); got != i+20 || err != nil {
				t.Errorf("run %d: %d, %v", i, got, err)
			}
		}
		if again := x.repeated(); len(again) > 0 {
			t.Errorf("%d attempts ran twice: %v", len(again), again)
		}
		for i := range runs {
			for _, at := range attemptsOf(t, client, fmt.Sprint(i)) {
				if at.Outcome != "completed" || at.Number != 1 {
					t.Errorf("run %d has the attempt %+v", i, at)
				}
			}
		}
		for _, e := range []*engine.Engine{b, c} {
			if err := e.Health(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestE80_LongAttemptsKeepTheirPlace: a partition in which an attempt runs for long
// is not torn away from it to make shares even, and its other runs go on.
func TestE80_LongAttemptsKeepTheirPlace(t *testing.T) {
	inAGroupOf(t, 2, func(t *testing.T, w *world) {
		long, short := newErrands(1, time.Hour), newErrands(3, time.Second)
		patient := workflow.New("patient", func(wf *workflow.Context, n int) (int, error) {
			return workflow.Call(wf, activity.Declare[int, int]("long"), n)
		})
		hour := activity.New("long", func(ctx context.Context, n int) (int, error) {
			return n, busy(ctx, long.took)
		})
		all := []any{patient, hour, short.workflow, short.activity}
		a := w.node("a", all...)
		for i := range 8 { // some in each partition
			begin(t, a, patient, fmt.Sprint("long ", i), i)
		}
		settle()
		w.node("b", all...)
		pass(5 * time.Minute)
		w.wantShares(a, "a:2 b:0")
		for i := range 8 {
			if got := complete(t, a, short.workflow, fmt.Sprint("short ", i), 0); got != 3 {
				t.Errorf("got %d", got)
			}
		}
		pass(time.Hour)
		w.wantShares(a, "a:1 b:1")
		for i := range 8 {
			if at := attemptsOf(t, a, fmt.Sprint("long ", i)); len(at) != 1 || at[0].Outcome != "completed" {
				t.Errorf("run %d has the attempts %+v", i, at)
			}
		}
	})
}

// TestE80_TakeoverWithinTheLease: the work of a node that died goes on elsewhere
// when its lease has run out, not later, and not earlier.
func TestE80_TakeoverWithinTheLease(t *testing.T) {
	needsFencing.inAGroup(t, func(t *testing.T, w *world) {
		x := newErrands(5, time.Second)
		a, b := w.node("a", x.workflow, x.activity), w.node("b", x.workflow, x.activity)
		pass(5 * time.Second)
		w.wantShares(b, "a:8 b:8")
		for i := range 40 {
			begin(t, b, x.workflow, fmt.Sprint(i), i)
		}
		pass(1500 * time.Millisecond)
		w.kill(a)
		pass(6 * time.Second)
		w.wantShares(b, "a:8 b:8") // it may be alive
		pass(4 * time.Second)
		w.wantShares(b, "b:16")
		for i := range 40 {
			if got, err := finish[int](t, b, fmt.Sprint(i)); got != i+5 || err != nil {
				t.Errorf("run %d: %d, %v", i, got, err)
			}
		}
	})
}

// TestE7_CutOffNodeIsFenced: a node that cannot reach the database for longer than
// its lease loses its work to another; when it is back, nothing it had under way
// is written or answered, its bodies are told, and it gets a share again.
func TestE7_CutOffNodeIsFenced(t *testing.T) {
	needsFencing.inAGroup(t, func(t *testing.T, w *world) {
		type end struct {
			node string
			err  error
		}
		var mu sync.Mutex
		var ends []end
		definitions := func(node string) []any {
			work := activity.New("work", func(ctx context.Context, n int) (string, error) {
				err := busy(ctx, 30*time.Second)
				mu.Lock()
				defer mu.Unlock()
				ends = append(ends, end{node, context.Cause(ctx)})
				return node, err
			})
			return []any{work, workflow.New("work", func(wf *workflow.Context, n int) (string, error) {
				return workflow.Call(wf, work, n)
			})}
		}
		flow := workflow.Declare[int, string]("work")
		a := w.node("a", definitions("a")...)
		const runs = 12
		for i := range runs {
			begin(t, a, flow, fmt.Sprint(i), i)
		}
		answers := make(chan error, runs)
		for i := range runs {
			go func() {
				_, _, err := a.Result(t.Context(), fmt.Sprint(i), "")
				answers <- err
			}()
		}
		pass(time.Second)
		w.plans[a].Outage(true)
		b := w.node("b", definitions("b")...)
		pass(15 * time.Second)
		w.wantShares(b, "b:16")
		if err := a.Health(); err == nil || !strings.Contains(err.Error(), "lease") {
			t.Errorf("the node that is cut off says %v", err)
		}
		w.plans[a].Outage(false)
		pass(2 * time.Second)
		mu.Lock()
		if len(ends) != runs {
			t.Errorf("%d bodies were told that their work was taken, want %d", len(ends), runs)
		}
		for _, e := range ends {
			if e.node != "a" || !errors.Is(e.err, store.ErrFenced) {
				t.Errorf("a body on %s ended with %v", e.node, e.err)
			}
		}
		mu.Unlock()
		select {
		case err := <-answers:
			t.Errorf("it was answered: %v", err)
		default:
		}
		for i := range runs {
			got, err := finish[string](t, b, fmt.Sprint(i))
			if err != nil {
				t.Errorf("run %d: %v", i, err)
			}
			// Those that waited for the probation lane may have moved back.
			at := attemptsOf(t, b, fmt.Sprint(i))
			if len(at) != 2 || at[0].Outcome != "lost" || !strings.HasPrefix(at[0].Node, "a/") || at[1].Outcome != "completed" || !strings.HasPrefix(at[1].Node, got+"/") {
				t.Errorf("run %d gave %q after the attempts %+v", i, got, at)
			}
		}
		for range runs {
			if err := <-answers; err != nil {
				t.Error(err)
			}
		}
		pass(5 * time.Second)
		w.wantShares(a, "a:8 b:8")
		if err := a.Health(); err != nil {
			t.Error(err)
		}
	})
}

// TestE3_LeaseLossIsNoCrash: losing the lease while a call is on probation, again
// and again, never quarantines it, as long as the nodes turn out to have survived.
func TestE3_LeaseLossIsNoCrash(t *testing.T) {
	needsFencing.inAGroupOf(t, 1, func(t *testing.T, w *world) {
		took := time.Hour
		work := activity.New("work", func(ctx context.Context, n int) (int, error) {
			return n, busy(ctx, took)
		}, activity.Retry(retry.Policy{CrashLimit: 2}))
		flow := calls(work)
		nodes := []*engine.Engine{w.node("a", flow, work)}
		begin(t, nodes[0], flow, "run", 1)
		settle()
		nodes = append(nodes, w.node("b", flow, work))
		for k := range 6 {
			from := nodes[k%2]
			w.plans[from].Outage(true)
			pass(20 * time.Second)
			w.plans[from].Outage(false)
			pass(20 * time.Second)
			if p := onlyCall(t, nodes[0], "run"); p.State != "running" || p.Attempt != k+2 {
				t.Fatalf("after %d losses of the lease the call is %+v", k+1, p)
			}
		}
		took = 0
		w.plans[nodes[0]].Outage(true)
		pass(20 * time.Second)
		if got, err := finish[int](t, nodes[1], "run"); got != 1 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
	})
}

// TestE83_OutageMovesNothing: when the database itself is away for longer than all
// leases, the nodes keep their partitions, and what runs goes on.
func TestE83_OutageMovesNothing(t *testing.T) {
	needsFencing.inAGroup(t, func(t *testing.T, w *world) {
		x := newErrands(3, 40*time.Second)
		a, b := w.node("a", x.workflow, x.activity), w.node("b", x.workflow, x.activity)
		pass(5 * time.Second)
		for i := range 20 {
			begin(t, a, x.workflow, fmt.Sprint(i), i)
		}
		pass(time.Second)
		w.plans[a].Outage(true)
		w.plans[b].Outage(true)
		pass(time.Minute)
		w.plans[a].Outage(false)
		pass(300 * time.Millisecond) // who comes back first waits for the other
		w.plans[b].Outage(false)
		pass(3 * time.Second)
		w.wantShares(a, "a:8 b:8")
		for i := range 20 {
			if got, err := finish[int](t, b, fmt.Sprint(i)); got != i+3 || err != nil {
				t.Errorf("run %d: %d, %v", i, got, err)
			}
			if at := attemptsOf(t, b, fmt.Sprint(i)); len(at) != 3 {
				t.Errorf("run %d has %d attempts, want 3", i, len(at))
			}
		}
	})
}

// TestE7_TwoProcessesWithOneName: the later process has the name; its predecessor is fenced
// immediately and reports it.
func TestE7_TwoProcessesWithOneName(t *testing.T) {
	needsFencing.inAGroup(t, func(t *testing.T, w *world) {
		x := newErrands(5, time.Second)
		first := w.node("same", x.workflow, x.activity)
		for i := range 20 {
			begin(t, first, x.workflow, fmt.Sprint(i), i)
		}
		pass(1500 * time.Millisecond)
		second := w.node("same", x.workflow, x.activity)
		w.wantShares(second, "same:16")
		settle()
		if err := first.Health(); err == nil || !strings.Contains(err.Error(), `"same"`) {
			t.Errorf("the first says %v", err)
		}
		for i := range 20 {
			if got, err := finish[int](t, second, fmt.Sprint(i)); got != i+5 || err != nil {
				t.Errorf("run %d: %d, %v", i, got, err)
			}
		}
		pass(time.Minute)
		w.wantShares(second, "same:16")
	})
}

// TestE7_TwoProcessesWithOneID: a copy of a running process (a machine restored
// from a snapshot) shares its identity; one of them gives way, and goes on under
// another.
func TestE7_TwoProcessesWithOneID(t *testing.T) {
	needsFencing.inAGroup(t, func(t *testing.T, w *world) {
		x := newErrands(30, time.Second)
		config := func() settings.Engine {
			c := w.config(x.workflow, x.activity)
			c.Node, c.Supersede = "copied", false
			return c
		}
		first := w.startWith(config())
		for i := range 20 {
			begin(t, first, x.workflow, fmt.Sprint(i), i)
		}
		second := w.open(config())
		settle() // the first has renewed its lease
		engine.CopyIdentity(second, first)
		err := second.Start(t.Context())
		if errors.Is(err, store.ErrReplaced) {
			err = second.Start(t.Context()) // the first was quicker to show that it lives
		}
		if err != nil {
			t.Fatal(err)
		}
		pass(20 * time.Second)
		w.wantShares(first, "copied:16")
		nodes, err := first.Nodes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		live := 0
		for _, n := range nodes {
			if n.State == "live" {
				live++
			}
		}
		if live != 2 {
			t.Errorf("the nodes are %+v, want two live ones", nodes)
		}
		for i := range 20 {
			if got, err := finish[int](t, second, fmt.Sprint(i)); got != i+30 || err != nil {
				t.Errorf("run %d: %d, %v", i, got, err)
			}
		}
	})
}

// TestE80_ALiveNodeIsSeen: a live node is never reported as silent for long, even where it
// writes no renewals because no other node needs them.
func TestE80_ALiveNodeIsSeen(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		e := w.node("idle")
		pass(time.Hour)
		nodes, err := e.Nodes(t.Context())
		if err != nil || len(nodes) != 1 {
			t.Fatalf("%+v, %v", nodes, err)
		}
		silence := time.Unix(0, w.clock()).Sub(nodes[0].Seen)
		if n := nodes[0]; n.State != "live" || silence < 0 || n.Expires == nil && silence > time.Second {
			t.Errorf("%+v, silent for %s", nodes[0], silence)
		}
	})
}

// TestGroupsAreApart: a workflow ID means another run in each group, and nodes
// serve the runs of their own.
func TestGroupsAreApart(t *testing.T) {
	needsFencing.inAGroup(t, func(t *testing.T, w *world) {
		flow := workflow.Declare[int, string]("who")
		node := func(group string) *engine.Engine {
			c := w.config(workflow.New("who", func(wf *workflow.Context, n int) (string, error) {
				return group, workflow.Sleep(wf, time.Minute)
			}))
			c.Node, c.Group = "node of "+group, group
			return w.startWith(c)
		}
		red, blue := node("red"), node("blue")
		for i := range 10 {
			begin(t, red, flow, fmt.Sprint(i), i)
			begin(t, blue, flow, fmt.Sprint(i), i)
		}
		stop(t, blue)
		for i := range 10 {
			if got, err := finish[string](t, red, fmt.Sprint(i)); got != "red" || err != nil {
				t.Errorf("run %d: %q, %v", i, got, err)
			}
		}
		if counts, err := red.Counts(t.Context(), 0); err != nil || counts.Runs["completed"] != 10 || counts.Runs["running"] != 0 {
			t.Errorf("the red group counts %+v, %v", counts, err)
		}
		list, err := red.List(t.Context(), view.Filter{})
		if err != nil || len(list) != 10 {
			t.Errorf("the red group lists %d runs, %v", len(list), err)
		}
		client := w.config()
		client.Group = "blue"
		late := w.open(client)
		begin(t, late, flow, "late", 1)
		pass(time.Hour)
		if d := describe(t, late, "late"); d.Status != "running" {
			t.Errorf("a run of a group without nodes is %s", d.Status)
		}
		node("blue")
		for _, id := range []string{"0", "9", "late"} {
			if got, err := finish[string](t, late, id); got != "blue" || err != nil {
				t.Errorf("run %s: %q, %v", id, got, err)
			}
		}
	})
}
