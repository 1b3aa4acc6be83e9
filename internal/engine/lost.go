package engine

import (
	"slices"

	"github.com/perdure/perdure/internal/placement"
	"github.com/perdure/perdure/store"
)

// lose drops locations that another node took over and cancels their attempts, whose results
// no longer count.
func (l *locations) lose(ps ...*location) {
	l.engine.mu.Lock()
	defer l.engine.mu.Unlock()
	l.loseLocked(ps)
}

func (l *locations) loseLocked(ps []*location) {
	e := l.engine
	ps = slices.DeleteFunc(ps, func(p *location) bool { return p.Lost() })
	if len(ps) == 0 {
		return
	}
	l.drop(ps)
	e.log.PartitionsLost(placement.Numbers(ps), ps[0].Node)
	e.attempts.Abandon(placement.Tenures(ps), store.ErrFenced)
	e.member.Kick()
}

// drop forgets locations and evicts their runs. The engine's mu is held.
func (l *locations) drop(ps []*location) {
	e := l.engine
	l.Drop(ps)
	gone := make(map[*location]bool, len(ps))
	for _, p := range ps {
		gone[p] = true
		e.dispatcher.unserved.Drop(p.Tenure())
		p.suspicion.Close()
		p.box.Close()
	}
	e.dispatcher.grantLocked(e.dispatcher.slots.Drop(placement.Tenures(ps)))
	for _, r := range e.residents.all {
		if gone[r.location] {
			r.evict()
		}
	}
	e.letBack()
	l.noteMoved(ps)
}

// noteMoved makes requests that depend on the owner of the locations look again.
func (l *locations) noteMoved(ps []*location) {
	places := make(map[int]bool, len(ps))
	for _, p := range ps {
		places[p.Partition] = true
	}
	l.engine.Moved(places)
}
