package core

import (
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

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
		a.journal.out.Interrupt = append(a.journal.out.Interrupt, Interrupt{Call: c.Number, Attempt: c.attempt})
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
