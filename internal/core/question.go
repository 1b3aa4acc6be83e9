package core

import (
	"errors"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/suspects"
	"github.com/perdure/perdure/retry"
)

// lostInDoubt says what follows an attempt that ended without a word of its own: it was lost,
// or given back by a shutdown. One that says that it never began, or did nothing, is in no doubt.
// That it was to begin later than now proves nothing: its node's clock may have been ahead of
// this one's.
func (a *attempts) lostInDoubt(c *Call, e *ending) retry.OnUnknown {
	if e.settled || e.notDone || e.outcome != Lost && e.outcome != Drained {
		return retry.RepeatUnknown
	}
	return c.Policy.AfterUnknown(retry.TypeWorkerLost)
}

// beginDoubt makes an ending wait for the answer of the program or of a person. The gates do
// not wait with it.
func (a *attempts) beginDoubt(c *Call, e ending) {
	a.gating.leave(c, c.gateOutcome)
	c.gateOutcome = ""
	c.Doubt = &Doubt{
		Attempt: c.attempt, ID: AttemptID(a.journal.start.Run, c.Number, c.attempt), Node: c.Node, Started: c.StartedAt, Ended: e.at, Outcome: e.outcome, Failure: e.failure, Reason: e.reason,
	}
	if e.outcome == Lost {
		c.Doubt.Ended = 0
	}
	c.attempt++
}

// ask asks the program, at a time or immediately. The first question waits until no request
// of the attempt can be under way any more.
func (a *attempts) ask(c *Call, at int64) {
	d := c.Doubt
	if d.Question == 0 {
		settled := addTime(at, c.Verify.SettleAfter)
		at, d.Since = settled, settled
	}
	d.Question++
	d.Asking = true
	c.Asked++
	if at > a.journal.now {
		a.backOffUntil(c, at)
	} else {
		a.continueCall(c)
	}
}

// unanswered decides what follows a question that found no answer, because it failed or asks
// to be asked again.
func (a *attempts) unanswered(c *Call, f *history.Failure, after time.Duration, ended int64) {
	c.clearProbation()
	d := c.Doubt
	if d.Said = f; f != nil {
		d.Failed++
	}
	s := retry.State{Attempt: d.Failed, First: time.Unix(0, d.Since), Previous: d.Previous}
	next := retry.NextQuestion(c.terms(), s, after, f.Err(), time.Unix(0, ended), a.journal.jitter(c.Number, c.attempt))
	a.ledger.recordDecision(c, Unknown, f, next, ended)
	c.attempt++
	if d.Previous = next.Delay; next.Retry {
		a.ask(c, next.At.UnixNano())
		return
	}
	d.Asking = false
	a.suspendByEngine(c, InDoubt, next.Reason)
}

// loseQuestion handles a question whose process died or lost the run: it is asked again, unless
// it has killed as many processes as an attempt may.
func (a *attempts) loseQuestion(c *Call, e ending) {
	again := c.StartedAt > a.journal.now // on record ahead of its time
	at := max(c.StartedAt, a.journal.now)
	a.ledger.record(c, Unknown, nil, string(e.reason), at)
	if e.canceled {
		a.closeCanceled(c, a.journal.now)
		return
	}
	c.attempt++
	switch {
	case e.reason == retry.ReasonCrashLimit:
		c.Doubt.Asking = false
		a.suspendByEngine(c, Quarantined, e.reason)
		return
	case again:
		c.StartedAt, c.Node = 0, ""
	default:
		a.noteLoss(c, e.reason)
	}
	a.ask(c, at)
}

// noteLoss puts a call on probation that was lost twice in short succession.
func (a *attempts) noteLoss(c *Call, reason retry.Reason) {
	if reason == retry.ReasonLeaseLost || reason == retry.ReasonCopied {
		c.clearProbation()
		return
	}
	c.OnProbation = c.OnProbation || c.LostAt != 0 && a.journal.now-c.LostAt <= int64(suspects.Window)
	c.LostAt = a.journal.now
}

// errPendingQuestion is why a question cannot be answered from outside.
var errPendingQuestion = errors.New("the Verify function returned activity.ErrPending: a question is answered by its function; return retry.AskAgain to be asked later")

// endQuestion handles the end of a question.
func (a *attempts) endQuestion(c *Call, in AttemptEnded, ended int64) {
	canceled := a.isCanceled(c)
	switch {
	case in.Outcome == Completed:
		a.ledger.record(c, Found, nil, string(retry.ReasonFound), ended)
		a.closeCompleted(c, in, ended)
	case canceled:
		a.ledger.record(c, Unknown, in.Failure, string(retry.ReasonCanceled), ended)
		a.closeCanceled(c, ended)
	case in.Outcome == Absent:
		c.clearProbation()
		d := c.Doubt
		a.conclude(c, ending{outcome: d.Outcome, failure: d.Failure, reason: d.Reason, at: ended, charged: true, settled: true})
	case in.Outcome == Drained:
		a.ledger.record(c, Unknown, nil, string(retry.ReasonDrained), ended)
		c.attempt++
		c.clearProbation()
		a.ask(c, a.journal.now)
	case in.Outcome == Unknown:
		a.unanswered(c, nil, in.After, ended)
	case in.Outcome == Pending:
		a.unanswered(c, history.FromError(retry.Terminal(errPendingQuestion)), 0, ended)
	default:
		a.unanswered(c, in.Failure, 0, ended)
	}
}
