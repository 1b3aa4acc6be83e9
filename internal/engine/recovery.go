package engine

import (
	"slices"
	"time"

	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/store"
)

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
		p := e.locations.all[w.Partition]
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
	e.inbox.kick()
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
		if e.locations.all[next.location.number] != next.location {
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
