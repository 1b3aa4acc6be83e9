package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// What is started and signalled within a transaction of somebody else takes the way of
// a process that serves nothing: the run is a row and its owner gets a message, both of
// which are there when the transaction is committed and not before. So there is nothing
// in memory that a rollback would have to take back.

// StartRunWithin is StartRun inside tx, which the caller will commit or not.
func (e *Engine) StartRunWithin(ctx context.Context, tx any, req StartRequest) (run string, attached bool, err error) {
	within, err := e.within(req.WorkflowID, tx)
	if err != nil {
		return "", false, err
	}
	return e.startRun(ctx, runsWithin{within}, req)
}

// SignalWithin is Signal inside tx.
func (e *Engine) SignalWithin(ctx context.Context, tx any, workflowID, name, id string, value history.Payload) error {
	within, err := e.within(workflowID, tx)
	if err != nil {
		return err
	}
	m, err := e.signal(workflowID, name, id, value)
	if err != nil {
		return err
	}
	if err := within.Post(ctx, m); err != nil {
		return full(fmt.Errorf("workflow %q: %w", workflowID, err))
	}
	return nil
}

// within is the database inside a transaction.
func (e *Engine) within(workflowID string, tx any) (store.Transaction, error) {
	if err := e.usable(workflowID); err != nil {
		return nil, err
	}
	return e.db.Within(tx)
}

// runsWithin is the database inside a transaction.
type runsWithin struct{ store.Transaction }

func (w runsWithin) create(ctx context.Context, row store.Run, _ history.Start) error {
	return w.Create(ctx, row)
}

// Transact runs f inside a transaction of the engine's database: all of what it writes
// there is committed, or nothing.
func (e *Engine) Transact(ctx context.Context, f func(ctx context.Context, tx any) error) error {
	e.mu.Lock()
	over := e.phase == stopped
	e.mu.Unlock()
	if over {
		return ErrStopped
	}
	err := e.db.Transact(ctx, func(tx any) error { return e.transactions.Run(ctx, f, tx) })
	if hook, ok := errors.AsType[*store.HookError](err); ok {
		return hook.Err
	}
	return err
}
