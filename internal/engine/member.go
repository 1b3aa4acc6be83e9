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
	// returned is when the last renewal was answered that came too late for its
	// lease: after an outage of the database, or when the process had stood still.
	returned time.Time
	replaced bool              // another process has this node's name
	staying  map[int]time.Time // until when partitions are not asked again to leave
}

func newMember(c Config) member {
	return member{
		node:    store.Node{ID: c.Node + "/" + newToken()[:8], Name: c.Node, Group: c.Group, Lease: c.Lease, Supersede: c.Supersede},
		staying: map[int]time.Time{},
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
		m, err := e.db.Renew(ctx, r)
		if err == nil {
			e.renewed(sent, m.Now)
			return m, nil
		}
		if k == maxRenewals || !store.Unavailable(err) || !e.pause(renewPause) {
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

// renewed notes a sign of life that was heard.
func (e *Engine) renewed(sent time.Time, now int64) {
	e.clock.observe(now)
	e.mu.Lock()
	defer e.mu.Unlock()
	held := e.leaseHolds()
	e.member.token, e.member.next, e.member.sent = e.member.next, 0, sent
	if !held {
		e.member.returned = time.Now()
		e.readmit()
	}
}

// leaseHolds reports whether no other node can have taken this one's partitions.
// Writes are fenced anyway; this is for what is not a write, above all the start
// of attempts. The engine's mu is held.
func (e *Engine) leaseHolds() bool {
	if !e.db.Info().Shared {
		return true
	}
	// The monotonic clock stands still while the machine sleeps, the other does
	// not; should somebody set that one, the next renewal puts it right.
	now := time.Now()
	age := max(now.Sub(e.member.sent), now.Round(0).Sub(e.member.sent.Round(0)))
	return age < e.config.Lease-e.config.Lease/5
}

// takeFirst takes the node's share when it starts.
func (e *Engine) takeFirst(ctx context.Context) (takeover, error) {
	m, err := e.renew(ctx)
	if err != nil {
		return takeover{}, err
	}
	return e.take(ctx, spread(e.nodeID(), m).claim)
}

// backOut undoes a start that failed. The next one is that of another node, unless
// the database could not be told that this one left.
func (e *Engine) backOut(ctx context.Context) error {
	e.mu.Lock()
	clear(e.partitions)
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
	again, excess := e.reconcile(m)
	if len(excess) > 0 {
		e.work.Go(func() { e.giveAway(excess) })
	}
	next = e.config.Lease / 3
	for _, n := range m.Nodes {
		if n.Expires != store.Never && n.Expires > m.Now {
			next = min(next, time.Duration(n.Expires-m.Now)+time.Millisecond)
		}
	}
	if len(again) == 0 {
		return next, true
	}
	taken, err := e.take(e.ctx, again)
	if err != nil {
		e.unanswered(reading, "claiming partitions", err)
		return renewPause, e.ctx.Err() == nil
	}
	if len(taken.partitions) > 0 {
		e.log.Info("perdure: partitions are taken over", "count", len(taken.partitions), "node", taken.partitions[0].node)
	}
	e.recover(taken)
	return next, true
}

// reconcile holds what this node serves against who owns what, drops what it
// lost, and returns what it should claim and what it should give away.
func (e *Engine) reconcile(m *store.Membership) (claim []int, excess []*partition) {
	e.mu.Lock()
	me, drained := e.member.node.ID, e.phase != running
	var lost []*partition
	for _, o := range m.Owners {
		p := e.partitions[o.Partition]
		switch {
		case p != nil && (o.Node != me || o.Epoch != p.epoch):
			lost = append(lost, p)
		case p == nil && o.Node == me && !drained: // the answer to a claim or a release got lost
			claim = append(claim, o.Partition)
		}
	}
	mayTake := !drained && time.Since(e.member.returned) >= e.courtesy()
	e.mu.Unlock()
	e.lose(lost...)
	s := spread(me, m)
	if mayTake {
		claim = append(claim, s.claim...)
	}
	if s.excess > 0 && !drained {
		excess = e.movable(s.excess)
	}
	return claim, excess
}

// courtesy is how long a node whose lease had run out must be back before it
// takes what others left. After an outage of the database all leases have run
// out, and who comes back first shall not take everything.
func (e *Engine) courtesy() time.Duration { return e.config.Lease / 5 }

// movable picks partitions to give away, those with the least work first. One
// that did not fall quiet in time is left alone for a while.
func (e *Engine) movable(n int) []*partition {
	e.mu.Lock()
	defer e.mu.Unlock()
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
	return candidates[:max(min(n, len(candidates)), 0)]
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
	all := slices.Clone(ps)
	e.handOver(ps, ctx)
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range all {
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
