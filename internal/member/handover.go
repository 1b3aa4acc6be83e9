package member

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/perdure/perdure/store"
)

// How long partitions that shall move to another node are closed while attempts in them
// end, and how long a partition that did not become quiet in that time is left alone.
const (
	patience  = time.Second
	moveAgain = 10 * time.Second
)

// movable picks n partitions to give away, those with the least work first, and marks
// them as moving. Those on the move already count.
func (m *Member) movable(served []Partition, n int) []Partition {
	now := time.Now()
	candidates := slices.DeleteFunc(served, func(p Partition) bool {
		if _, ward := store.SplitPlace(p.Number); ward != 0 {
			return true
		}
		moving := p.Closed || m.moving[p.Number]
		if moving {
			n--
		}
		return moving || now.Before(m.staying[p.Number])
	})
	slices.SortFunc(candidates, func(a, b Partition) int {
		return cmp.Or(cmp.Compare(a.Work, b.Work), cmp.Compare(a.Number, b.Number))
	})
	chosen := candidates[:max(min(n, len(candidates)), 0)]
	for _, p := range chosen {
		m.moving[p.Number] = true
	}
	return chosen
}

// giveAway hands partitions over to nodes that have less. Those that do not become quiet
// soon stay.
func (m *Member) giveAway(ps []Partition) {
	ctx, cancel := context.WithTimeout(m.ctx, patience)
	defer cancel()
	for _, p := range m.handOver(ctx, ps) {
		m.mu.Lock()
		m.staying[p.Number] = time.Now().Add(moveAgain)
		m.mu.Unlock()
	}
}

// giveAll hands all partitions over as they become quiet, because this node leaves.
func (m *Member) giveAll(ms *store.Membership) {
	if !m.config.Shared {
		return // to whom?
	}
	served := m.config.Holder.Served()
	m.mu.Lock()
	node := m.node.ID
	unserved := m.unserved(ms, served)
	for _, p := range unserved {
		m.moving[p] = true
	}
	m.mu.Unlock()
	if len(unserved) > 0 {
		m.moves.Go(func() { m.release(node, unserved) })
	}
	if all := m.closeAll(); len(all) > 0 {
		m.moves.Go(func() { m.handOver(m.ctx, all) })
	}
}

// closeAll closes the partitions that are not on the move, and returns them.
func (m *Member) closeAll() []Partition {
	served := m.config.Holder.Served()
	m.mu.Lock()
	all := slices.DeleteFunc(served, func(p Partition) bool { return p.Closed || m.moving[p.Number] })
	for _, p := range all {
		m.moving[p.Number] = true
	}
	m.mu.Unlock()
	m.config.Holder.Close(all)
	return all
}

// handOver gives closed partitions that are marked as moving to other nodes: each is
// released when nothing of it is at work here any more. When ctx ends, the rest is
// reopened and returned.
func (m *Member) handOver(ctx context.Context, ps []Partition) (stayed []Partition) {
	for len(ps) > 0 && ctx.Err() == nil {
		quiet, rest := m.config.Holder.DropQuiet(ctx, ps)
		m.arrived(lostOf(ps, quiet, rest))
		if len(quiet) > 0 {
			m.release(quiet[0].Node, numbers(quiet))
		}
		ps = rest
	}
	m.arrived(numbers(ps))
	m.config.Holder.Reopen(ps)
	return ps
}

// lostOf returns the partitions of ps that are neither quiet nor at work: other nodes
// have taken them.
func lostOf(ps, quiet, rest []Partition) []int {
	return numbers(slices.DeleteFunc(slices.Clone(ps), func(p Partition) bool {
		is := func(q Partition) bool { return q.Number == p.Number }
		return slices.ContainsFunc(quiet, is) || slices.ContainsFunc(rest, is)
	}))
}

// arrived notes that partitions are not moving any more.
func (m *Member) arrived(partitions []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range partitions {
		delete(m.moving, p)
	}
}

// release frees partitions that are not served any more. If that fails they may still be
// this node's, which the next renewal tells.
func (m *Member) release(node string, partitions []int) {
	ctx, cancel := context.WithTimeout(m.ctx, m.config.Lease/3)
	defer cancel()
	err := m.config.Store.Release(ctx, node, partitions)
	m.mu.Lock()
	for _, p := range partitions {
		delete(m.moving, p)
		if err == nil {
			m.released[p] = time.Now()
		}
	}
	m.mu.Unlock()
	if err != nil && m.ctx.Err() == nil {
		m.config.Log.PartitionsKept(partitions, err)
	}
	if err == nil && len(partitions) > 0 {
		m.config.Log.PartitionsGiven(partitions, node)
	}
}

// numbers returns what the store calls partitions, in order.
func numbers(ps []Partition) []int {
	list := make([]int, len(ps))
	for i, p := range ps {
		list[i] = p.Number
	}
	slices.Sort(list)
	return list
}
