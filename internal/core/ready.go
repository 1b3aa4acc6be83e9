package core

import (
	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/retry"
)

// wantSlot makes an attempt ready once it has passed its gates. The end of the step starts
// it if there is a slot. A question waits until it can be answered, whoever wants it earlier.
func (a *attempts) wantSlot(c *Call) {
	if c.settling(a.journal.now) {
		a.backOffUntil(c, c.Doubt.Since)
		return
	}
	a.wantSlotSince(c, a.journal.now)
}

// wantSlotSince is wantSlot for an attempt that is ready at a time. One that may no longer
// start waits for the end of its time, which closes the call in the order of what else
// happened.
func (a *attempts) wantSlotSince(c *Call, at int64) {
	c.QueuedAt = at
	if a.pastDeadline(c) {
		a.calls.setState(c, Queued)
		a.calls.await(c, c.deadline()+1)
		return
	}
	a.enterGates(c)
}

// enterGates asks for the next gate that an attempt needs. If the attempt has passed them
// all, enterGates makes it ready.
func (a *attempts) enterGates(c *Call) {
	if a.gating.askNext(c) {
		return
	}
	a.calls.setState(c, "")
	c.due, c.Collecting = 0, 0
	a.ready = append(a.ready, c)
	a.calls.touch(c)
}

// askSlotsAgain lets all queued calls ask for a slot.
func (a *attempts) askSlotsAgain() {
	for _, c := range a.calls.sorted() {
		if c.state == Queued {
			a.ready = append(a.ready, c)
		}
	}
}

// continueCall makes the next attempt ready, unless an operator has paused the call.
func (a *attempts) continueCall(c *Call) {
	if c.Pause != nil {
		a.suspend(c, Paused)
		return
	}
	a.wantSlot(c)
}

// backOffUntil waits for the time of the next attempt. A paused call continues that wait
// when it is resumed.
func (a *attempts) backOffUntil(c *Call, at int64) {
	if c.Pause != nil {
		c.Pause.Due = at
		a.suspend(c, Paused)
		return
	}
	a.calls.setState(c, Backoff)
	c.due = at
	a.calls.awaitBackoff(c)
	a.calls.touch(c)
}

// resumeBackoff resumes the backoff of an attempt that was recorded ahead of its time.
func (a *attempts) resumeBackoff(c *Call) {
	at := c.StartedAt
	c.StartedAt, c.Node = 0, ""
	a.backOffUntil(c, at)
}

// requeueUnbegun queues an attempt that was recorded without a slot and found none free when
// its time came.
func (a *attempts) requeueUnbegun(c *Call) {
	c.StartedAt, c.Node = 0, ""
	if c.Pause != nil {
		a.suspend(c, Paused)
		return
	}
	a.calls.setState(c, Queued)
	a.calls.await(c, c.queueDue()) // it may have waited too long by now
	a.ready = append(a.ready, c)
}

// suspend makes a call wait for an operator. It keeps nothing at its gates.
func (a *attempts) suspend(c *Call, state CallState) {
	a.gating.leave(c, c.gateOutcome)
	c.gateOutcome = ""
	a.calls.setState(c, state)
	c.due = 0
	a.calls.touch(c)
}

// continueGated continues a call that waits for no further gate. An inline step whose code is
// missing gives its gates up, because getting the code may take long.
func (a *attempts) continueGated(c *Call) {
	if c.state != Gated || c.Undecided != nil {
		return
	}
	if c.Step() && a.journal.program == nil {
		a.gating.leave(c, gates.Neutral)
		return
	}
	a.enterGates(c)
}

// askGatesAgain makes calls that left their gates because they could not run ask again.
func (a *attempts) askGatesAgain() {
	for _, c := range a.calls.sorted() {
		if c.state == Gated && c.Undecided == nil && (a.journal.program != nil || !c.Step()) {
			a.gating.askNext(c)
		}
	}
}

// leaveGates gives up the gates of a call that is closed. If its last attempt waits for
// budgets, the ledger has it without their answer.
func (a *attempts) leaveGates(c *Call) {
	if a.journal.out == nil {
		return
	}
	if u := c.Undecided; u != nil {
		c.Undecided = nil
		a.ledger.record(c, u.Outcome, u.Failure, string(retry.ReasonCanceled), u.Ended)
	}
	a.gating.leave(c, c.gateOutcome)
}

// pastDeadline reports whether the next attempt of a call may no longer start.
func (a *attempts) pastDeadline(c *Call) bool {
	return c.attempt > 1 && !c.Forced && !c.asking() && a.journal.now > c.deadline()
}

// isCanceled reports whether a call is to end: its code asked for that, or the run was asked
// to cancel and its code, which has not been told yet, will.
func (a *attempts) isCanceled(c *Call) bool {
	return c.cancelRequested || a.journal.cancellation.untold && !c.Shielded
}
