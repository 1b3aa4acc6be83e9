package engine

import (
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/post"
)

// continues records that a turn creates the next run of a chain. Until the turn is durable,
// messages for that run are appended to the mailbox of this one.
func (r *resident) continues(out *core.Turn) {
	if out.Next == nil {
		return
	}
	r.location.engine.inbox.office.Direct(out.Next.WorkflowID, post.Route{Box: r.location.box, Run: r.id, Stage: post.Continuing})
}

// continued records that such a turn is durable or refused. The engine's mu is held.
func (r *resident) continued(out *core.Turn) {
	if out.Next == nil {
		return
	}
	r.location.engine.inbox.office.Undirect(out.Next.WorkflowID, r.id, post.Continuing)
}

// receiver returns the run that gets mail addressed to run. The engine's mu is held.
func (p *location) receiver(run string, m post.Mail) string {
	if m.Latest != "" {
		if to := p.box.Receiver(m.Latest); to != "" {
			return to
		}
	}
	return run
}

// handOn starts the next run of a chain with the mail for the latest run that its predecessor
// has left. In a location that is being handed over the next run waits for the new owner, or
// until the handover is abandoned. The engine's mu is held.
func (r *resident) handOn(next *history.Start) {
	e := r.location.engine
	left, own := post.Divide(r.mail)
	r.mail = own
	p := r.location
	if e.life.phase != running || p.Lost() {
		return // all of it is durable
	}
	e.inbox.office.Direct(next.WorkflowID, post.Route{Box: p.box, Run: next.Run, Stage: post.Continued})
	if len(left) == 0 && next.FirstTurn > e.clock.Now() {
		if next.FirstTurn <= e.dispatcher.due.Horizon() {
			e.dispatcher.addWake(next.FirstTurn, p, next.Run)
		}
		return
	}
	n := p.resident(next.Run)
	n.mail = append(n.mail, left...)
	n.poked = true
	if !p.Closed() {
		n.activate()
	}
}

// createFirst writes the row of a run that ends with its first turn. It needs a commit of its
// own: a turn creates at most one run, and this one creates the successor.
func (r *activeRun) createFirst(out *core.Turn) error {
	if r.create == nil || out.Next == nil {
		return nil
	}
	messages, err := r.announcement()
	if err != nil {
		return err
	}
	t := r.change()
	t.Create, t.Messages = r.create, messages
	return r.commit(t)
}
