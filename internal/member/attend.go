package member

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/perdure/perdure/store"
)

// Run renews the lease and maintains the node's share of the partitions until the context of
// New ends or another process takes the node's name.
func (m *Member) Run() {
	defer m.moves.Wait()
	for m.ctx.Err() == nil { // without a wait first: other nodes may have reacted to the join
		next, ok := m.attend()
		if !ok {
			return
		}
		timer := time.NewTimer(next)
		select {
		case <-timer.C:
		case <-m.kick:
		case <-m.ctx.Done():
		}
		timer.Stop()
	}
}

// attend renews the lease, reads the members of the group, and takes and hands over
// partitions. It returns when to call it next; ok is false if never.
func (m *Member) attend() (next time.Duration, ok bool) {
	often := m.config.Lease / 3
	if !m.config.Shared && !m.slept() {
		return often, true // no other node waits for a renewal, so the write is saved
	}
	ms, err := m.renew(m.ctx)
	switch {
	case m.ctx.Err() != nil:
		return 0, false
	case errors.Is(err, store.ErrReplaced):
		return renewPause, m.rejoin()
	case err != nil:
		m.config.Watch.Away("renewing the lease", err)
		return min(time.Second, m.config.Lease/10), true
	}
	m.config.Watch.Back()
	next = often
	for _, n := range ms.Nodes {
		if n.Expires != store.Never && n.Expires > ms.Now {
			next = min(next, time.Duration(n.Expires-ms.Now)+time.Millisecond)
		}
	}
	if m.drains() {
		m.giveAll(ms)
		return next, true
	}
	claim, excess := m.reconcile(ms)
	if len(excess) > 0 {
		m.moves.Go(func() { m.giveAway(excess) })
	}
	if err := m.takeMore(claim); err != nil {
		if m.ctx.Err() != nil {
			return renewPause, false // the node stops, and the database did not fail
		}
		m.config.Watch.Away("claiming partitions", err)
		return renewPause, true
	}
	return next, true
}

// takeMore takes over partitions while this node is at work. A claim waits for commits in
// flight of the previous owner, even if that died during one; the lease must not expire
// meanwhile.
func (m *Member) takeMore(wanted []int) error {
	ctx, cancel := context.WithTimeout(m.ctx, m.config.Lease/3)
	defer cancel()
	node, owned, err := m.claim(ctx, wanted)
	if err != nil || len(owned) == 0 {
		return err
	}
	m.config.Log.PartitionsGained(len(owned), node)
	m.config.Holder.Taken(node, owned)
	return nil
}

// claim claims partitions and returns those that the node got.
func (m *Member) claim(ctx context.Context, wanted []int) (node string, owned []store.Ownership, err error) {
	node = m.id()
	if len(wanted) == 0 {
		return node, nil, nil
	}
	owned, err = m.config.Store.Claim(ctx, node, wanted)
	for _, o := range owned {
		m.config.Clock.AtLeast(o.Clock)
	}
	return node, owned, err
}

// reconcile compares the partitions that are served with their owners, and returns what to
// claim and what to hand over.
func (m *Member) reconcile(ms *store.Membership) (claim []int, excess []Partition) {
	served := m.config.Holder.Served()
	m.mu.Lock()
	claim = m.unserved(ms, served)
	s := spread(m.node.ID, ms)
	if time.Since(m.lease.returned) >= m.grace() && time.Since(m.lease.leapt) >= m.config.Lease/2 {
		claim = append(claim, s.claim...)
	}
	claim = slices.DeleteFunc(claim, func(p int) bool { return m.moving[p] })
	excess = m.movable(served, s.excess)
	m.mu.Unlock()
	if len(excess) > 0 {
		m.config.Holder.Close(excess)
	}
	return claim, excess
}

// unserved returns partitions that this node owns and does not serve, because the reply to a
// claim or a release was lost. In ms it marks as free those that the node has released since
// the renewal was sent.
func (m *Member) unserved(ms *store.Membership, served []Partition) (ps []int) {
	serves := map[int]bool{}
	for _, p := range served {
		serves[p.Number] = true
	}
	for i := range ms.Owners {
		o := &ms.Owners[i]
		at, released := m.released[o.Partition]
		if released && at.Before(m.lastSent()) {
			delete(m.released, o.Partition)
			released = false
		}
		switch {
		case o.Node != m.node.ID || serves[o.Partition]:
		case released || m.moving[o.Partition]:
			o.Node = ""
		default:
			ps = append(ps, o.Partition)
		}
	}
	return ps
}

// grace is how long a node whose lease had expired must be back before it claims partitions of
// others. After an outage of the database all leases have expired, and the first node that
// returns must not take everything. After a leap of the database's clock they have expired, too,
// and a node waits for half a lease, in which all that live renew theirs.
func (m *Member) grace() time.Duration { return m.config.Lease / 5 }
