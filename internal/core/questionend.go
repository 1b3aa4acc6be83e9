package core

import (
	"errors"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

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
