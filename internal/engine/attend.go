package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/perdure/perdure/store"
)

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
		e.outages.unanswered(reading, "renewing the lease", err)
		return min(time.Second, e.config.Lease/10), true
	}
	e.outages.answered(reading)
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
		e.outages.unanswered(reading, "claiming partitions", err)
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
