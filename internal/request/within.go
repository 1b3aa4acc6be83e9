package request

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// Starts and signals are rows of the database, or of a transaction of the caller.

// transaction is a transaction of the caller.
type transaction struct{ tx any }

// rows is where a start or a signal looks for runs and writes.
type rows interface {
	Find(ctx context.Context, partition int, workflowID, run string) (*store.Run, error)
	// create makes a run durable. forEnd says that the caller waits for its end.
	create(ctx context.Context, row *store.Run, start *history.Start, forEnd bool) error
	// awaitTermination waits until a run that is to be terminated has ended, or refuses to.
	awaitTermination(ctx context.Context, row *store.Run) error
	// post sends a message.
	post(ctx context.Context, m store.Message) error
}

// rows returns the rows of a transaction, or of the database if tx is nil.
func (c *Client) rows(tx *transaction) (rows, error) {
	if tx == nil {
		return inDatabase{c}, nil
	}
	within, err := c.db.Within(tx.tx)
	return inTransaction{within}, err
}

// inDatabase creates runs in this process if it serves their partitions. Otherwise it
// writes only their rows, for the node that does.
type inDatabase struct{ *Client }

func (d inDatabase) Find(ctx context.Context, partition int, workflowID, run string) (*store.Run, error) {
	return d.db.Find(ctx, partition, workflowID, run)
}

// create makes a run durable. A node that finds that it has lost the partition behaves like
// one that never had it.
func (d inDatabase) create(ctx context.Context, row *store.Run, start *history.Start, forEnd bool) error {
	for {
		served, err := d.local.Create(ctx, row, start, forEnd)
		if !served {
			return d.db.Create(ctx, *inLine(row, start))
		}
		if !errors.Is(err, store.ErrFenced) {
			return err
		}
	}
}

func (d inDatabase) awaitTermination(ctx context.Context, row *store.Run) error {
	w := d.waiters.begin(row.WorkflowID, row.ID)
	defer w.end()
	_, err := d.awaitEnd(ctx, w, row.ID)
	if err != nil && ctx.Err() != nil {
		err = d.stillOpen(ctx, row.WorkflowID, row.ID, err)
		return fmt.Errorf("workflow %q is to be terminated, and no run follows before that: %w", row.WorkflowID, err)
	}
	return err
}

type inTransaction struct{ store.Transaction }

func (t inTransaction) create(ctx context.Context, row *store.Run, start *history.Start, _ bool) error {
	return t.Create(ctx, *inLine(row, start))
}

// awaitTermination refuses to wait inside a transaction.
func (inTransaction) awaitTermination(_ context.Context, row *store.Run) error {
	return &IDInUseError{WorkflowID: row.WorkflowID, Run: row.ID, Status: string(row.Status), Difference: "its termination is not carried out yet; repeat the transaction"}
}

func (t inTransaction) post(ctx context.Context, m store.Message) error {
	if err := t.Post(ctx, m); err != nil {
		return fmt.Errorf("workflow %q: %w", m.WorkflowID, err)
	}
	return nil
}

// Transact runs f inside a transaction of the database. Everything that f writes there is
// committed, or nothing is.
func (c *Client) Transact(ctx context.Context, f func(ctx context.Context, tx any) error) error {
	if err := c.check(ctx); err != nil {
		return err
	}
	err := c.db.Transact(ctx, func(tx any) error { return c.runner.Run(ctx, f, tx) })
	if hook, ok := errors.AsType[*store.HookError](err); ok {
		return hook.Err
	}
	return err
}
