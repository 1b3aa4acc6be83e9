package engine

import (
	"context"
	"slices"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/internal/member"
	"github.com/perdure/perdure/internal/placement"
	"github.com/perdure/perdure/store"
)

// holder is the engine as member.Holder.
type holder struct{ e *Engine }

func (h holder) Served() []member.Partition {
	h.e.mu.Lock()
	defer h.e.mu.Unlock()
	var ps []member.Partition
	for _, p := range h.e.locations.Served() {
		ps = append(ps, p.view())
	}
	return ps
}

func (p *location) view() member.Partition {
	return member.Partition{Number: p.Number, Epoch: p.Epoch, Node: p.Node, Closed: p.Closed(), Work: p.active}
}

// still returns those locations that are served under the same epoch. The engine's mu is
// held.
func (h holder) still(views []member.Partition) (ps []*location) {
	for _, v := range views {
		if p := h.e.locations.Under(dispatch.Tenure{Partition: v.Number, Epoch: v.Epoch}); p != nil {
			ps = append(ps, p)
		}
	}
	return ps
}

func (h holder) Taken(node string, owned []store.Ownership) {
	e := h.e
	t := e.locations.takeOver(node, owned)
	e.life.work.Go(func() {
		if e.db.reads.Persist(e.life.ctx, "reading what runs want a step", func() error { return e.locations.readWakes(e.life.ctx, t) }) == nil {
			e.recovery.begin(t)
		}
	})
}

func (h holder) Lost(ps []member.Partition) {
	h.e.mu.Lock()
	defer h.e.mu.Unlock()
	h.e.locations.loseLocked(h.still(ps))
}

// Close also takes the calls of the locations out of the queue for slots.
func (h holder) Close(ps []member.Partition) {
	h.e.mu.Lock()
	defer h.e.mu.Unlock()
	closing := h.still(ps)
	for _, p := range closing {
		p.Close()
	}
	h.e.dispatcher.slots.Suspend(placement.Tenures(closing))
}

func (h holder) DropQuiet(ctx context.Context, ps []member.Partition) (quiet, rest []member.Partition) {
	clock.Await(ctx, h.e.residents.quiet, func() bool {
		rest = nil
		var dropped []*location
		for _, p := range h.still(ps) {
			if p.active == 0 {
				dropped, quiet = append(dropped, p), append(quiet, p.view())
			} else {
				rest = append(rest, p.view())
			}
		}
		if len(dropped) > 0 {
			h.e.locations.drop(dropped)
		}
		return len(rest) < len(ps)
	})
	return quiet, rest
}

// Reopen also puts the calls of the locations back into the queue for slots, and makes up for
// what left them out: a review of held runs, and runs that came home.
func (h holder) Reopen(ps []member.Partition) {
	e := h.e
	e.mu.Lock()
	defer e.mu.Unlock()
	open := h.still(ps)
	var missed []*location
	for _, p := range open {
		if p.Reopen(); p.missed {
			missed = append(missed, p)
		}
		p.missed = false
	}
	e.dispatcher.slots.Resume(placement.Tenures(open))
	if len(open) > 0 {
		e.life.work.Go(func() {
			_ = e.locations.wakeMissed(missed) // else the engine ends
			e.locations.reviewHeld(open)
		})
	}
	for _, r := range e.residents.all {
		if r.poked && slices.Contains(open, r.location) {
			r.activate() // it could not start meanwhile
		}
	}
	e.dispatcher.serveAgain()
	e.dispatcher.line.News()
	e.inbox.Kick() // it was not read for these locations
}

// Renewed gives slots to calls that got none because the lease might have expired. It also
// wakes the wake loop, because the clock may have moved.
func (h holder) Renewed(ms *store.Membership) {
	e := h.e
	fresh := e.nodes.See(ms)
	e.dispatcher.due.Bell.Ring()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.Moved(fresh)
	e.dispatcher.askAgain(e.dispatcher.slots.Renewed())
}
