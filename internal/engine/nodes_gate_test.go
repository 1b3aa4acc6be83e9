package engine_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/storetest"
	"github.com/perdure/perdure/workflow"
)

// porter is the independent book of a group of gates: it sees every turn in the
// order in which they become durable, and knows which attempts are in flight.
type porter struct {
	store.Opener
	limits map[string]int      // by gate
	gates  map[string][]string // by activity

	mu     sync.Mutex
	rows   map[string]storetest.CallRows
	inside map[string]map[string]bool // by gate: call IDs
	most   map[string]int             // that were ever inside
	faults []string

	calm  bool             // nothing keeps nodes and messages from their work
	slots map[string]*slot // by gate and call: those that are held
}

// slot is what a call holds of a gate.
type slot struct {
	attempt, returns int
	since            time.Time
	times            int // that the call gave back what it held in order
	used             bool
}

func newPorter(db store.Opener, limits map[string]int, gates map[string][]string) *porter {
	p := &porter{Opener: db, limits: limits, gates: gates, rows: map[string]storetest.CallRows{}, inside: map[string]map[string]bool{}, most: map[string]int{}, slots: map[string]*slot{}}
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
	if entity.KindOf(t.Run) == entity.Gate {
		p.seeGate(t)
		return
	}
	if p.rows[t.Run] == nil {
		p.rows[t.Run] = storetest.CallRows{}
	}
	said, gone := p.rows[t.Run].Take(t)
	for _, number := range gone {
		for _, inside := range p.inside {
			delete(inside, core.CallID(t.Run, number))
		}
	}
	for _, c := range said {
		for _, name := range p.gates[c.Name] {
			inside, id := p.inside[name], core.CallID(t.Run, c.Number)
			delete(inside, id)
			p.seeUse(name, id, &c)
			if c.State == store.Dispatched || c.State == store.External {
				inside[id] = true
			}
			if p.most[name] = max(p.most[name], len(inside)); len(inside) > p.limits[name] {
				p.faults = append(p.faults, fmt.Sprintf("%d attempts are in flight behind %s", len(inside), name))
			}
		}
	}
}

// seeGate notes which slots are held, and since when.
func (p *porter) seeGate(t *store.Turn) {
	for _, c := range t.Calls {
		ticket, err := core.DecodeTicket(c.Data)
		if err != nil {
			p.faults = append(p.faults, err.Error())
			continue
		}
		key := entity.NameOf(t.Run) + core.CallID(ticket.Key.Run, ticket.Key.Call)
		was := p.slots[key]
		switch {
		case c.State != store.TicketHolding:
			delete(p.slots, key)
		case was == nil || was.attempt != ticket.Attempt || was.returns != ticket.Returns:
			p.slots[key] = &slot{attempt: ticket.Attempt, returns: ticket.Returns, since: time.Now()}
		}
	}
}

// seeUse notes that a call uses what it holds, or wants to: it has all its gates. In calm
// times it did not keep the slot for longer than it may.
func (p *porter) seeUse(gate, id string, c *store.Call) {
	s := p.slots[gate+id]
	if s == nil || s.used || c.Attempt != s.attempt {
		return
	}
	if s.used = c.State != store.Gated; !s.used {
		progress, err := core.DecodeProgress(c.Data)
		if err != nil {
			p.faults = append(p.faults, err.Error())
			return
		}
		s.times = progress.Returned
	}
	most := gates.Patience(core.Patience, true, s.times) + time.Second // for messages
	if idle := time.Since(s.since); p.calm && idle > most {
		p.faults = append(p.faults, fmt.Sprintf("%s held %s for %s in vain, and gave back %d times", id, gate, idle, s.times))
	}
}

// slowFrom is the number from which attempts of a crush last for seconds.
const slowFrom = 1000

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
		length := time.Duration(n%7) * 100 * time.Millisecond
		if n >= slowFrom {
			length *= 20
		}
		if err := busy(ctx, length); err != nil {
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
	all, err := db.List(t.Context(), store.Filter{Status: []store.Status{store.Standing}})
	// An owner that lost its partition leaves its book of suspects to the next.
	all = slices.DeleteFunc(all, func(r store.Run) bool { return entity.KindOf(r.ID) != entity.Gate })
	if err != nil || len(all) != len(x.porter.limits) {
		t.Fatalf("%d gates, %v", len(all), err)
	}
	for _, g := range all {
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
	needsFencing.inAGroup(t, func(t *testing.T, w *world) {
		x := w.newCrush()
		a := w.node("n1", x.definitions...)
		b := w.node("n2", x.definitions...)
		client := w.open(w.config())
		runs := 40
		if w.in.onDisk {
			runs = extent.AtNight(20, runs)
		}
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
		x.again(t, w, client, c, d)
		x.judgeLeft(t, w)
	})
}

// again lets more runs come when nothing happens any more. Then no call keeps one gate for
// longer than it may while it waits for another.
func (x *crush) again(t *testing.T, w *world, client *engine.Engine, before ...*engine.Engine) {
	x.porter.mu.Lock()
	clear(x.porter.most)
	clear(x.porter.slots)
	x.porter.calm = true
	x.porter.mu.Unlock()
	for i := range 2 {
		w.node(fmt.Sprint("late", i), x.definitions...)
	}
	pass(time.Minute)
	for _, e := range before { // calls of a node with few slots keep their gates in its queue
		if err := e.Stop(t.Context()); err != nil {
			t.Logf("stop: %v", err)
		}
	}
	pass(time.Minute)
	const runs = 40
	for i := range runs {
		begin(t, client, x.flow, fmt.Sprint("again", i), slowFrom+i)
	}
	for i := range runs {
		if got, err := finish[int](t, client, fmt.Sprint("again", i)); got != slowFrom+i+4 || err != nil {
			t.Errorf("run %d: %d, %v", i, got, err)
		}
	}
	pass(time.Minute)
}
