package core

import (
	"errors"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/suspects"
	"github.com/perdure/perdure/retry"
)

// errPendingQuestion is why a question cannot be answered from outside.
var errPendingQuestion = errors.New("the Verify function returned activity.ErrPending: a question is answered by its function; return retry.AskAgain to be asked later")

// An attempt that was lost, timed out or says so may have had its effect. If the policy does
// not simply repeat it, its call is in doubt: a Doubt stands in its row until it is settled.
// The program is asked by a question, which is an execution of the call as an attempt is: it
// has the next number, a slot or a place in the queue, a timeout, a record in the ledger, and
// is fenced and lost as attempts are. It passes no gates, is bound by neither Within nor
// QueueTimeout, and is not charged.
//
// An ending waits for the answer as it is. Nothing but a cancellation is decided before: also
// the last attempt is asked about, and the third crash.

// Doubt is an attempt that may have had its effect.
type Doubt struct {
	Attempt int              `json:"attempt"`
	ID      string           `json:"id"` // of the attempt
	Node    string           `json:"node,omitempty"`
	Started int64            `json:"started,omitempty"`
	Ended   int64            `json:"ended,omitempty"` // 0: not known, it was lost
	Outcome Outcome          `json:"outcome"`
	Failure *history.Failure `json:"failure,omitempty"` // nil if it was lost or drained
	Reason  retry.Reason     `json:"reason,omitempty"`  // why it was lost or drained

	// Asking says that the coming or running execution is a question. Otherwise a person
	// decides.
	Asking   bool `json:"asking,omitempty"`
	Question int  `json:"question,omitempty"` // number of the coming or latest question, from 1
	// Failed is how many questions failed, Since when the first was due, and Previous the wait
	// before the latest: what the policy for questions is asked with.
	Failed   int           `json:"failed,omitempty"`
	Since    int64         `json:"since,omitempty"`
	Previous time.Duration `json:"previous,omitempty"`
}

// asking reports whether the coming or running execution of the call is a question.
func (c *Call) asking() bool { return c.Doubt != nil && c.Doubt.Asking }

// attemptNumber returns the number of the coming or running attempt among attempts alone: without
// questions.
func (c *Call) attemptNumber() int { return c.attempt - c.Asked }

// terms returns the policy for the timeouts of the coming or running execution.
func (c *Call) terms() *retry.Policy {
	if c.asking() {
		return c.questions()
	}
	return c.Policy
}

// questions returns the policy for questions.
func (c *Call) questions() *retry.Policy {
	var p retry.Policy
	if c.Verify != nil && c.Verify.Retry != nil {
		p = *c.Verify.Retry
	}
	p = retry.QuestionPolicy(p)
	return &p
}

// setPolicy puts a policy in force. A call that can be asked about is, unless the policy says
// otherwise.
func (c *Call) setPolicy(p *retry.Policy) {
	if c.Policy = p; c.Verify != nil && p.OnUnknown == 0 {
		own := *p
		own.OnUnknown = retry.VerifyUnknown
		c.Policy = &own
	}
}

// policyFault returns why a policy cannot be in force for a call, "" if it can.
func (c *Call) policyFault(p *retry.Policy) string {
	if c.Verify == nil && p.Verifies() {
		return "its OnUnknown is VerifyUnknown, and the call has no Verify function to ask"
	}
	return ""
}

// lostInDoubt says what follows an attempt that ended without a word of its own: it was lost,
// or given back by a shutdown. One that never began, or says that it did nothing, is in no
// doubt.
func (a *attempts) lostInDoubt(c *Call, e *ending) retry.OnUnknown {
	if e.settled || e.notDone || e.outcome != Lost && e.outcome != Drained || c.StartedAt > a.journal.now {
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

// endQuestion handles the end of a question.
func (a *attempts) endQuestion(c *Call, in AttemptEnded, ended int64) {
	canceled := a.isCanceled(c)
	switch {
	case in.Outcome == Completed:
		if in.Transaction {
			a.journal.out.Transactions = append(a.journal.out.Transactions, AttemptRef{in.Call, in.Attempt})
		}
		a.recordStart(c)
		a.ledger.record(c, Found, nil, string(retry.ReasonFound), ended)
		a.emit(history.Event{Kind: history.CallCompleted, Call: c.Number, Result: in.Result, Ended: ended, Retry: a.ledger.summary(c, false, ended)})
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

// unanswered decides what follows a question that found no answer, because it failed or asks
// to be asked again.
func (a *attempts) unanswered(c *Call, f *history.Failure, after time.Duration, ended int64) {
	c.clearProbation()
	d := c.Doubt
	if f != nil {
		d.Failed++
	}
	s := retry.State{Attempt: d.Failed, First: time.Unix(0, d.Since), Previous: d.Previous}
	next := retry.NextQuestion(c.questions(), s, after, f.Err(), time.Unix(0, ended), a.journal.jitter(c.Number, c.attempt))
	a.ledger.recordQuestion(c, Unknown, f, next, ended)
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
	if reason == retry.ReasonLeaseLost {
		c.clearProbation()
		return
	}
	c.OnProbation = c.OnProbation || c.LostAt != 0 && a.journal.now-c.LostAt <= int64(suspects.Window)
	c.LostAt = a.journal.now
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
