package engine

import (
	"context"
	"fmt"
	"math"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/around"
	"github.com/perdure/perdure/internal/attempt"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/internal/seal"
)

// begin starts an attempt whose turn is durable, in the given slot. The engine's mu is held.
func (r *activeRun) begin(d *core.Dispatch, slot *dispatch.Slot) {
	e := r.engine
	p := r.location
	body := r.body(d)
	// Its code was evicted, the engine stops, or the turn took so long that another node may
	// own the run.
	if body == nil || e.life.phase != running || !e.member.Holds() {
		p.deliverLocked(r.id, post.Mail{Input: core.AttemptEnded{
			Call: d.Call, Attempt: d.Attempt, Outcome: core.Drained, Ended: e.clock.Now(),
		}})
		e.dispatcher.grantLocked(slot.Free())
		return
	}
	a := r.aroundAttempts()
	start := r.run.Began()
	body = e.registry.Surrounded(body, a, func() intercept.Op {
		return intercept.Op{
			Kind: intercept.Attempt, Name: d.Name, WorkflowID: start.WorkflowID, RunID: r.id, Workflow: start.Type,
			Call: d.Call, Attempt: d.Attempt, Headers: a.Headers,
		}
	})
	p.active++
	info := activity.Info{WorkflowID: start.WorkflowID, RunID: r.id, Workflow: start.Type, Headers: start.Headers}
	info.CallID, info.AttemptID = r.run.AttemptIDs(d.Call, d.Name, d.Attempt)
	spec := attempt.Spec{Run: r.id, Tenure: p.Tenure(), Dispatch: *d, Info: info, Body: body, Values: a.Values, Slot: slot}
	if slot == nil {
		spec.Wants = r.wanting(d)
	}
	e.attempts.Begin(spec)
}

// aroundAttempts returns what surrounds the attempts of a run. The engine's mu is held.
func (r *activeRun) aroundAttempts() *around.Attempts {
	if !r.around.Asked {
		r.around = r.engine.registry.Around.OfRun(r.run.Began())
	}
	return &r.around
}

// body returns what the attempt runs, nil if the code is gone.
func (r *activeRun) body(d *core.Dispatch) seal.Body {
	if d.Step {
		if r.instance == nil {
			return nil
		}
		return r.instance.Body(d.Call)
	}
	return r.engine.registry.Body(d)
}

// attemptOwner is the engine as attempt.Owner.
type attemptOwner struct{ e *Engine }

// Ended puts the end of an attempt into the mailbox of its run. Until then the attempt counts
// as running, so a run that is being loaded finds either the attempt or its end.
func (o attemptOwner) Ended(end attempt.End) {
	e, x := o.e, end.Attempt
	e.mu.Lock()
	defer e.mu.Unlock()
	e.attempts.Remove(x)
	if end.Input.Unbegun || end.Slot == nil {
		e.dispatcher.slots.Forget(dispatch.Call{Run: x.Run, Number: x.Call}, x)
	}
	e.residents.quiet.Broadcast()
	if e.queues.server != nil {
		defer e.queues.server.Freed() // a slot for a queue may be free
	}
	p := e.locations.Under(x.Tenure)
	if p != nil {
		p.active--
		if end.Input.Outcome != core.Completed || end.Transaction != nil {
			p.takeBeat(x, end.Input.Ended) // the next attempt gets the last details of this one
		}
		p.deliverLocked(x.Run, post.Mail{Input: end.Input, Transaction: end.Transaction})
	}
	switch onTrial := end.Slot != nil && end.Slot.Lane() == dispatch.Probation; {
	case onTrial && end.Survived():
		e.acquit(end.Slot.Activity(), core.AttemptID(x.Run, x.Call, x.Number), end.Slot.Free)
	case onTrial || p == nil || !e.residents.all[x.Run].keeps(end.Slot):
		e.dispatcher.grantLocked(end.Slot.Free())
		e.letBack()
	}
}

// keeps leaves the slot of an ended attempt to its run if that may use it soon. The engine's mu
// is held.
func (r *resident) keeps(slot *dispatch.Slot) bool {
	if r == nil || r.stepping {
		return false
	}
	kept, grants := r.seats.Keep(slot)
	r.location.engine.dispatcher.grantLocked(grants)
	return kept
}

// Beat puts the last heartbeat of a running attempt into the mailbox of its run.
func (o attemptOwner) Beat(x *attempt.Attempt) {
	o.e.mu.Lock()
	defer o.e.mu.Unlock()
	if p := o.e.locations.Under(x.Tenure); p != nil && !x.Ended() {
		p.takeBeat(x, math.MaxInt64)
	}
}

// takeBeat delivers a heartbeat that the run has not seen. It replaces one that still waits in
// the mailbox, so heartbeats do not pile up during an outage of the database. It was before the
// end of its attempt, if that is known, whatever two readings of the clock say. The engine's mu
// is held.
func (p *location) takeBeat(x *attempt.Attempt, ended int64) {
	beat, fresh := x.TakeBeat()
	if !fresh {
		return
	}
	beat.At = min(beat.At, ended)
	if r := p.engine.residents.all[x.Run]; r != nil {
		for i, m := range r.mail {
			if old, is := m.Input.(core.Heartbeat); is && m.Sequence == 0 && old.Call == beat.Call && old.Attempt == beat.Attempt {
				r.mail[i].Input, r.mail[i].At = beat, beat.At
				return
			}
		}
	}
	p.deliverLocked(x.Run, post.Mail{Input: beat})
}

// TrialOver offers a running attempt to leave the probation lane. The run decides and records
// the decision. If another node owns the run now, the attempt leaves immediately.
func (o attemptOwner) TrialOver(x *attempt.Attempt) {
	e := o.e
	e.mu.Lock()
	defer e.mu.Unlock()
	if x.Ended() {
		return
	}
	if p := e.locations.Under(x.Tenure); p != nil {
		p.deliverLocked(x.Run, post.Mail{Input: core.OffProbation{AttemptRef: core.AttemptRef{Call: x.Call, Attempt: x.Number}}})
		return
	}
	e.dispatcher.grantLocked(x.LeaveProbation())
}

// hook returns what the store has to run inside the turn's transaction, nil for nothing. The
// machine has accepted the attempt.
func (e *Engine) hook(out *core.Turn, todo []post.Mail) func(tx any) error {
	if len(out.Transactions) == 0 {
		return nil
	}
	for _, m := range todo {
		if m.Transaction != nil {
			return func(tx any) error {
				return e.code.transactions.Run(context.WithoutCancel(m.Transaction.Context), m.Transaction.Run, tx)
			}
		}
	}
	return nil
}

// transactionFailed replaces the end of the attempt whose transaction failed by a failure.
// Nothing of the turn is durable; the run is loaded again and gets the failure.
func (r *resident) transactionFailed(todo []post.Mail, failure error) {
	for i, m := range todo {
		end, ok := m.Input.(core.AttemptEnded)
		if !ok || m.Transaction == nil {
			continue
		}
		todo[i] = post.Mail{Sequence: m.Sequence, At: m.At, Input: core.AttemptEnded{
			Call: end.Call, Attempt: end.Attempt, Outcome: core.Failed, Ended: r.location.engine.clock.Now(),
			Failure: history.FromError(fmt.Errorf("step transaction: %w", failure)),
		}}
	}
	r.putBack(todo)
}
