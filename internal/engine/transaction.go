package engine

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/internal/see"
)

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

// wrongTransaction is why a run is parked whose function takes a type of transaction that the
// database does not give: no attempt can mend that, and a build may.
func wrongTransaction(failure error) error {
	return fmt.Errorf("step transaction: %w; nothing of the attempt is recorded: mend the code and restart the engine, which then makes an attempt again %s", failure, see.Commit)
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
