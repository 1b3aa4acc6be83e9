package engine

import (
	"github.com/perdure/perdure/internal/attempt"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/internal/feed"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/store"
)

// dispatcher lets runs and attempts start: it knows the slots, the line of runs, and what is due,
// and tells residents.
type dispatcher struct {
	engine   *Engine
	slots    *dispatch.Slots
	line     *dispatch.Line // started runs that wait for a slot
	lineFeed feed.Line
	due      *dispatch.Due // when runs want a step
	dueFeed  feed.Due
	recovery *dispatch.Recovery
	unserved dispatch.Unserved

	beginLater []*resident // runs that begin when fewer turns are in progress; guarded by the engine's mu
}

// want gives a slot to an attempt or enqueues it.
func (d *dispatcher) want(x *attempt.Attempt, w dispatch.Waiter) {
	w.Call, w.Tenure, w.Attempt = dispatch.Call{Run: x.Run, Number: x.Call}, x.Tenure, x
	slot, may := d.slots.Want(&w)
	switch {
	case !may:
		x.Decline() // it is enqueued for another node, or until the activity is resumed
	case slot != nil && !x.Launch(slot):
		d.grant(slot.Refuse())
	}
}

// grant is grantLocked for callers that do not hold the engine's mu.
func (d *dispatcher) grant(grants []dispatch.Grant) {
	if len(grants) == 0 {
		return // the usual case
	}
	d.engine.mu.Lock()
	defer d.engine.mu.Unlock()
	d.grantLocked(grants)
}

// grantLocked tells the calls that waited for slots that they have them. The engine's mu is held.
func (d *dispatcher) grantLocked(grants []dispatch.Grant) {
	for len(grants) > 0 {
		g := grants[0]
		grants = grants[1:]
		switch p := d.engine.locations.Under(g.Tenure); {
		case p == nil: // the location was lost meanwhile
			grants = append(grants, g.Void()...)
		case g.Number == dispatch.ToBegin:
			grants = append(grants, p.letBegin(g.Run, g.Slot)...)
		case g.Attempt == nil:
			p.deliverLocked(g.Run, post.Mail{Input: core.Granted{Call: g.Number, Group: g.Group}})
		case !g.Attempt.Launch(g.Slot):
			grants = append(grants, g.Slot.Refuse()...)
		}
	}
}

// serveAgain gives slots to calls that were refused one because their location was closed,
// their activity was paused or the lease might have expired. The engine's mu is held.
func (d *dispatcher) serveAgain() { d.askAgain(d.slots.Reopen()) }

// askAgain delivers grants, and makes runs ask for slots again. The engine's mu is held.
func (d *dispatcher) askAgain(grants []dispatch.Grant, all []*dispatch.Seats) {
	d.grantLocked(grants)
	for _, seats := range all {
		run, of := seats.Run()
		if p := d.engine.locations.Under(of); p != nil {
			p.deliverLocked(run, post.Mail{Input: core.SlotsOpen{}})
		}
	}
}

// toBegin is a run of the location that waits for a slot to begin.
func (p *location) toBegin(row *store.Run) *dispatch.Waiter {
	return &dispatch.Waiter{Call: dispatch.Call{Run: row.ID}, Tenure: p.Tenure(), Key: row.Key, Weight: row.Weight, Priority: row.Priority}
}

// join makes a run whose row is in line wait for a slot in memory, unless runs that exist in
// the database alone precede it.
func (p *location) join(row *store.Run) {
	e := p.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if p.Lost() || p.Closed() {
		return // the next owner finds its row
	}
	e.dispatcher.grantLocked(e.dispatcher.line.Join(p.toBegin(row), row.Wake))
}

// addWake notes when a run wants a step.
func (d *dispatcher) addWake(at int64, p *location, run string) {
	d.due.Add(dispatch.DueRun{At: at, Tenure: p.Tenure(), Run: run})
}

// stepDue steps runs that are due. A time is void if its run is in memory and waits for another one.
func (d *dispatcher) stepDue(due []dispatch.DueRun) {
	e := d.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range due {
		p := e.locations.Under(w.Tenure)
		if p == nil {
			continue
		}
		r := e.residents.all[w.Run]
		if w.ByMail { // see postponed
			if r != nil && len(r.mail) > 0 {
				r.activate()
			}
			continue
		}
		if r != nil && r.atRest() && r.wake != w.At {
			continue
		}
		r = p.resident(w.Run)
		r.poked = true
		r.activate()
	}
}

// addFound notes due times that were read from the database.
func (d *dispatcher) addFound(due []store.Wake) {
	e := d.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range due {
		p, r := e.locations.At(w.Partition), e.residents.all[w.Run]
		// A resident at work, or about to be loaded, may be evicted before it has this due time.
		if p != nil && (r == nil || !r.atRest()) {
			// The run is loaded early, so that an attempt which is due then begins in time.
			d.addWake(w.Time-int64(early), p, w.Run)
		}
	}
}
