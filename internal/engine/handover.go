package engine

import (
	"context"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
)

// handOver gives partitions that are leaving to other nodes: nothing new begins in
// them, and each is released when nothing of it is at work here any more. Those in
// which attempts still run when the patience ends are kept.
func (e *Engine) handOver(ps []*partition, patience context.Context) {
	e.mu.Lock()
	queued := e.slots.withdraw(setOf(ps))
	e.mu.Unlock()
	for len(ps) > 0 && patience.Err() == nil {
		var quiet []*partition
		quiet, ps = e.awaitQuiet(ps, patience)
		if len(quiet) > 0 {
			e.giveBack(quiet[0].node, numbers(quiet))
		}
	}
	e.keep(ps, queued)
}

// awaitQuiet waits until nothing of some of the partitions is at work any more,
// drops these from memory and returns them, and the rest.
func (e *Engine) awaitQuiet(ps []*partition, patience context.Context) (quiet, rest []*partition) {
	e.waitFor(patience, func() bool {
		rest = nil
		for _, p := range ps {
			switch {
			case e.partitions[p.number] != p: // lost meanwhile
			case p.active == 0:
				quiet = append(quiet, p)
				e.member.released[p.number] = time.Time{}
			default:
				rest = append(rest, p)
			}
		}
		if len(quiet) > 0 {
			e.drop(quiet)
		}
		return len(rest) < len(ps)
	})
	return quiet, rest
}

// giveBack releases partitions that are not served any more. If that fails they
// may still be this node's, which the next renewal tells.
func (e *Engine) giveBack(node string, partitions []int) {
	ctx, cancel := context.WithTimeout(e.ctx, e.config.Lease/3)
	defer cancel()
	err := e.db.Release(ctx, node, partitions)
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range partitions {
		if err == nil {
			e.member.released[p] = time.Now()
		} else {
			delete(e.member.released, p)
		}
	}
	if err != nil && e.ctx.Err() == nil {
		e.log.Warn("perdure: partitions could not be handed over", "partitions", partitions, "error", err)
	}
}

// keep goes on to serve partitions that were to leave, with the calls that had
// waited for a slot.
func (e *Engine) keep(ps []*partition, queued []*waiter) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range ps {
		p.leaving = false
	}
	kept := setOf(ps)
	for _, r := range e.residents {
		if kept[r.partition] && r.poked {
			e.rouse(r) // it was not to begin meanwhile
		}
	}
	e.slots.comeBack(slices.DeleteFunc(queued, func(w *waiter) bool {
		return !kept[w.partition] || e.partitions[w.partition.number] != w.partition
	}))
	e.serveAgain()
	e.kickInbox() // it was not read for them
}

// serveAgain gives slots again after a time in which calls were refused one,
// because their partition was to leave or the lease might have been over. The
// engine's mu is held.
func (e *Engine) serveAgain() {
	e.slots.serve(e, regular)
	e.slots.serve(e, probation)
	for _, r := range e.residents {
		if r.slotRefused && !r.partition.leaving {
			r.slotRefused = false
			r.mail = append(r.mail, mail{input: core.SlotsOpen{}})
			e.rouse(r)
		}
	}
}
