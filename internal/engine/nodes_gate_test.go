package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

// porter is the independent book of a group of gates: it sees every turn in the
// order in which they become durable, and knows which attempts are in flight.
type porter struct {
	store.Opener
	limits map[string]int      // by gate
	gates  map[string][]string // by activity

	mu     sync.Mutex
	inside map[string]map[string]bool // by gate: call IDs
	most   map[string]int             // that were ever inside
	faults []string
}

func newPorter(db store.Opener, limits map[string]int, gates map[string][]string) *porter {
	p := &porter{Opener: db, limits: limits, gates: gates, inside: map[string]map[string]bool{}, most: map[string]int{}}
	for name := range limits {
		p.inside[name] = map[string]bool{}
	}
	return p
}

func (p *porter) Open(ctx context.Context) (store.Store, error) {
	s, err := p.Opener.Open(ctx)
	if err != nil {
		return nil, err
	}
	return attended{s, p}, nil
}

type attended struct {
	store.Store
	porter *porter
}

func (a attended) Commit(ctx context.Context, turns []store.Turn) (store.Result, error) {
	a.porter.mu.Lock()
	defer a.porter.mu.Unlock()
	result, err := a.Store.Commit(context.WithoutCancel(ctx), turns)
	for i := range turns {
		if err == nil && result.Errors[i] == nil {
			a.porter.see(&turns[i])
		}
	}
	return result, err
}

func (p *porter) see(t *store.Turn) {
	for _, number := range t.Closed {
		for _, inside := range p.inside {
			delete(inside, core.CallID(t.Run, number))
		}
	}
	for _, c := range t.Calls {
		for _, name := range p.gates[c.Name] {
			inside, id := p.inside[name], core.CallID(t.Run, c.Number)
			delete(inside, id)
			if c.State == store.Dispatched || c.State == store.External {
				inside[id] = true
			}
			if p.most[name] = max(p.most[name], len(inside)); len(inside) > p.limits[name] {
				p.faults = append(p.faults, fmt.Sprintf("%d attempts are in flight behind %s", len(inside), name))
			}
		}
	}
}

// crush is a workflow of calls through gates a, b and both.
type crush struct {
	porter      *porter
	definitions []any
	calls       []activity.Activity[int, int]
	flow        workflow.Workflow[int, int]
}

func (w *world) newCrush() *crush {
	x := &crush{porter: newPorter(w.db, map[string]int{"a": 3, "b": 2}, map[string][]string{"a": {"a"}, "b": {"b"}, "both": {"a", "b"}})}
	w.db = x.porter
	a := gate.New("a", 3)
	b := gate.New("b", 2, gate.WithMode(gate.Hold))
	policy := activity.Retry(retry.Policy{MaxAttempts: 1000, CrashLimit: 1000, Backoff: retry.Fixed(700 * time.Millisecond)})
	body := func(ctx context.Context, n int) (int, error) {
		info, _ := activity.FromContext(ctx)
		if err := busy(ctx, time.Duration(n%7)*100*time.Millisecond); err != nil {
			return 0, err
		}
		if n%4 == 1 && info.Attempt%2 == 1 {
			return 0, errUnlucky
		}
		return n + 1, nil
	}
	calls := []activity.Activity[int, int]{
		activity.New("a", body, policy, activity.Through(a)),
		activity.New("b", body, policy, activity.Through(b)),
		activity.New("both", body, policy, activity.Through(b, a)),
	}
	x.calls = calls
	x.flow = workflow.New("crush", func(wf *workflow.Context, n int) (int, error) {
		for i := range 4 {
			var err error
			if n, err = workflow.Call(wf, calls[(n+i)%3], n); err != nil {
				return 0, err
			}
		}
		return n, nil
	})
	x.definitions = []any{x.flow, calls[0], calls[1], calls[2]}
	return x
}

// judge makes sure that nobody is left at the gates, that the limits held, and that
// all of what they let pass was used.
func (x *crush) judge(t *testing.T, w *world) {
	t.Helper()
	x.judgeLeft(t, w)
	for name, limit := range x.porter.limits {
		if x.porter.most[name] != limit {
			t.Errorf("at most %d attempts were behind %s at a time, which lets %d pass", x.porter.most[name], name, limit)
		}
	}
}

func (x *crush) judgeLeft(t *testing.T, w *world) {
	t.Helper()
	x.porter.mu.Lock()
	defer x.porter.mu.Unlock()
	for _, f := range slices.Compact(x.porter.faults) {
		t.Error(f)
	}
	db, err := w.bare.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	gates, err := db.List(t.Context(), store.Filter{Status: []store.Status{store.Standing}})
	// An owner that lost its partition leaves its book of suspects to the next.
	gates = slices.DeleteFunc(gates, func(r store.Run) bool { return entity.KindOf(r.ID) != entity.Gate })
	if err != nil || len(gates) != len(x.porter.limits) {
		t.Fatalf("%d gates, %v", len(gates), err)
	}
	for _, g := range gates {
		tickets, err := db.Calls(t.Context(), g.Partition, g.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range tickets {
			if c.State == store.Noted {
				continue
			}
			t.Errorf("a ticket of %s is left: %s %s", g.ID, c.State, c.Data)
		}
	}
}

// TestR47_OneLimitOverAllNodes: nodes join, leave in good order and die while calls
// wait at gates; never are more attempts in flight than the gates let pass, all of
// what they let pass is used, and no run waits for ever.
func TestR47_OneLimitOverAllNodes(t *testing.T) {
	inAGroup(t, func(t *testing.T, w *world) {
		x := w.newCrush()
		a := w.node("n1", x.definitions...)
		b := w.node("n2", x.definitions...)
		client := w.open(w.config())
		const runs = 40
		for i := range runs {
			begin(t, client, x.flow, fmt.Sprint(i), i)
		}
		pass(3 * time.Second)
		c := w.node("n3", x.definitions...)
		pass(3 * time.Second)
		w.kill(a)
		pass(15 * time.Second)
		d := w.node("n4", x.definitions...)
		pass(2 * time.Second)
		if err := b.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := range runs {
			if got, err := finish[int](t, client, fmt.Sprint(i)); got != i+4 || err != nil {
				t.Errorf("run %d: %d, %v", i, got, err)
			}
		}
		pass(time.Second)
		x.judge(t, w)
		for _, e := range []*engine.Engine{c, d} {
			if err := e.Health(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestR47_Chaos: whatever happens to nodes and database, the limits hold, and when
// it is over all runs come to their end and nobody is left at a gate.
func TestR47_Chaos(t *testing.T) {
	for seed := range chaosSeeds() {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			inAGroupOf(t, []int{1, 5, 16}[seed%3], func(t *testing.T, w *world) {
				if seed%4 > 0 {
					w.tooMuchIfSlow()
				}
				w.playCrush(seed)
			})
		})
	}
}

func (w *world) playCrush(seed uint64) {
	t, x := w.t, w.newCrush()
	c := &chaos{world: w, random: rand.New(rand.NewPCG(seed, 2)), definitions: x.definitions, names: map[*engine.Engine]string{}}
	t.Cleanup(func() {
		if t.Failed() {
			for _, line := range c.log {
				t.Log(line)
			}
		}
	})
	c.join()
	c.join()
	client := w.open(w.config())
	const runs = 25
	for i := range runs {
		begin(t, client, x.flow, fmt.Sprint(i), i)
	}
	for range 20 {
		pass(time.Duration(c.random.IntN(3000)) * time.Millisecond)
		c.happen()
	}
	c.stops.Wait()
	for _, e := range w.engines() {
		w.plans[e].Outage(false)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for i := range runs {
		e := c.alive[c.random.IntN(len(c.alive))]
		if _, _, err := e.Result(ctx, fmt.Sprint(i), ""); err != nil {
			t.Errorf("run %d: %v: %+v", i, err, describe(t, client, fmt.Sprint(i)))
		}
	}
	if t.Failed() {
		return
	}
	for i := range runs {
		if got, err := finish[int](t, client, fmt.Sprint(i)); got != i+4 || err != nil {
			t.Errorf("run %d: %d, %v", i, got, err)
		}
	}
	pass(2 * time.Minute)
	x.judgeLeft(t, w) // calls through both gates hold one while they wait for the other
	for _, e := range w.engines() {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := e.Stop(ctx); err != nil {
			t.Logf("stop: %v", err)
		}
	}
}
