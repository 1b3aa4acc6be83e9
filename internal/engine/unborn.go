package engine

import (
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/store"
)

// A start message may wait in the inbox although it was read: this version cannot
// decode it, or the workflow ID may just become another run's, or the run could not be
// written. What comes for such a run, that its parent wants it to end for instance, is
// no letter to nobody: it waits with the start message, for the moment in which that is
// routed again, here or by the next owner of the partition.

// unborn are the runs of a workflow ID whose start messages wait, and what waits for
// them. It is guarded by the engine's mu.
type unborn struct {
	runs    map[string]bool
	letters []letter
}

// expectBirth notes that a start message waits. The engine's mu is held.
func (p *partition) expectBirth(workflowID, run string) {
	u := p.unborn[workflowID]
	if u == nil {
		u = &unborn{runs: map[string]bool{}}
		p.unborn[workflowID] = u
	}
	u.runs[run] = true
}

// meant is the run that a message is for, or whose chain; "" for the latest of its
// workflow ID, whichever that is.
func meant(m store.Message, in core.Input) string {
	switch in := in.(type) {
	case core.CancelRun:
		if in.Chain != "" {
			return in.Chain
		}
	case core.TerminateRun:
		if in.Chain != "" {
			return in.Chain
		}
	}
	return m.Run
}

// waitForBirth reports whether a message that is meant for a run, or if that is "" for
// whichever has its workflow ID, waits for one that is to begin.
func (e *Engine) waitForBirth(p *partition, m store.Message, run string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	u := p.unborn[m.WorkflowID]
	if u == nil || run != "" && !u.runs[run] {
		return false
	}
	u.letters = append(u.letters, letter{p, m.Sequence})
	return true
}

// begins notes that a start message waits no more. What waited for a run of its
// workflow ID is routed again; some of it may go on waiting. The engine's mu is held.
func (e *Engine) begins(p *partition, workflowID, run string) {
	u := p.unborn[workflowID]
	if u == nil || !u.runs[run] {
		return
	}
	delete(u.runs, run)
	for _, l := range u.letters {
		delete(p.pending, l.sequence)
	}
	if len(u.letters) > 0 {
		e.kickInbox()
	}
	u.letters = nil
	if len(u.runs) == 0 {
		delete(p.unborn, workflowID)
	}
}

// unwritten leaves the mail of a run that could not even be parked in the inbox. The
// engine's mu is held.
func (e *Engine) unwritten(r *resident) {
	id := r.birth.start.WorkflowID
	r.partition.expectBirth(id, r.id)
	for _, m := range r.mail {
		if m.latest { // it may be for one that begins instead
			delete(r.partition.pending, m.sequence)
			e.kickInbox()
		} else {
			u := r.partition.unborn[id]
			u.letters = append(u.letters, letter{r.partition, m.sequence})
		}
	}
	r.mail = nil
}
