package member

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/perdure/perdure/store"
)

// patience is how long partitions that move to another node are closed while their attempts
// end. moveAgain is how long a partition that did not become quiet in that time stays.
const (
	patience  = time.Second
	moveAgain = 10 * time.Second
)

// movable picks n partitions to hand over, those with the least work first, and marks them as
// moving. Partitions that are already moving count toward n.
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

// giveAway hands partitions over to nodes that have fewer. Partitions that do not become quiet
// in time stay.
func (m *Member) giveAway(ps []Partition) {
	ctx, cancel := context.WithTimeout(m.ctx, patience)
	defer cancel()
	for _, p := range m.handOver(ctx, ps) {
		m.mu.Lock()
		m.staying[p.Number] = time.Now().Add(moveAgain)
		m.mu.Unlock()
	}
}

// giveAll hands over all partitions as they become quiet, because this node drains.
func (m *Member) giveAll(ms *store.Membership) {
	if !m.config.Shared {
		return // there is no other node
	}
	served := m.config.Holder.Served()
	m.mu.Lock()
	node := m.node.ID
	unserved := m.unserved(ms, served)
	all := slices.DeleteFunc(served, func(p Partition) bool { return p.Closed || m.moving[p.Number] })
	for _, p := range append(numbers(all), unserved...) {
		m.moving[p] = true
	}
	m.mu.Unlock()
	if len(unserved) > 0 {
		m.moves.Go(func() { m.release(node, unserved) })
	}
	if len(all) > 0 {
		m.config.Holder.Close(all)
		m.moves.Go(func() { m.handOver(m.ctx, all) })
	}
}

// handOver hands over closed partitions that are marked as moving. It releases each when
// nothing of it is at work here any more. When ctx ends, it reopens and returns the rest.
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

// lostOf returns the partitions of ps that are neither in quiet nor in rest: other nodes have
// taken them.
func lostOf(ps, quiet, rest []Partition) []int {
	return numbers(slices.DeleteFunc(slices.Clone(ps), func(p Partition) bool {
		is := func(q Partition) bool { return q.Number == p.Number }
		return slices.ContainsFunc(quiet, is) || slices.ContainsFunc(rest, is)
	}))
}

// arrived records that partitions are no longer moving.
func (m *Member) arrived(partitions []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range partitions {
		delete(m.moving, p)
	}
}

// release releases partitions that are no longer served. If that fails this node may still own
// them, which the next renewal shows.
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

// numbers returns the numbers of partitions as the store names them, sorted.
func numbers(ps []Partition) []int {
	list := make([]int, len(ps))
	for i, p := range ps {
		list[i] = p.Number
	}
	slices.Sort(list)
	return list
}
