package sim

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/internal/settings"
	"github.com/perdure/perdure/view"
)

// node is a process: one that serves runs, one that serves the queue, or a client.
type node struct {
	*world
	number int
	dice   dice
	role   role
	name   string
	build  string
	engine *engine.Engine // once it lives
	since  time.Time
	until  time.Time // zero while it is not dead

	mu     sync.Mutex
	count  map[question]int
	died   chan struct{}
	waited int       // how often something waited for a thaw
	frozen time.Time // until then nothing of it continues
	cut    time.Time // until then it does not reach the database
	deaths []func()
}

type role int

const (
	server role = iota
	worker
	client
)

// born makes a process, which has not begun anything.
func (w *world) born(r role, name, build string) *node {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := &node{world: w, number: len(w.nodes), since: time.Now(), role: r, name: name, build: build, died: make(chan struct{}), count: map[question]int{}}
	n.dice = w.dice.of("node", n.number)
	w.nodes = append(w.nodes, n)
	if r != client {
		w.alive = append(w.alive, n)
	}
	return n
}

// config is what a node is told.
func (n *node) config() settings.Engine {
	c := settings.Engine{
		Store: opener{n}, Node: n.name, Build: n.build, Lease: n.world.lease, Supersede: n.role == server,
		PerKey:      n.world.perKey(),
		Concurrency: []int{2, 8, 128}[n.dice.of("concurrency").below(3)],
		Logger:      slog.New(slog.DiscardHandler),
		Draw: func(run string, call int64, attempt int) float64 {
			return float64(n.dice.of("draw", int(call), attempt).below(1000)) / 1000
		},
		Around: func(ctx context.Context, body seal.Body) (history.Payload, error) {
			return body(context.WithValue(ctx, nodeKey{}, n))
		},
	}
	c.CheckDeterminism = n.dice.of("replays").oneIn(8)
	if d := n.dice.of("crowded"); d.oneIn(3) { // of what is in the inbox only a part is read
		c.MaxAtWork, c.InboxPage = 1+d.of("at work").below(3), 1+d.of("page").below(3)
	}
	if n.dice.of("evicts").oneIn(3) {
		c.MaxResident = -1
	}
	if n.world.forgets() { // the last run of a chain stays
		c.Retention, c.SweepEvery = view.Retention{Continued: time.Nanosecond}, 3*time.Second
	}
	workflows, activities := definitions()
	switch n.role {
	case server:
		c.Workflows, c.Activities = workflows, activities
	case worker:
		c.Activities = activities
	}
	if n.serves() {
		c.Queues = []record.Queue{{Name: queueName, Limit: queueLimit}}
	}
	return c
}

// serves reports whether the process serves the queue.
func (n *node) serves() bool {
	return n.role == worker || n.role == server && n.world.dice.of("serves "+n.name).oneIn(2)
}

// live opens the engine and starts it, unless it is a client. It reports whether that succeeded.
func (n *node) live(ctx context.Context) bool {
	e, err := engine.Open(ctx, n.config())
	if err != nil {
		n.trace.explain("%d does not live: %v", n.number, err)
		n.die()
		return false
	}
	if n.role != client {
		err = e.Start(ctx)
	}
	n.mu.Lock()
	n.engine = e
	dead := n.isDead()
	n.mu.Unlock()
	n.trace.explain("%d %s lives, build %s: %v", n.number, n.name, n.build, err)
	switch {
	case dead: // it died before it lived
		n.world.errands.Go(e.Kill)
		return false
	case err != nil:
		n.die()
		return false
	}
	return true
}

// question is what verbs are counted by: several at once are told apart by what they are about.
type question struct {
	verb  verb
	about string
}

// next counts a call of a verb.
func (n *node) next(v verb, about string) (int, dice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	q := question{v, about}
	n.count[q]++
	return n.count[q], n.dice.of(verbNames[v], n.count[q]).of(about)
}

func (n *node) isDead() bool {
	select {
	case <-n.died:
		return true
	default:
		return false
	}
}

func (n *node) isFrozen() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Now().Before(n.frozen)
}

// isCut reports whether what it says does not reach the database.
func (n *node) isCut() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	return now.Before(n.cut) || now.Before(n.world.awayUntil())
}

// wait waits for a while, and for as long as the process is frozen; ctx and death end it.
func (n *node) wait(ctx context.Context, d time.Duration) error {
	if d < time.Millisecond { // nothing ends so short a wait, which is cheaper
		time.Sleep(d)
		d = 0
		if !n.isDead() && ctx.Err() == nil && !n.isFrozen() {
			return nil
		}
	}
	for {
		if d > 0 {
			timer := time.NewTimer(d)
			select {
			case <-timer.C:
			case <-n.died:
			case <-ctx.Done():
			}
			timer.Stop()
		}
		if n.isDead() {
			return errCrashed
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if d = n.thaws(); d <= 0 {
			return nil
		}
	}
}

// thaws returns how long it is until something of a frozen process continues. What waited continues
// in some order.
func (n *node) thaws() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	d := time.Until(n.frozen)
	if d <= 0 {
		return 0
	}
	n.waited++
	return d + time.Duration(n.dice.of("thaw", n.waited).below(100_000))
}

// whileFrozen waits for as long as the process is frozen.
func (n *node) whileFrozen(ctx context.Context) error {
	if !n.isFrozen() {
		return nil
	}
	return n.wait(ctx, 0)
}

// onDeath calls f when the process dies, until stop is called.
func (n *node) onDeath(f func()) (stop func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := len(n.deaths)
	n.deaths = append(n.deaths, f)
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.deaths[i] = nil
	}
}

// die ends the process as kill -9 does: nothing that it says reaches the database any more, and
// what its code does has no effect.
func (n *node) die() {
	n.mu.Lock()
	if n.isDead() {
		n.mu.Unlock()
		return
	}
	close(n.died)
	n.until = time.Now()
	deaths, e := n.deaths, n.engine
	n.mu.Unlock()
	n.trace.add(n.number, "dies", 0, 0, "")
	for _, f := range deaths {
		if f != nil {
			f()
		}
	}
	n.world.gone(n)
	if n.world.isClient(n) {
		n.world.errands.Go(n.world.reborn)
	}
	if e != nil {
		n.world.errands.Go(e.Kill)
	}
}

func (n *node) String() string { return fmt.Sprintf("%d (%s)", n.number, n.name) }
