package core

import (
	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// queueDue returns when a queued call stops waiting for a slot: at the end of its
// QueueTimeout, or when the attempt may no longer start.
func (c *Call) queueDue() int64 {
	var due int64
	if c.Policy.QueueTimeout > 0 {
		due = addTime(c.QueuedAt, c.Policy.QueueTimeout)
	}
	if end := c.deadline(); c.attempt > 1 && !c.Forced && end != Never && (due == 0 || end < due) {
		due = end + 1
	}
	return due
}

// deadline returns the last moment at which an attempt after a failure may start.
func (c *Call) deadline() int64 {
	return withinEnd(c.First, c.Policy.Within)
}

// pastDeadline reports whether the next attempt of a call may no longer start.
func (a *attempts) pastDeadline(c *Call) bool {
	return c.attempt > 1 && !c.Forced && a.journal.now > c.deadline()
}

// closeLate closes a call if its next attempt may no longer start.
func (a *attempts) closeLate(c *Call) bool {
	if !a.pastDeadline(c) {
		return false
	}
	c.attempt-- // the attempt that will not start
	last := c.Last
	if last == nil { // attempts were lost or given back, but none failed
		last = history.FromError(&retry.WorkerLostError{Worker: c.Node, Attempt: c.attempt, Losses: c.Losses, Limit: crashLimit(c.Policy)})
	}
	a.closeFailed(c, retry.ReasonWithin, c.Policy.AttemptLimit(), last, a.journal.now)
	return true
}

// queuedTooLong fails an attempt that got no slot in time. If an operator has stopped its
// activity, the queue time starts over instead.
func (a *attempts) queuedTooLong(c *Call) {
	if !a.gating.stopped(c) {
		a.gating.leaveGates(c, gates.Neutral) // the next attempt lines up again
		a.attemptFailed(c, TimedOut, queueTimeout(c), a.journal.now)
		return
	}
	c.QueuedAt = a.journal.now
	c.due = c.gatedDue()
	a.calls.watch(c)
	a.calls.touch(c)
	a.calls.offerAgain(c)
}

// queueTimeout returns the failure of an attempt that waited too long for a slot.
func queueTimeout(c *Call) *history.Failure {
	c.StartedAt, c.Node = 0, "" // it never ran
	return history.FromError(&retry.TimeoutError{Kind: retry.TimeoutQueue, Limit: c.Policy.QueueTimeout})
}
