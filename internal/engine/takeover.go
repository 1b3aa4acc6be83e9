package engine

import (
	"context"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/internal/placement"
	"github.com/perdure/perdure/store"
)

// takeover is the work that the previous owners of partitions left.
type takeover struct {
	locations []*location
	horizon   int64
	wakes     []store.Wake // runs with work in flight, and runs due up to the horizon
}

// backOut undoes a start that failed.
func (l *locations) backOut(ctx context.Context) error {
	e := l.engine
	e.mu.Lock()
	l.Drop(l.Served())
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
		p := &location{engine: e, box: e.inbox.office.Open(o.Partition)}
		p.Own(o, node)
		p.locate()
		t.locations = append(t.locations, p)
	}
	l.Add(t.locations)
	l.noteMoved(t.locations)
	e.recovery.closeLane()
	t.horizon = e.dispatcher.due.Horizon() // from here on scans read these partitions, too, beyond the horizon
	return t
}

// readWakes reads which runs of taken partitions want a step.
func (l *locations) readWakes(ctx context.Context, t *takeover) (err error) {
	if len(t.locations) > 0 {
		t.wakes, err = l.engine.db.Due(ctx, placement.Numbers(t.locations), store.Arrived-1, t.horizon, 0)
	}
	return err
}

// reviewHeld loads runs that are parked or wait for code if their code may fit now.
func (l *locations) reviewHeld(ps []*location) {
	e := l.engine
	filter := store.Filter{Partitions: placement.Partitions(ps), Status: []store.Status{store.Parked, store.WaitingForCode}, Limit: 500}
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
			if e.holds.WorthTrying(&r) {
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
	ps = slices.DeleteFunc(ps, func(p *location) bool { return p.Lost() })
	if len(ps) == 0 {
		return
	}
	l.drop(ps)
	e.log.PartitionsLost(placement.Numbers(ps), ps[0].Node)
	e.attempts.Abandon(placement.Tenures(ps), store.ErrFenced)
	e.member.Kick()
}

// drop forgets partitions and evicts their runs. The engine's mu is held.
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

// noteMoved makes requests that depend on the owner of the partitions look again.
func (l *locations) noteMoved(ps []*location) {
	places := make(map[int]bool, len(ps))
	for _, p := range ps {
		places[p.Partition] = true
	}
	l.engine.Moved(places)
}

// recovery resumes runs that had work in flight.
//
// The probation lane stays closed until each of them has taken a step. Only then is it known
// which calls belong there and which of them was charged least often and goes first. Otherwise
// a process that is killed repeatedly, for whatever reason, would charge the run that it
// happens to load first.
//
// A starting node also holds its regular slots back for a moment, so that waiting calls get
// them by priority and not in the order in which their runs are loaded.
type recovery struct {
	engine *Engine

	// Guarded by the engine's mu:

	open     int            // parts that are not finished
	runs     int            // that had work in flight
	lost     int            // lost attempts of the runs that have taken a step
	hot      []hotRun       // runs that had work in flight and are not loaded yet
	lane     *dispatch.Slot // keeps the probation lane closed
	patience *time.Timer    // ends the holding back of slots; nil if none are held back
}

// maxKeptBack limits how long slots are held back: a run that is slow to load must not hold up
// the others.
const maxKeptBack = time.Second

// keepSlotsBack holds regular slots back until it is known which calls wait for one. The
// engine's mu is held.
func (rec *recovery) keepSlotsBack() {
	e := rec.engine
	if rec.open == 0 {
		return
	}
	e.dispatcher.slots.KeepBack()
	rec.patience = time.AfterFunc(maxKeptBack, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		rec.letSlotsGo()
	})
}

// letSlotsGo grants the slots that were held back. The engine's mu is held.
func (rec *recovery) letSlotsGo() {
	if rec.patience == nil {
		return
	}
	rec.patience.Stop()
	rec.patience = nil
	d := rec.engine.dispatcher
	d.grantLocked(d.slots.LetGo())
}

// closeLane records that one more part of recovery begins; the first closes the probation
// lane. The engine's mu is held.
func (rec *recovery) closeLane() {
	if rec.open == 0 {
		rec.lane = rec.engine.dispatcher.slots.Take(dispatch.Probation)
	}
	rec.open++
}

// begin resumes what the previous owners left: runs with work in flight, runs that are due,
// messages, and runs that were held because no code fitted.
func (rec *recovery) begin(t *takeover) {
	e := rec.engine
	if len(t.locations) == 0 {
		return
	}
	e.mu.Lock()
	for _, w := range t.wakes {
		p := e.locations.At(w.Partition)
		switch {
		case p == nil || !slices.Contains(t.locations, p): // it was lost again
		case w.Time > store.Hot:
			e.dispatcher.addWake(w.Time, p, w.Run)
		default:
			rec.open++
			rec.runs++
			rec.hot = append(rec.hot, hotRun{p, w.Run})
		}
	}
	rec.next()
	rec.done()
	e.dispatcher.line.News()
	e.mu.Unlock()
	e.dispatcher.due.Bell.Ring()
	e.inbox.Kick()
	e.life.work.Go(func() { e.locations.reviewHeld(t.locations) })
}

// hotRun is a run that had work in flight and is not loaded yet.
type hotRun struct {
	location *location
	run      string
}

// next loads as many runs that had work in flight as MaxAtWork allows. The engine's mu
// is held.
func (rec *recovery) next() {
	e := rec.engine
	for len(rec.hot) > 0 && e.residents.busy < e.config.MaxAtWork {
		next := rec.hot[0]
		if rec.hot = rec.hot[1:]; len(rec.hot) == 0 {
			rec.hot = nil
		}
		if next.location.Lost() {
			rec.done()
			continue
		}
		r := next.location.resident(next.run)
		if r.recovering {
			rec.done()
		}
		r.recovering, r.poked = true, true
		r.activate()
	}
}

// done records that a part of recovery is done. The last one opens the probation lane.
// The engine's mu is held.
func (rec *recovery) done() {
	e := rec.engine
	if rec.open--; rec.open > 0 {
		return
	}
	e.dispatcher.grantLocked(rec.lane.Free())
	rec.lane = nil
	rec.letSlotsGo()
	if rec.runs > 0 {
		e.log.Recovered(rec.runs, rec.lost)
	}
	rec.runs, rec.lost = 0, 0
}
