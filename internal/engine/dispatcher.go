package engine

import (
	"github.com/perdure/perdure/internal/attempt"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/store"
)

// dispatcher lets runs and attempts start: it knows the slots, the line of runs, and what is due,
// and tells residents.
type dispatcher struct {
	engine   *Engine
	slots    *dispatch.Slots
	line     *dispatch.Line // started runs that wait for a slot
	due      *dispatch.Due  // when runs want a step
	unserved dispatch.Unserved

	beginLater []*resident // runs that begin when fewer turns are in progress; guarded by the engine's mu
}

func newDispatcher(e *Engine, holds func() bool) *dispatcher {
	slots := dispatch.NewSlots(e.config.Concurrency, holds)
	return &dispatcher{engine: e, slots: slots, line: dispatch.NewLine(slots, e.config.InboxEvery), due: dispatch.NewDue(store.Hot)}
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
		switch p := d.engine.locations.all[g.Partition]; {
		case p == nil || p.epoch != g.Epoch: // the partition was lost meanwhile
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

// serveAgain gives slots to calls that were refused one because their partition was closed,
// their activity was paused or the lease might have expired. The engine's mu is held.
func (d *dispatcher) serveAgain() { d.askAgain(d.slots.Reopen()) }

// askAgain delivers grants, and makes runs ask for slots again. The engine's mu is held.
func (d *dispatcher) askAgain(grants []dispatch.Grant, all []*dispatch.Seats) {
	d.grantLocked(grants)
	for _, seats := range all {
		run, of := seats.Run()
		if p := d.engine.locations.all[of.Partition]; p != nil && p.epoch == of.Epoch {
			p.deliverLocked(run, post.Mail{Input: core.SlotsOpen{}})
		}
	}
}

// toBegin is a run of the location that waits for a slot to begin.
func (p *location) toBegin(row *store.Run) *dispatch.Waiter {
	return &dispatch.Waiter{Call: dispatch.Call{Run: row.ID}, Tenure: p.tenure(), Key: row.Key, Weight: row.Weight, Priority: row.Priority}
}

// join makes a run whose row is in line wait for a slot in memory, unless runs that exist in
// the database alone precede it.
func (p *location) join(row *store.Run) {
	e := p.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.locations.all[p.number] != p || p.leaving {
		return // the next owner finds its row
	}
	e.dispatcher.grantLocked(e.dispatcher.line.Join(p.toBegin(row), row.Wake))
}
