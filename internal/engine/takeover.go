package engine

import (
	"context"
	"slices"

	"github.com/perdure/perdure/internal/placement"
	"github.com/perdure/perdure/store"
)

// takeover is the work that the previous owners of partitions left.
type takeover struct {
	locations []*location
	horizon   int64
	wakes     []store.Wake // runs with work in flight, and runs due up to the horizon
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
		p := &location{engine: e, number: o.Partition, partition: placement.Home(o.Partition), ward: placement.Ward(o.Partition), epoch: o.Epoch, node: node, box: e.inbox.office.Open(o.Partition)}
		p.locate()
		l.all[o.Partition] = p
		t.locations = append(t.locations, p)
	}
	l.noteMoved(t.locations)
	e.recovery.closeLane()
	t.horizon = e.dispatcher.due.Horizon() // from here on scans read these partitions, too, beyond the horizon
	return t
}

// readWakes reads which runs of taken partitions want a step.
func (l *locations) readWakes(ctx context.Context, t *takeover) (err error) {
	if len(t.locations) > 0 {
		t.wakes, err = l.engine.db.Due(ctx, numbers(t.locations), store.Arrived-1, t.horizon, 0)
	}
	return err
}

// reviewHeld loads runs that are parked or wait for code if their code may fit now.
func (l *locations) reviewHeld(ps []*location) {
	e := l.engine
	filter := store.Filter{Partitions: partitionsOf(ps), Status: []store.Status{store.Parked, store.WaitingForCode}, Limit: 500}
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
func (l *locations) lose(ps ...*location) {
	l.engine.mu.Lock()
	defer l.engine.mu.Unlock()
	l.loseLocked(ps)
}

func (l *locations) loseLocked(ps []*location) {
	e := l.engine
	ps = slices.DeleteFunc(ps, func(p *location) bool { return l.all[p.number] != p })
	if len(ps) == 0 {
		return
	}
	l.drop(ps)
	e.log.PartitionsLost(numbers(ps), ps[0].node)
	e.attempts.Abandon(tenures(ps), store.ErrFenced)
	e.member.Kick()
}

// drop forgets partitions and evicts their runs. The engine's mu is held.
func (l *locations) drop(ps []*location) {
	e := l.engine
	gone := make(map[*location]bool, len(ps))
	for _, p := range ps {
		gone[p] = true
		e.dispatcher.unserved.Drop(p.tenure())
		if l.all[p.number] == p {
			delete(l.all, p.number)
		}
		p.suspicion.Close()
		p.box.Close()
	}
	e.dispatcher.grantLocked(e.dispatcher.slots.Drop(tenures(ps)))
	for _, r := range e.residents.all {
		if gone[r.location] {
			r.evict()
		}
	}
	e.letBack()
	l.noteMoved(ps)
}

// noteMoved makes requests that depend on the owner of the partitions look again.
func (l *locations) noteMoved(ps []*location) {
	places := make(map[int]bool, len(ps))
	for _, p := range ps {
		places[p.partition] = true
	}
	l.engine.Moved(places)
}
