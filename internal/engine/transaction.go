package engine

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
)

// transactionRule allows a turn at most one end of an attempt with a transaction, so that a
// failure of the transaction belongs to that attempt.
func transactionRule() rule {
	return rule{limits: func(m mail) bool { return m.transaction != nil }}
}

// hook returns what the store has to run inside the turn's transaction, nil for nothing. The
// machine has accepted the attempt.
func (e *Engine) hook(out *core.Turn, todo []mail) func(tx any) error {
	if len(out.Transactions) == 0 {
		return nil
	}
	for _, m := range todo {
		if m.transaction != nil {
			return func(tx any) error {
				return e.transactions.Run(context.WithoutCancel(m.transaction.Context), m.transaction.Run, tx)
			}
		}
	}
	return nil
}

// wrongTransaction is why a run is parked whose function takes a type of transaction that the
// database does not give: no attempt can mend that, and a build may.
func wrongTransaction(failure error) error {
	return fmt.Errorf("step transaction: %w; nothing of the attempt is recorded: mend the code and restart the engine, which then makes an attempt again", failure)
}

// transactionFailed replaces the end of the attempt whose transaction failed by a failure.
// Nothing of the turn is durable; the run is loaded again and gets the failure.
func (e *Engine) transactionFailed(r *resident, todo []mail, failure error) {
	for i, m := range todo {
		end, ok := m.input.(core.AttemptEnded)
		if !ok || m.transaction == nil {
			continue
		}
		todo[i] = mail{sequence: m.sequence, at: m.at, input: core.AttemptEnded{
			Call: end.Call, Attempt: end.Attempt, Outcome: core.Failed, Ended: e.clock.Now(),
			Failure: history.FromError(fmt.Errorf("step transaction: %w", failure)),
		}}
	}
	e.putBack(r, todo)
}
