package engine

import (
	"context"
	"maps"
	"slices"

	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/internal/outage"
	"github.com/perdure/perdure/internal/placement"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/internal/suspicion"
	"github.com/perdure/perdure/store"
)

// partition is a partition, or a ward of one, that this node owns. Its fields below node are
// guarded by the engine's mu.
type location struct {
	engine *Engine

	number    int // of its place; see store.Place
	partition int // the partition that holds the rows of its runs
	ward      int // of home; 0: the home itself
	epoch     int64
	node      string // the node ID under which this process owns it

	lineage placement.Lineage
	leaving bool // it is being handed over; nothing new starts in it
	missed  bool // runs have arrived meanwhile and were not woken
	active  int  // residents with a turn in progress, and running attempts
	box     *post.Box

	suspicion *suspicion.Place
}

// locations are those that this node owns.
type locations struct {
	engine *Engine
	all    map[int]*location // guarded by the engine's mu
}

// served returns the partitions that this node serves. The engine's mu is held.
func (l *locations) served() []*location { return slices.Collect(maps.Values(l.all)) }

// open returns the partitions that this node looks after: those it serves and is not handing
// over. The engine's mu is held.
func (l *locations) open() []*location {
	return slices.DeleteFunc(l.served(), func(p *location) bool { return p.leaving })
}

// numbers returns the places of partitions as the store names them, sorted. It is never nil,
// because to the store nil means all.
func numbers(ps []*location) []int {
	return sorted(ps, func(p *location) int { return p.number })
}

// sorted returns a number of each location, sorted.
func sorted(ps []*location, of func(*location) int) []int {
	list := make([]int, len(ps))
	for i, p := range ps {
		list[i] = of(p)
	}
	slices.Sort(list)
	return list
}

// tenure returns the partition as attempts and waiting calls record it.
func (p *location) tenure() dispatch.Tenure {
	return dispatch.Tenure{Partition: p.number, Epoch: p.epoch}
}

func tenures(ps []*location) []dispatch.Tenure {
	list := make([]dispatch.Tenure, len(ps))
	for i, p := range ps {
		list[i] = p.tenure()
	}
	return list
}

// owns returns the partition if this node serves it and is not handing it over.
func (l *locations) owns(number int) *location {
	if l.engine.life.phase != running && l.engine.life.phase != draining {
		return nil
	}
	p := l.all[number]
	if p == nil || p.leaving {
		return nil
	}
	return p
}

// learnLineage reads the owners of a partition, once, and again when runs have arrived from
// other places.
func (p *location) learnLineage() error {
	e := p.engine
	known, comings := p.lineage.Known()
	if known {
		return nil
	}
	owners, err := outage.Read(e.life.ctx, e.db.reads, "reading the owners of a partition", func(ctx context.Context) ([]store.Ownership, error) {
		return e.db.Owners(ctx, p.partition)
	})
	if err != nil {
		return err
	}
	p.lineage.Learn(placement.NewOwners(owners), comings)
	return nil
}

// homes returns the partitions that hold the rows of runs, sorted and without duplicates. It
// is never nil.
func partitionsOf(ps []*location) []int {
	return slices.Compact(sorted(ps, func(p *location) int { return p.partition }))
}

// servesOf reports whether this node serves a partition or a ward of it. The engine's mu is
// held.
func (l *locations) servesOf(partition int) bool {
	if l.all[partition] != nil || !l.engine.nodes.HasWards(partition) {
		return l.all[partition] != nil
	}
	for _, p := range l.all {
		if p.partition == partition {
			return true
		}
	}
	return false
}

// owned returns the partitions that this node looks after. It is never nil, which would mean
// all.
func (l *locations) owned() []int {
	l.engine.mu.Lock()
	defer l.engine.mu.Unlock()
	return partitionsOf(l.open())
}
