package sim

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/store/memory"
)

// world is one simulated world: a database, processes that come and go, programs, and what is
// done to all of them.
type world struct {
	plan
	t       *testing.T
	dice    dice
	trace   *trace
	book    *book
	model   *model
	seen    *hearsay // what clients were told
	lease   time.Duration
	writing sync.Mutex // a verb that writes, and what the model makes of it, are one
	errands sync.WaitGroup
	copies  sync.WaitGroup // to other databases

	mu      sync.Mutex
	db      *memory.Database
	copying bool
	made    int     // databases
	nodes   []*node // all that there ever were
	alive   []*node // servers and workers
	client  *node
	away    time.Time // until then nobody reaches the database
	storm   storm
	calm    bool
	over    bool          // nobody begins to live any more
	ahead   time.Duration // the database's clock
	faults  []string
	marred  map[string]bool // workflow IDs whose programs need not come to what is expected
	rewound map[string]bool // those whose answers to clients need not fit together: they were reset, forked, skipped
	forks   []string
}

// storm is how often verbs fail at present.
type storm struct {
	oneIn  int // 0: never
	deadly bool
	until  time.Time
}

// complain notes what must not be.
func (w *world) complain(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.trace.explain("FAULT %s", text)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, text)
}

func (w *world) awayUntil() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.away
}

func (w *world) trouble() storm {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.calm || time.Now().After(w.storm.until) {
		return storm{}
	}
	return w.storm
}

// forgets reports whether processes delete runs that others continue.
func (w *world) forgets() bool { return w.dice.of("forgets").oneIn(6) }

func (w *world) isClient(n *node) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.client == n
}

func (w *world) isCalm() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calm
}

// wanted is what is expected of a program.
func (w *world) wanted(id string) expectation {
	for i := range w.programs {
		if o := &w.programs[i]; o.id == id {
			return o.job.expect()
		}
	}
	return expectation{}
}

// gone takes a process off the list of those alive.
func (w *world) gone(n *node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.alive = slices.DeleteFunc(w.alive, func(other *node) bool { return other == n })
}

func (w *world) clock() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.ahead).UnixNano()
}

// result is what came of a world.
type result struct {
	faults []string
	sum    uint64 // of its trace
	lines  int
	effort effort
}

// effort says how much happened.
type effort struct{ Runs, Bodies, Processes, Deaths int }

// play plays a world from its beginning to its end. It writes what happens to show, nil for no
// account.
func play(t *testing.T, p plan, show io.Writer) (r result) {
	t.Helper()
	var seen *world
	synctest.Test(t, func(t *testing.T) {
		cryptotest.SetGlobalRandom(t, p.seed)
		w := &world{plan: p, t: t, dice: dice(p.seed), marred: map[string]bool{}, rewound: map[string]bool{}}
		w.trace = &trace{begun: time.Now(), full: show}
		w.seen = &hearsay{begun: w.trace.begun, forgetful: w.forgets()}
		w.book, w.model = newBook(w.complain), newModel(w)
		w.lease = []time.Duration{3 * time.Second, 5 * time.Second, 10 * time.Second}[w.dice.of("lease").below(3)]
		w.db = w.newDatabase()
		w.run()
		seen = w
		r = result{faults: w.faults, sum: w.trace.sum, lines: w.trace.lines, effort: w.effort()}
	})
	r.faults = append(r.faults, seen.seen.check(seen.rewound)...)
	return r
}

func (e *effort) add(o effort) {
	e.Runs += o.Runs
	e.Bodies += o.Bodies
	e.Processes += o.Processes
	e.Deaths += o.Deaths
}

func (w *world) effort() (e effort) {
	e.Processes, e.Bodies, e.Runs = len(w.nodes), len(w.book.order), len(w.model.runs)
	for _, n := range w.nodes {
		if n.isDead() {
			e.Deaths++
		}
	}
	return e
}

// run lets the world run its course: first everything happens that can, then there is calm.
func (w *world) run() {
	w.reborn()
	for i := range w.servers {
		w.join(server, i)
	}
	if w.dice.of("worker").oneIn(2) {
		w.join(worker, 0)
	}
	var customers sync.WaitGroup
	for i := range w.programs {
		customers.Go(func() { w.order(&w.programs[i]) })
	}
	for i := range w.events {
		ev := &w.events[i]
		time.Sleep(time.Until(w.trace.begun.Add(ev.at)))
		w.happen(ev)
	}
	w.settle(&customers)
	for tries := 0; w.open() > 0 && tries < 20; tries++ { // what continues without a customer: what was reset, or a schedule
		time.Sleep(5 * time.Second)
		w.release()
	}
	w.judge()
	w.trace.end()
	w.end()
}

// settle ends all trouble, lets those live who are needed, and waits for all customers.
func (w *world) settle(customers *sync.WaitGroup) {
	w.mu.Lock()
	w.calm, w.away = true, time.Time{}
	for _, n := range w.nodes {
		n.mu.Lock()
		n.cut, n.frozen = time.Time{}, time.Time{}
		n.mu.Unlock()
	}
	w.mu.Unlock()
	w.trace.add(0, "calm", 0, 0, "")
	w.copies.Wait()
	w.lack(server, 0, func(n *node) bool { return n.role == server && n.build == buildOf(0) })
	w.lack(server, 1, func(n *node) bool { return n.role == server && n.build == buildOf(1) })
	w.lack(worker, 0, (*node).serves)
	served := make(chan struct{})
	w.errands.Go(func() {
		customers.Wait()
		close(served)
	})
	for wait := time.Second; ; wait += 5 * time.Second { // what was asked for before may be carried out late
		time.Sleep(wait)
		w.release()
		select {
		case <-served:
			return
		default:
		}
	}
}

// lack lets a process begin to live, unless there is one that does as well.
func (w *world) lack(r role, i int, like func(*node) bool) {
	w.mu.Lock()
	there := slices.ContainsFunc(w.alive, func(n *node) bool { return like(n) && !w.isReplaced(n) })
	w.mu.Unlock()
	if !there {
		w.join(r, i)
	}
}

// isReplaced reports whether another process may have come under the name of a process. The
// world's mu is held.
func (w *world) isReplaced(n *node) bool {
	return slices.ContainsFunc(w.nodes, func(o *node) bool {
		return o != n && o.name == n.name && (!o.isDead() || o.until.After(n.since))
	})
}

func buildOf(i int) string { return []string{"1", "2"}[i%2] }

// join lets a process begin to live, and again as long as it does not.
func (w *world) join(r role, i int) {
	name, build := fmt.Sprintf("n%d", i), buildOf(i)
	if r == worker {
		name = fmt.Sprintf("w%d", i)
	}
	w.mu.Lock()
	before := slices.IndexFunc(w.alive, func(n *node) bool { return n.name == name })
	var earlier *node
	if before >= 0 {
		earlier = w.alive[before]
	}
	w.mu.Unlock()
	if earlier != nil { // a process that is started again has the name of the one before
		earlier.die()
	}
	w.begin(w.born(r, name, build))
}

// again starts a process again that has died.
func (w *world) again(n *node) {
	w.errands.Go(func() {
		time.Sleep(time.Duration(200+n.dice.of("again").below(2000)) * time.Millisecond)
		w.mu.Lock()
		there := w.over || slices.ContainsFunc(w.alive, func(o *node) bool { return o.name == n.name && !w.isReplaced(o) })
		w.mu.Unlock()
		if !there {
			w.begin(w.born(n.role, n.name, n.build))
		}
	})
}

// begin lets a process begin to live, and others in its place for as long as it does not.
func (w *world) begin(n *node) {
	w.errands.Go(func() {
		for tries := 0; !n.live(context.Background()) && tries < 20; tries++ {
			time.Sleep(time.Second)
			w.mu.Lock()
			taken := slices.ContainsFunc(w.alive, func(other *node) bool { return other.name == n.name })
			over := w.over
			w.mu.Unlock()
			if taken || over {
				return
			}
			n = w.born(n.role, n.name, n.build)
		}
	})
}

// end ends all processes.
func (w *world) end() {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	w.mu.Lock()
	w.over = true
	w.mu.Unlock()
	for _, n := range slices.Clone(w.nodes) {
		n.mu.Lock()
		e := n.engine
		n.mu.Unlock()
		switch {
		case n.isDead():
		case e == nil: // it has not begun to live
			n.die()
		default:
			if err := e.Stop(now); err != nil {
				w.trace.explain("%s stops: %v", n, err)
			}
		}
	}
	w.errands.Wait()
	time.Sleep(time.Minute) // bodies that do not listen end
}
