package commit

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/logs"
	"github.com/perdure/perdure/internal/outage"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
)

// maxGroup is how many turns a group may have.
const maxGroup = 512

// Config configures a committer.
type Config struct {
	Store store.Owner
	Info  store.Info // of Store
	Log   *logs.Log
	Clock *clock.Clock  // follows the database's clock after each commit
	Watch *outage.Watch // records outages of writes
	// Committed, if set, is called after each try to write turns, with their number and the
	// time it took.
	Committed func(turns int, took time.Duration)
}

// Committer makes turns durable. It is safe for concurrent use.
type Committer struct {
	Config
	ctx   context.Context
	lone  chan struct{} // its capacity limits how many turns with hooks commit by themselves at a time
	spare sync.Pool     // of *pending whose results were delivered
	room  sync.Pool     // of *[]store.Turn, for the turns of a group
	usual *lane         // for turns of domain 0 alone
	lanes lanes
}

// pending is a turn that waits for its result. After that it belongs to the waiter.
type pending struct {
	turn   store.Turn
	done   chan error // capacity 1
	since  time.Time  // when the turn was blocked; zero if it is not
	warned bool       // a warning about the block was logged
	lost   bool       // the reply to a commit was lost, so the turn may be durable

	refused bool  // the database refused a statement of it
	others  int64 // turns that the lane had written when that began
}

// result translates the store's error for the turn. If the reply to a commit was lost, the
// retention of any node may delete the run that the turn closes before the turn is committed
// again. Only closed runs are deleted, and only their owner, whom the store recognizes first,
// closes them. So ErrNotFound then means that the turn is durable.
func (p *pending) result(err error) error {
	t := &p.turn
	closes := t.State != nil && !t.State.Status.Open()
	if p.lost && closes && errors.Is(err, store.ErrNotFound) && (t.Create == nil || t.Create.Base == nil) {
		return nil
	}
	return err
}

// New returns a committer that works until ctx ends. Before Run it commits only turns with
// hooks, if the store commits those by themselves.
func New(ctx context.Context, c Config) *Committer {
	made := &Committer{
		Config: c, ctx: ctx, lone: make(chan struct{}, c.Info.LoneHooks), lanes: lanes{all: map[route]*lane{}, kick: clock.NewBell()},
	}
	made.usual = made.newLane(c.Watch)
	return made
}

// Run commits turns until the context of New ends.
func (c *Committer) Run() {
	var running sync.WaitGroup
	defer running.Wait()
	run := func(l *lane) {
		running.Go(l.retryBlocked)
		running.Go(l.commitQueued)
	}
	run(c.usual)
	for {
		select {
		case <-c.lanes.kick:
			c.lanes.mu.Lock()
			idle := c.lanes.idle
			c.lanes.idle = nil
			c.lanes.mu.Unlock()
			for _, l := range idle {
				run(l)
			}
		case <-c.ctx.Done():
			return
		}
	}
}

// Commit blocks until the turn is durable or refused, or the context of New ends; then it
// returns the cause of that. The caller must not change what the turn refers to meanwhile.
func (c *Committer) Commit(t store.Turn) error {
	p, ok := c.spare.Get().(*pending)
	if !ok {
		p = &pending{done: make(chan error, 1)}
	}
	p.turn = t
	if !c.laneOf(&t).submit(p) {
		return context.Cause(c.ctx)
	}
	select {
	case err := <-p.done:
		*p = pending{done: p.done} // no one else reads a turn that has its result
		c.spare.Put(p)
		return err
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	}
}

// submit enqueues a turn for the next group. If the store commits turns with hooks by
// themselves, submit commits such a turn directly, so that no other turn waits for its hook.
// It returns false when the committer ends.
func (c *lane) submit(p *pending) bool {
	if p.turn.Hook == nil || cap(c.lone) == 0 {
		select {
		case c.queue <- p: // nearly always there is room, and a select with one case is faster
			return true
		default:
		}
		select {
		case c.queue <- p:
			return true
		case <-c.ctx.Done():
			return false
		}
	}
	c.commitGroup([]*pending{p})
	return true
}

// commitQueued commits the queue, one group after the other.
func (c *lane) commitQueued() {
	group := make([]*pending, 0, maxGroup)
	for {
		group = append(group[:0], c.postponed...)
		c.postponed = nil
		if len(group) == 0 {
			select {
			case p := <-c.queue:
				group = append(group, p)
			case <-c.ctx.Done():
				return
			}
		}
		for more := true; more && len(group) < maxGroup; {
			select {
			case p := <-c.queue:
				group = append(group, p)
			default:
				runtime.Gosched() // lets goroutines that are about to enqueue a turn do so first
				more = len(c.queue) > 0
			}
		}
		for _, part := range c.apart(group) {
			c.commitGroup(part)
		}
	}
}

// commitGroup commits turns until each has a result, is blocked or is postponed. A group
// without a result is committed again with the same bytes. A group that the database cannot
// take is halved until the culprit is alone.
func (c *lane) commitGroup(group []*pending) {
	room, ok := c.room.Get().(*[]store.Turn)
	if !ok {
		room = new([]store.Turn)
	}
	turns := slices.Grow((*room)[:0], len(group))[:len(group)]
	defer func() {
		clear(turns)
		*room = turns
		c.room.Put(room)
	}()
	backoff := retry.Exponential(10*time.Millisecond, 2, time.Second)
	for k := 1; ; k++ {
		for i, p := range group {
			turns[i] = p.turn
		}
		spent := postponing(turns)
		result, err := c.write(turns)
		switch {
		case err == nil:
			if refused := c.refusedToAll(group, result.Errors); refused != nil {
				c.watch.Away("committing turns", refused)
			} else {
				c.watch.Back()
			}
			c.Clock.Observe(result.Now)
			if cap(c.lone) == 0 && slices.ContainsFunc(group, func(p *pending) bool { return p.turn.Hook != nil }) {
				c.slow = *spent > slowHooks
			}
			c.settle(group, result.Errors)
			return
		case c.ctx.Err() != nil:
			return
		case store.Unavailable(err):
			c.watch.Away("committing turns", err)
			for _, p := range group {
				p.lost = true
			}
			if !clock.Pause(c.ctx, backoff.Delay(k)) {
				return
			}
		case len(group) > 1:
			half := len(group) / 2
			c.commitGroup(group[:half])
			c.commitGroup(group[half:])
			return
		default:
			group[0].done <- errors.Join(errors.New("the database refused the turn"), err)
			return
		}
	}
}

// slowCommit is how long a commit may take before it is reported as an outage.
const slowCommit = 5 * time.Second

// write commits once, and reports an outage if the database takes long.
func (c *lane) write(turns []store.Turn) (store.Result, error) {
	if turns[0].Hook != nil && cap(c.lone) > 0 { // it is alone in its group
		select {
		case c.lone <- struct{}{}:
			defer func() { <-c.lone }()
		case <-c.ctx.Done():
			return store.Result{}, c.ctx.Err()
		}
	}
	reported := make(chan struct{})
	slow := time.AfterFunc(slowCommit, func() {
		defer close(reported)
		c.watch.Away("committing turns", fmt.Errorf("a commit has not been answered for %s", slowCommit))
	})
	began := time.Time{}
	if c.Committed != nil {
		began = time.Now()
	}
	result, err := c.Store.Commit(c.ctx, turns)
	if c.Committed != nil {
		c.Committed(len(turns), time.Since(began))
	}
	if !slow.Stop() {
		<-reported // so that Away does not follow Back
	}
	return result, err
}

// refusedToAll returns an error if the database refused a statement of each turn and has taken
// no other turn since it first refused one of them: the fault is the database's.
func (c *lane) refusedToAll(group []*pending, results []error) error {
	for i, p := range group {
		if !store.Refused(results[i]) || c.takesOthers(p) {
			return nil
		}
	}
	return results[0]
}

// takesOthers reports whether turns were written since the database first refused a statement
// of this one.
func (c *lane) takesOthers(p *pending) bool { return p.refused && c.written.Load() > p.others }

// settle delivers results. Postponed turns go into the next group. Only commitQueued makes
// groups with several hooks, so only its goroutine gets here with a postponed turn. Blocked
// turns are retried apart. So are those of which the database refused a statement: if it
// refuses them again and takes the turns of others meanwhile, the fault is theirs.
func (c *lane) settle(group []*pending, results []error) {
	before := c.written.Load()
	for i, p := range group {
		switch err := results[i]; {
		case errors.Is(err, errPostponed):
			c.postponed = append(c.postponed, p)
		case store.Refused(err) && c.takesOthers(p):
			p.done <- errors.Join(errors.New("the database refused the turn"), err)
		case store.Unavailable(err):
			if store.Refused(err) && !p.refused {
				p.refused, p.others = true, before
			}
			c.block(p)
		default:
			if err == nil {
				c.written.Add(1)
			}
			p.done <- p.result(err)
		}
	}
}

// lane commits the turns that concern the same commit domains. Turns of one server do not wait
// for another server that is unavailable. Turns that write to two domains, which cost the
// store more, are not grouped with those that write to one.
type lane struct {
	*Committer
	queue   chan *pending
	watch   *outage.Watch
	blocked blocked
	written atomic.Int64 // turns

	// Owned by the goroutine of commitQueued:
	postponed []*pending // because hooks took long
	slow      bool       // recent hooks were slow
}

func (c *Committer) newLane(watch *outage.Watch) *lane {
	return &lane{Committer: c, queue: make(chan *pending, 2*maxGroup), watch: watch, blocked: blocked{kick: clock.NewBell()}}
}

// route names the domains that a turn concerns: its own, and the one that it sends messages
// to.
type route struct {
	own, to int
	more    bool // it sends messages to yet other domains
}

func (c *Committer) routeOf(t *store.Turn) route {
	own := c.Info.Domain(t.Partition)
	r := route{own: own, to: own}
	for i := range t.Messages {
		switch d := c.Info.Domain(t.Messages[i].Partition); {
		case d == own || d == r.to:
		case r.to == own:
			r.to = d
		default:
			r.more = true
		}
	}
	return r
}

// lanes are all lanes except the usual one.
type lanes struct {
	mu   sync.Mutex
	all  map[route]*lane
	idle []*lane    // lanes without a goroutine
	kick clock.Bell // a lane was added to idle
}

// laneOf returns the lane of a turn.
func (c *Committer) laneOf(t *store.Turn) *lane {
	r := c.routeOf(t)
	if r == (route{}) {
		return c.usual
	}
	c.lanes.mu.Lock()
	defer c.lanes.mu.Unlock()
	l := c.lanes.all[r]
	if l != nil {
		return l
	}
	l = c.newLane(c.Watch.Part())
	c.lanes.all[r], c.lanes.idle = l, append(c.lanes.idle, l)
	c.lanes.kick.Ring()
	return l
}
