package core

import (
	"cmp"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// apply opens or closes a call for an event that concerns nothing but calls.
func (a *attempts) apply(e *history.Event) {
	c := a.calls.byNumber[e.Call]
	switch e.Kind {
	case history.ActivityScheduled, history.StepScheduled:
		a.applyScheduled(e)
	case history.TimerStarted:
		c = a.calls.open(e)
		c.due, c.Block = e.Due, e.Block
		a.calls.watch(c)
		a.calls.noteBackoff(c, e)
	case history.SideEffectRecorded:
		c = a.calls.open(e)
		c.Result = e.Result
		a.close(c)
	case history.CallRefused:
		c = a.calls.open(e)
		c.Failure, c.Block = e.Failure, e.Block
		a.close(c)
	case history.TimerFired:
		if c != nil {
			a.close(c)
		}
	case history.TimerCanceled:
		if c != nil {
			c.Failure = abortedFailure(c)
			a.close(c)
		}
	case history.CallCompleted, history.CallFailed, history.CallCanceled:
		if c != nil {
			c.Result, c.Failure, c.Retry = e.Result, e.Failure, e.Retry
			c.Child.setOutcome(e)
			a.ledger.count(c, e)
			a.close(c)
		}
	case history.CallControlled:
		a.applyControlled(e)
	}
}

// emit puts an event about a call on record and applies it.
func (a *attempts) emit(e history.Event) {
	a.journal.append(e)
	a.apply(&e)
}

// close marks the call as done and lets the code see it.
func (a *attempts) close(c *Call) {
	c.Since = a.calls.placeOf(c)
	a.remove(c)
	a.journal.mustAdvance = true
	if c.Follower != nil {
		c.Follower.CallDone()
	}
}

// remove takes a call that is done out of the open ones.
func (a *attempts) remove(c *Call) {
	a.leaveGates(c)
	c.Done = true
	a.calls.setState(c, "")
	a.calls.setUntold(c, false)
	c.due = 0
	a.calls.forget(c)
}

func (a *attempts) applyScheduled(e *history.Event) {
	c := a.calls.open(e)
	c.Verify = e.Verify
	c.Policy = c.Verify.InForce(cmp.Or(e.Policy, &zeroPolicy))
	c.attempt = 1
	c.First = a.journal.now
	c.QueuedAt = a.journal.now
	c.Gates, c.Priority = e.Gates, cmp.Or(e.Priority, a.journal.start.Priority)
	c.AtGates = make([]atGate, len(e.Gates))
	if a.journal.out != nil {
		a.wantSlot(c)
		return
	}
	// Without a row the call is in its first attempt, which started with the turn.
	a.calls.setState(c, Dispatched)
	c.StartedAt = a.journal.now
	if a.journal.config.Owner != nil {
		c.Node = a.journal.config.Owner(a.journal.epoch)
	}
}

// applyControlled applies those effects of an operation that no row holds.
func (a *attempts) applyControlled(e *history.Event) {
	if e.ID != "" {
		a.operationIDs.add(e.ID, a.journal.now)
	}
	if c := a.calls.byNumber[e.Call]; c != nil && e.Policy != nil {
		c.Policy = c.Verify.InForce(e.Policy)
	}
	if b := a.calls.blocks[e.Call]; b != nil && e.Outcome == Applied {
		if e.Policy != nil {
			b.call.Policy = e.Policy
		}
		b.forced = b.forced || e.Operation == string(RetryNow)
	}
}

// zeroPolicy is in force for calls without a recorded policy.
var zeroPolicy retry.Policy
