package engine

import (
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
)

// mayFollow reports whether a child may use the workflow ID of an existing closed run. A fire
// of a schedule never may: each time fires once. Starts of one parent arrive in order, so the
// existing run was not started later than the child.
func mayFollow(start *history.Start, existing *store.Run) bool {
	p := start.Parent
	if existing.Status.Open() || existing.Status == store.Continued || entity.KindOf(p.WorkflowID) != entity.Run {
		return false
	}
	switch p.Reuse {
	case history.ReuseEnded:
		return true
	case history.ReuseFailed:
		return existing.Status != store.Completed
	case history.ReuseOwn:
		before, err := record.Start(existing)
		return err == nil && existing.Type == start.Type && sameChain(before.Parent, p)
	}
	return false
}

// sameChain reports whether two parents are runs of one chain.
func sameChain(a, b *history.Parent) bool {
	return a != nil && a.WorkflowID == b.WorkflowID && a.Chain == b.Chain
}

// startAfter starts a refused child again, as the successor of the run that had its workflow
// ID, and delivers its mail again. It replaces the refused resident, because the turn of its
// code began without the existing run.
func (r *resident) startAfter(todo []post.Mail, existing *store.Run) {
	e := r.location.engine
	p, s := r.location, r.pending
	start := s.start
	start.After = existing.ID
	row, err := record.NewRun(p.partition, &start)
	if err != nil {
		e.log.ChildNotStarted(start.WorkflowID, r.id, err)
		return
	}
	row.After = existing.ID
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.locations.all[p.number] != p || e.residents.all[r.id] != r {
		return // another node owns it
	}
	e.dispatcher.grantLocked(r.seats.Close()) // the next resident has seats of its own
	again := p.newResident(r.id)
	again.create, again.pending = row, &pendingStart{start: start, sequence: s.sequence}
	again.mail = slices.DeleteFunc(slices.Concat(todo, r.mail), func(m post.Mail) bool {
		_, granted := m.Input.(core.Granted) // its slot is freed with the refused resident
		return granted
	})
	r.pending, r.create, r.mail = nil, nil, nil
	e.residents.all[r.id] = again
	again.activate()
}
