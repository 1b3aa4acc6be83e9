package engine

import (
	"context"
	"slices"

	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/internal/placement"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/internal/suspicion"
	"github.com/perdure/perdure/store"
)

// partition is a partition, or a ward of one, that this node owns. Its fields below node are
// guarded by the engine's mu.
type partition struct {
	engine *Engine

	number int // of its place; see store.Place
	home   int // the partition that holds the rows of its runs
	ward   int // of home; 0: the home itself
	epoch  int64
	node   string // the node ID under which this process owns it

	lineage placement.Lineage
	leaving bool // it is being handed over; nothing new starts in it
	active  int  // residents with a turn in progress, and running attempts
	box     *post.Box

	suspicion *suspicion.Place
}

// locations are those that this node owns.
type locations struct {
	engine *Engine
	all    map[int]*partition // guarded by the engine's mu
}

// served returns the partitions that this node serves. The engine's mu is held.
func (l *locations) served() []*partition {
	all := make([]*partition, 0, len(l.all))
	for _, p := range l.all {
		all = append(all, p)
	}
	return all
}

// open returns the partitions that this node looks after: those it serves and is not handing
// over. The engine's mu is held.
func (l *locations) open() []*partition {
	return slices.DeleteFunc(l.served(), func(p *partition) bool { return p.leaving })
}

// numbers returns the places of partitions as the store names them, sorted. It is never nil,
// because to the store nil means all.
func numbers(ps []*partition) []int {
	list := make([]int, len(ps))
	for i, p := range ps {
		list[i] = p.number
	}
	slices.Sort(list)
	return list
}

// tenure returns the partition as attempts and waiting calls record it.
func (p *partition) tenure() dispatch.Tenure {
	return dispatch.Tenure{Partition: p.number, Epoch: p.epoch}
}

func tenures(ps []*partition) []dispatch.Tenure {
	list := make([]dispatch.Tenure, len(ps))
	for i, p := range ps {
		list[i] = p.tenure()
	}
	return list
}

// owns returns the partition if this node serves it and is not handing it over.
func (l *locations) owns(number int) *partition {
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
func (p *partition) learnLineage() error {
	e := p.engine
	known, comings := p.lineage.Known()
	if known {
		return nil
	}
	var owners []store.Ownership
	err := e.db.reads.Insist(e.life.ctx, "reading the owners of a partition", func() (err error) {
		owners, err = e.db.Owners(e.life.ctx, p.home)
		return err
	})
	if err != nil {
		return err
	}
	p.lineage.Learn(placement.NewOwners(owners), comings)
	return nil
}

// takeover is the work that the previous owners of partitions left.
type takeover struct {
	partitions []*partition
	horizon    int64
	wakes      []store.Wake // runs with work in flight, and runs due up to the horizon
}

// takeFirst claims the node's share when it starts.
func (l *locations) takeFirst(ctx context.Context) (*takeover, error) {
	node, owned, err := l.engine.member.TakeShare(ctx)
	if err != nil {
		return nil, err
	}
	t := l.takeOver(node, owned)
	return t, l.readWakes(ctx, t)
}

// backOut undoes a start that failed.
func (l *locations) backOut(ctx context.Context) error {
	e := l.engine
	e.mu.Lock()
	clear(l.all)
	e.recovery.lane.Free()
	e.recovery = recovery{engine: e}
	e.mu.Unlock()
	return e.member.BackOut(ctx)
}

// takeOver adds partitions to those that this node serves, and returns what has to be
// recovered of their runs.
func (l *locations) takeOver(node string, owned []store.Ownership) *takeover {
	e := l.engine
	t := &takeover{}
	if len(owned) == 0 {
		return t
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, o := range owned {
		p := &partition{engine: e, number: o.Partition, home: placement.Home(o.Partition), ward: placement.Ward(o.Partition), epoch: o.Epoch, node: node, box: e.inbox.office.Open(o.Partition)}
		p.locate()
		l.all[o.Partition] = p
		t.partitions = append(t.partitions, p)
	}
	l.moved(t.partitions)
	e.recovery.closeLane()
	t.horizon = e.dispatcher.due.Horizon() // from here on scans read these partitions, too, beyond the horizon
	return t
}

// readWakes reads which runs of taken partitions want a step.
func (l *locations) readWakes(ctx context.Context, t *takeover) (err error) {
	if len(t.partitions) > 0 {
		t.wakes, err = l.engine.db.Due(ctx, numbers(t.partitions), store.Arrived-1, t.horizon, 0)
	}
	return err
}

// reviewHeld loads runs that are parked or wait for code if their code may fit now.
func (l *locations) reviewHeld(ps []*partition) {
	e := l.engine
	filter := store.Filter{Partitions: homes(ps), Status: []store.Status{store.Parked, store.WaitingForCode}, Limit: 500}
	for {
		var held []store.Run
		err := e.db.reads.Persist(e.life.ctx, "reviewing parked runs", func() (err error) {
			held, err = e.db.List(e.life.ctx, filter)
			return err
		})
		if err != nil {
			return
		}
		for _, r := range held {
			if e.worthTrying(r) {
				l.tryAgain(store.Place(r.Partition, r.Ward), r.ID)
			}
			filter.Before = r.ID
		}
		if len(held) < filter.Limit {
			return
		}
	}
}

// lose drops partitions that another node took over and cancels their attempts, whose results
// no longer count.
func (l *locations) lose(ps ...*partition) {
	l.engine.mu.Lock()
	defer l.engine.mu.Unlock()
	l.loseLocked(ps)
}

func (l *locations) loseLocked(ps []*partition) {
	e := l.engine
	ps = slices.DeleteFunc(ps, func(p *partition) bool { return l.all[p.number] != p })
	if len(ps) == 0 {
		return
	}
	l.drop(ps)
	e.log.PartitionsLost(numbers(ps), ps[0].node)
	e.attempts.Abandon(tenures(ps), store.ErrFenced)
	e.member.Kick()
}

// drop forgets partitions and evicts their runs. The engine's mu is held.
func (l *locations) drop(ps []*partition) {
	e := l.engine
	gone := setOf(ps)
	for _, p := range ps {
		e.dispatcher.unserved.Drop(p.tenure())
		if l.all[p.number] == p {
			delete(l.all, p.number)
		}
		p.suspicion.Close()
		p.box.Close()
	}
	e.dispatcher.grant(e.dispatcher.slots.Drop(tenures(ps)))
	for _, r := range e.residents.all {
		if gone[r.partition] {
			r.unload()
		}
	}
	e.letBack()
	l.moved(ps)
}

// moved makes requests that depend on the owner of the partitions look again.
func (l *locations) moved(ps []*partition) {
	places := make(map[int]bool, len(ps))
	for _, p := range ps {
		places[p.home] = true
	}
	l.engine.Moved(places)
}

func setOf(ps []*partition) map[*partition]bool {
	set := make(map[*partition]bool, len(ps))
	for _, p := range ps {
		set[p] = true
	}
	return set
}
