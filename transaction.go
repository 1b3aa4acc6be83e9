package perdure

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/workflow"
)

// StartTx is Start inside a transaction of the caller: the run exists if the transaction
// commits, and does not otherwise.
//
//	tx, err := pool.Begin(ctx)
//	...
//	defer tx.Rollback(ctx)
//	if _, err := tx.Exec(ctx, "INSERT INTO orders (id, item) VALUES ($1, $2)", o.ID, o.Item); err != nil {
//		return err
//	}
//	if _, err := perdure.StartTx(ctx, e, tx, Checkout, o.ID, o); err != nil {
//		return err
//	}
//	return tx.Commit(ctx)
//
// With store/postgres tx is a pgx.Tx, or a *sql.Tx of any driver whose parameters are $1,
// $2 and so on, on any connection to the engine's database; its user must have the rights
// to write perdure's tables. With store/sqlite it is the *sql.Tx that Transact or
// activity.OnCommit passes to its function, because a file has one writer at a time.
// store/memory has no transactions. For anything else the error is ErrTx.
//
// StartTx takes all options of Start, and sees the workflow ID as the transaction sees
// it: it attaches to the run of an earlier StartTx in the same transaction. An error
// leaves the transaction usable, unless it is an error of the database that ends a
// transaction. An error that unwraps to a *store.UnavailableError means that the
// connection was lost and nothing was written: begin the transaction again. At snapshot
// isolation levels the error may be a serialization failure (SQLSTATE 40001): the ID was
// taken since the transaction began, which then has to be run again. Delays and timeouts
// count from the call.
//
// The run is visible to others after the commit: wait for its Result after that; before,
// Result returns ErrNotFound. Until the transaction ends, another start under this ID
// waits for it; no other caller does.
//
// On PostgreSQL the commit wakes the engines with a notification (NOTIFY). The server
// commits transactions that notify one after the other, and does not allow them in a
// two-phase commit. Transact and activity.OnCommit do without it.
func StartTx[In, Out any](ctx context.Context, e *Engine, tx any, w workflow.Workflow[In, Out], id string, in In, options ...StartOption) (Handle[Out], error) {
	return startWith(e, w, id, in, options, func(req request.Start) (string, bool, error) {
		return e.in().StartRunWithin(ctx, tx, req)
	})
}

// Transact calls fn inside a transaction of the engine's database, and commits if fn
// returns nil. If fn returns an error or panics, it rolls back and returns an error that
// wraps that error or a *retry.PanicError. StartTx and Handle.InTx take part in the transaction. Use it where the engine has
// the only connection for writing, as with store/sqlite.
//
//	err := perdure.Transact(ctx, e, func(ctx context.Context, tx *sql.Tx) error {
//		if _, err := tx.ExecContext(ctx, "INSERT INTO orders (id, item) VALUES (?, ?)", o.ID, o.Item); err != nil {
//			return err
//		}
//		_, err := perdure.StartTx(ctx, e, tx, Checkout, o.ID, o)
//		return err
//	})
//
// T is *sql.Tx with both databases, or pgx.Tx with store/postgres; store/memory has no
// transactions (ErrTx). The rules of activity.OnCommit apply: the transaction is held for
// no longer than 3 seconds, because all other writers of an SQLite file wait for it; fn
// may be called again if the database has to begin another transaction or the connection
// was lost; and fn must neither end tx, nor keep it, nor use the engine except with tx.
// If ctx ends while Transact is under way, it is unknown whether the transaction
// committed. If the database was unavailable, store.Undone reports whether the error
// means that nothing was written.
func Transact[T any](ctx context.Context, e *Engine, fn func(ctx context.Context, tx T) error) error {
	if fn == nil {
		return errors.New("perdure: transact: the function is nil")
	}
	err := e.in().Transact(ctx, func(ctx context.Context, tx any) error {
		typed, err := seal.TxAs[T](tx)
		if err != nil {
			return err
		}
		return fn(ctx, typed)
	})
	if err != nil {
		return fmt.Errorf("perdure: transact: %w", err)
	}
	return nil
}
