package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/perdure/perdure/store"
)

// member is this process as one of the nodes of its group. It is guarded by the
// engine's mu.
type member struct {
	node  store.Node
	token int64 // of the last renewal that was answered
	// next is that of a renewal that was not answered yet, however often it was
	// asked for; 0 if there is none. The database may have it: another token would
	// look like that of another process.
	next int64

	// sent is when the last renewal that was answered was sent: the lease runs
	// from then, whatever happened on the way.
	sent time.Time
	// returned is when the last renewal was answered that was overdue: after an
	// outage of the database, or when the process had stood still.
	returned time.Time
	failed   bool              // a renewal was not answered since the last one that was
	refused  bool              // calls got no slot because the lease might have been over
	replaced bool              // another process has this node's name
	staying  map[int]time.Time // until when partitions are not asked again to leave
	// released are partitions that were given back, and when; zero while the
	// database is being told.
	released map[int]time.Time
}

func newMember(c Config) member {
	return member{
		node:    store.Node{ID: c.Node + "/" + newToken()[:8], Name: c.Node, Group: c.Group, Lease: c.Lease, Supersede: c.Supersede},
		staying: map[int]time.Time{}, released: map[int]time.Time{},
	}
}

func (e *Engine) nodeID() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.member.node.ID
}

// join makes this process a node.
func (e *Engine) join(ctx context.Context) error {
	e.mu.Lock()
	node := e.member.node
	e.member.sent = time.Now()
	e.mu.Unlock()
	return e.db.Join(ctx, node)
}

// renew shows that this node lives and asks who else does.
func (e *Engine) renew(ctx context.Context) (*store.Membership, error) {
	e.mu.Lock()
	if e.member.next == 0 {
		e.member.next = newCommitID()
	}
	r := store.Renewal{Node: e.member.node.ID, Last: e.member.token, Next: e.member.next, Draining: e.phase == draining}
	e.mu.Unlock()
	// An answer that comes after the lease has ended is of no use.
	ctx, cancel := context.WithTimeout(ctx, e.config.Lease)
	defer cancel()
	for k := 0; ; k++ {
		sent := time.Now()
		// A connection that is dead is given up soon, a database that is slow gets
		// its time.
		try, cancel := context.WithTimeout(ctx, e.config.Lease/4<<k)
		m, err := e.db.Renew(try, r)
		late := try.Err() != nil
		cancel()
		if err == nil {
			e.renewed(sent, m)
			return m, nil
		}
		e.mu.Lock()
		e.member.failed = true
		e.mu.Unlock()
		if k == maxRenewals || ctx.Err() != nil || !late && !store.Unavailable(err) || !e.pause(renewPause) {
			return nil, err
		}
	}
}

// A renewal that got no answer is asked for again so often and after such a pause,
// before anything is made of it.
const (
	maxRenewals = 3
	renewPause  = 100 * time.Millisecond
)

// renewed notes a sign of life that was heard, drops what was lost meanwhile, and
// only then begins what waits for the lease.
func (e *Engine) renewed(sent time.Time, m *store.Membership) {
	e.clock.observe(m.Now)
	e.mu.Lock()
	defer e.mu.Unlock()
	var lost []*partition
	for _, o := range m.Owners {
		p := e.partitions[o.Partition]
		if p != nil && (o.Node != e.member.node.ID || o.Epoch != p.epoch) {
			lost = append(lost, p)
		}
	}
	e.loseLocked(lost)
	if s := e.silence(sent); s >= e.holds() || e.member.failed && s > e.config.Lease/2 {
		e.member.returned = time.Now()
	}
	e.member.token, e.member.next, e.member.sent, e.member.failed = e.member.next, 0, sent, false
	if e.member.refused {
		e.member.refused = false
		e.serveAgain()
	}
}

// leaseHolds reports whether no other node can have taken this one's partitions.
// Writes are fenced anyway; this is for what is not a write, above all the start
// of attempts. The engine's mu is held.
func (e *Engine) leaseHolds() bool {
	if !e.db.Info().Shared {
		return true
	}
	return e.silence(time.Now()) < e.holds()
}

// holds is how long a lease holds for certain: others count from when they heard
// of it, by another clock.
func (e *Engine) holds() time.Duration { return e.config.Lease - e.config.Lease/5 }

// silence is how long before now the last renewal was sent that was answered. The
// monotonic clock stands still while the machine sleeps, the other does not;
// should somebody set that one, the next renewal puts it right.
func (e *Engine) silence(now time.Time) time.Duration {
	sent := e.member.sent
	return max(now.Sub(sent), now.Round(0).Sub(sent.Round(0)))
}

// takeFirst takes the node's share when it starts.
func (e *Engine) takeFirst(ctx context.Context) (*takeover, error) {
	m, err := e.renew(ctx)
	if err != nil {
		return nil, err
	}
	e.clock.begin(m.Now)
	t, err := e.take(ctx, spread(e.nodeID(), m).claim)
	if err == nil {
		err = e.readWakes(ctx, t)
	}
	return t, err
}

// backOut undoes a start that failed. The next one is that of another node, unless
// the database could not be told that this one left.
func (e *Engine) backOut(ctx context.Context) error {
	e.mu.Lock()
	clear(e.partitions)
	e.recovery, e.slots.inLane = recovery{}, false
	failed := e.member.node.ID
	e.mu.Unlock()
	err := e.db.Leave(ctx, failed)
	if err == nil {
		e.mu.Lock()
		e.member = newMember(e.config)
		e.mu.Unlock()
	}
	return err
}

// memberLoop keeps the lease and the node's share of the partitions.
func (e *Engine) memberLoop() {
	timer := time.NewTimer(0) // others may have reacted to our joining
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-e.nodesKick:
		case <-e.ctx.Done():
			return
		}
		next, ok := e.attend()
		if !ok {
			return
		}
		timer.Reset(next)
	}
}

// dozed reports whether the machine slept since the last renewal: the monotonic
// clock stands still meanwhile, and timers are late. The engine's mu is not held.
func (e *Engine) dozed() bool {
	e.mu.Lock()
	sent := e.member.sent
	e.mu.Unlock()
	now := time.Now()
	return now.Round(0).Sub(sent.Round(0))-now.Sub(sent) > time.Second
}

// attend renews the lease, sees who is there, and takes and gives partitions. It
// returns when it should be called again, not ok if never.
func (e *Engine) attend() (next time.Duration, ok bool) {
	if !e.db.Info().Shared && !e.dozed() {
		return e.config.Lease / 3, true // nobody waits for a sign of life: spare the write
	}
	m, err := e.renew(e.ctx)
	switch {
	case e.ctx.Err() != nil:
		return 0, false
	case errors.Is(err, store.ErrReplaced):
		return renewPause, e.replaced()
	case err != nil:
		e.unanswered(reading, "renewing the lease", err)
		return min(time.Second, e.config.Lease/10), true
	}
	e.answered(reading)
	kick(e.wakeKick) // the clock may have moved
	next = e.config.Lease / 3
	for _, n := range m.Nodes {
		if n.Expires != store.Never && n.Expires > m.Now {
			next = min(next, time.Duration(n.Expires-m.Now)+time.Millisecond)
		}
	}
	if e.currentPhase() != running {
		e.giveAll(m)
		return next, true
	}
	claim, excess := e.reconcile(m)
	if len(excess) > 0 {
		e.work.Go(func() { e.giveAway(excess) })
	}
	if err := e.takeMore(claim); err != nil {
		e.unanswered(reading, "claiming partitions", err)
		return renewPause, e.ctx.Err() == nil
	}
	return next, true
}

// takeMore takes partitions over while this node does its work. A claim has to
// wait for commits of their owner, even of one that died in the middle; the lease
// must not run out over that.
func (e *Engine) takeMore(claim []int) error {
	ctx, cancel := context.WithTimeout(e.ctx, e.config.Lease/3)
	defer cancel()
	taken, err := e.take(ctx, claim)
	if err != nil || len(taken.partitions) == 0 {
		return err
	}
	e.log.Info("perdure: partitions are taken over", "count", len(taken.partitions), "node", taken.partitions[0].node)
	e.work.Go(func() {
		if e.persist("reading what runs want a step", func() error { return e.readWakes(e.ctx, taken) }) == nil {
			e.recover(taken)
		}
	})
	return nil
}

// reconcile holds what this node serves against who owns what, and returns what it
// should claim and what it should give away.
func (e *Engine) reconcile(m *store.Membership) (claim []int, excess []*partition) {
	e.mu.Lock()
	defer e.mu.Unlock()
	claim = e.unserved(m)
	s := spread(e.member.node.ID, m)
	if time.Since(e.member.returned) >= e.courtesy() {
		claim = append(claim, s.claim...)
	}
	claim = slices.DeleteFunc(claim, func(p int) bool {
		at, released := e.member.released[p]
		return released && at.IsZero()
	})
	return claim, e.movable(s.excess)
}

// unserved are partitions that this node owns and does not serve, because the
// answer to a claim or a release got lost. Those that it has given back since the
// renewal was sent are marked as free. The engine's mu is held.
func (e *Engine) unserved(m *store.Membership) (ps []int) {
	for i := range m.Owners {
		o := &m.Owners[i]
		at, released := e.member.released[o.Partition]
		current := released && (at.IsZero() || !at.Before(e.member.sent))
		if released && !current {
			delete(e.member.released, o.Partition)
		}
		if o.Node != e.member.node.ID || e.partitions[o.Partition] != nil {
			continue
		}
		if current {
			o.Node = ""
		} else {
			ps = append(ps, o.Partition)
		}
	}
	return ps
}

// giveAll hands all partitions over as they fall quiet, because this node leaves.
func (e *Engine) giveAll(m *store.Membership) {
	if !e.db.Info().Shared {
		return // to whom?
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	node := e.member.node.ID
	unserved := e.unserved(m)
	for _, p := range unserved {
		e.member.released[p] = time.Time{}
	}
	all := slices.DeleteFunc(e.served(), func(p *partition) bool { return p.leaving })
	for _, p := range all {
		p.leaving = true
	}
	if len(unserved) > 0 {
		e.work.Go(func() { e.giveBack(node, unserved) })
	}
	if len(all) > 0 {
		e.work.Go(func() { e.handOver(all, e.ctx) })
	}
}

// courtesy is how long a node whose lease had run out must be back before it
// takes what others left. After an outage of the database all leases have run
// out, and who comes back first shall not take everything.
func (e *Engine) courtesy() time.Duration { return e.config.Lease / 5 }

// movable picks partitions to give away, those with the least work first, and
// closes them for new work. One that did not fall quiet in time is left alone for a
// while. The engine's mu is held.
func (e *Engine) movable(n int) []*partition {
	now := time.Now()
	candidates := slices.DeleteFunc(e.served(), func(p *partition) bool {
		if p.leaving {
			n--
		}
		return p.leaving || now.Before(e.member.staying[p.number])
	})
	slices.SortFunc(candidates, func(a, b *partition) int {
		if a.active != b.active {
			return a.active - b.active
		}
		return a.number - b.number
	})
	chosen := candidates[:max(min(n, len(candidates)), 0)]
	for _, p := range chosen {
		p.leaving = true
	}
	return chosen
}

// How long partitions that shall move to another node are closed for new attempts
// while those that run there end, and how long they are left alone if some did
// not.
const (
	handOverPatience = time.Second
	handOverAgain    = 10 * time.Second
)

// giveAway hands partitions over to nodes that have less.
func (e *Engine) giveAway(ps []*partition) {
	ctx, cancel := context.WithTimeout(e.ctx, handOverPatience)
	defer cancel()
	e.handOver(ps, ctx)
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range ps {
		if e.partitions[p.number] == p {
			e.member.staying[p.number] = time.Now().Add(handOverAgain)
		}
	}
}

// replaced drops everything, because this node is no member any more. A node with
// a name of its own gives way to its successor for good; another comes back under
// a new ID.
func (e *Engine) replaced() (goOn bool) {
	e.mu.Lock()
	all := e.served()
	old := e.member.node
	named := old.Supersede
	e.member.replaced = named
	e.mu.Unlock()
	e.lose(all...)
	if named {
		e.log.Error("perdure: another process has joined under the name of this node; this one does no more work", "name", old.Name)
		return false
	}
	e.mu.Lock()
	e.member = newMember(e.config)
	e.mu.Unlock()
	if err := e.join(e.ctx); err != nil {
		e.log.Warn("perdure: the node could not join again", "error", err)
	}
	return true
}
