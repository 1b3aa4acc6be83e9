package core

import (
	"cmp"
	"time"

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
	c.attempt, c.First, c.QueuedAt = 1, a.journal.now, a.journal.now
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

// recordStart records the attempt that closes a call (E21). An attempt that never ran is
// not recorded.
func (a *attempts) recordStart(c *Call) {
	if c.StartedAt == 0 {
		return
	}
	queued := c.QueuedAt
	if queued > c.StartedAt {
		queued = 0 // the time of the next attempt, which will not start
	}
	a.journal.append(history.Event{
		Kind: history.AttemptStarted, Call: c.Number, Attempt: c.attempt, Node: c.Node,
		Queued: queued, Started: c.StartedAt,
	})
}

// closeCompleted closes a call with the result of an attempt, or with that which a question found.
func (a *attempts) closeCompleted(c *Call, in AttemptEnded, ended int64) {
	if in.Transaction {
		a.journal.out.Transactions = append(a.journal.out.Transactions, AttemptRef{in.Call, in.Attempt})
	}
	a.recordStart(c)
	a.emit(history.Event{Kind: history.CallCompleted, Call: c.Number, Result: in.Result, Ended: ended, Retry: a.ledger.summary(c, false, ended)})
}

// closeFailed closes a call with a failure made from the last one and the reason.
func (a *attempts) closeFailed(c *Call, d retry.Decision, e ending) {
	f, ended := e.failure, e.at
	switch d.Reason {
	case retry.ReasonTerminal:
	case retry.ReasonUnknown:
		f = a.unknownError(c, e)
	case retry.ReasonCanceled: // the body says so; the run was not asked to cancel
		f = history.FromError(&retry.AbortedError{Name: c.Name, Attempt: c.attempt, Phase: retry.PhaseExecution, Cause: f.Err()})
	default:
		f = history.Exhausted(retry.ExhaustedError{
			Name: c.Name, Attempts: c.Failures, Reason: d.Reason, Max: d.Max, Within: c.Policy.Within,
		}, f)
	}
	a.recordStart(c)
	a.emit(history.Event{
		Kind: history.CallFailed, Call: c.Number, Failure: f, Ended: ended,
		Reason: string(d.Reason), Retry: a.ledger.summary(c, d.Reason.Exhausts(), ended),
	})
}

// unknownError returns the failure of a call that ends in doubt.
func (a *attempts) unknownError(c *Call, e ending) *history.Failure {
	err := retry.UnknownError{
		Name: c.Name, Attempt: c.attempt, ID: AttemptID(a.journal.start.Run, c.Number, c.attempt), Node: c.Node,
		Start: time.Unix(0, c.StartedAt).UTC(),
	}
	if e.failure != nil || e.outcome == Drained {
		err.End = time.Unix(0, e.at).UTC()
	}
	last := e.failure
	if last == nil {
		last = history.FromError(&retry.WorkerLostError{Worker: c.Node, Attempt: c.attempt, Losses: c.Losses + c.Drains, Limit: crashLimit(c.Policy)})
	}
	return history.InDoubt(err, last)
}

// closeCanceled closes a canceled call whose attempt did not succeed.
func (a *attempts) closeCanceled(c *Call, ended int64) {
	attempt := c.attempt
	if c.Doubt != nil {
		attempt = c.Doubt.Attempt
	}
	a.recordStart(c)
	a.emit(history.Event{
		Kind: history.CallCanceled, Call: c.Number, Ended: ended,
		Failure: history.Aborted(c.Name, attempt, retry.PhaseExecution, c.Last),
		Reason:  string(retry.ReasonCanceled), Retry: a.ledger.summary(c, false, ended),
	})
}

// closeWaiting ends a canceled call whose next attempt has not started, or whose attempt
// continues outside.
func (a *attempts) closeWaiting(c *Call, ended int64) {
	e := history.Event{
		Kind: history.CallCanceled, Call: c.Number, Ended: ended, Failure: abortedFailure(c),
		Reason: string(retry.ReasonCanceled), Retry: a.ledger.summaryNow(c),
	}
	if c.state == External {
		a.interrupt(c, true)
	}
	a.emit(e)
}

// closeUnbegun ends a canceled call whose attempt is on record but never began: the call
// was canceled while the attempt waited for its time or its slot.
func (a *attempts) closeUnbegun(c *Call, ended int64) {
	if c.StartedAt > a.journal.now {
		a.calls.setState(c, Backoff)
	} else {
		a.calls.setState(c, Queued)
	}
	c.StartedAt, c.Node = 0, ""
	a.closeWaiting(c, min(ended, a.journal.now))
}

// interrupt asks the attempt in flight to end. With givenUp it records the end now, and a
// later result of the attempt is dropped.
func (a *attempts) interrupt(c *Call, givenUp bool) {
	if c.state == Remote && !givenUp {
		a.journal.out.Stopped = append(a.journal.out.Stopped, AttemptRef{c.Number, c.attempt})
	}
	if c.state == Dispatched {
		a.journal.out.Interrupt = append(a.journal.out.Interrupt, AttemptRef{Call: c.Number, Attempt: c.attempt})
	}
	if givenUp {
		a.ledger.record(c, Canceled, nil, string(retry.ReasonCanceled), max(a.journal.now, c.StartedAt))
	}
}

// suspendByEngine makes a call wait for an operator, who is told.
func (a *attempts) suspendByEngine(c *Call, state CallState, reason retry.Reason) {
	a.emit(history.Event{
		Kind: history.CallControlled, Call: c.Number, Name: c.Name, Operation: string(PauseCall),
		Reason: string(reason), Outcome: Applied, Note: string(state),
	})
	c.Pause = &Pause{Reason: string(reason), At: a.journal.now, Exhausted: state == Paused}
	a.suspend(c, state)
	if a.journal.config.Tell {
		a.calls.setUntold(c, true)
		a.calls.notifyWaiting(c)
	}
}
