package perdure

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/internal/typedtx"
	"github.com/perdure/perdure/workflow"
)

// StartTx is Start inside a transaction of the caller's own: the run comes into being
// with what else the transaction does, or not at all.
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
// With store/postgres tx is a pgx.Tx, or a *sql.Tx of any driver whose parameters are
// $1, $2 and so on, of whichever connection to the engine's database; its user must
// have the rights to write perdure's tables. With store/sqlite it is the *sql.Tx that
// Transact or activity.OnCommit hands out, for a file has one writer at a time. With
// store/memory there is none. All else is refused with ErrTx.
//
// All options hold, and what is known of the workflow ID is judged as the transaction
// sees it: so the run of an earlier StartTx in it is attached to. An error leaves the
// transaction as it was, to be gone on with or not, unless it is one of the database
// that ends a transaction. One that unwraps to a *store.UnavailableError means that the
// connection was lost and nothing of the transaction was written: begin it again. At the
// isolation levels of snapshots that may be the error of a serialization failure
// (SQLSTATE 40001): the ID was taken since the transaction began, which then has to be
// done again. Delays and timeouts count from the call.
//
// Others see nothing of the run before the commit: wait for its Result after that, or the
// wait ends with ErrNotFound. Until the transaction ends, another start under this ID
// waits for it; no other caller does.
//
// The commit tells the engines that there is something to do, which on PostgreSQL is a
// notification (NOTIFY): the server lets transactions that have one commit one after
// the other, and does not let them be prepared for two-phase commit. What Transact and
// activity.OnCommit commit does without.
func StartTx[In, Out any](ctx context.Context, e *Engine, tx any, w workflow.Workflow[In, Out], id string, in In, options ...StartOption) (Handle[Out], error) {
	return startWith(e, w, id, in, options, func(req request.Start) (string, bool, error) {
		return e.in().StartRunWithin(ctx, tx, req)
	})
}

// Transact calls a function inside a transaction of the engine's database, which is
// committed if it returns nil and undone otherwise, even if it panics: the error then
// wraps that of the function. It is how to begin what StartTx and Handle.InTx take part in where
// the connection is the engine's own, as with store/sqlite.
//
//	err := perdure.Transact(ctx, e, func(ctx context.Context, tx *sql.Tx) error {
//		if _, err := tx.ExecContext(ctx, "INSERT INTO orders (id, item) VALUES (?, ?)", o.ID, o.Item); err != nil {
//			return err
//		}
//		_, err := perdure.StartTx(ctx, e, tx, Checkout, o.ID, o)
//		return err
//	})
//
// T is *sql.Tx with store/sqlite and pgx.Tx with store/postgres; store/memory has no
// transactions (ErrTx). What activity.OnCommit says of its function holds for this
// one: it is held for no longer than 3 seconds, because all others that write wait for
// it in an SQLite file; it may be called again where the database has to begin another transaction or the connection was lost; and
// it must neither end tx, nor keep it, nor use the engine but with tx. If ctx ends while
// Transact is under way, whether it was committed is not known; store.Undone tells of
// the error of a database that was away whether nothing was written.
func Transact[T any](ctx context.Context, e *Engine, fn func(ctx context.Context, tx T) error) error {
	if fn == nil {
		return errors.New("perdure: transact: the function is nil")
	}
	err := e.in().Transact(ctx, func(ctx context.Context, tx any) error {
		typed, err := typedtx.As[T](tx)
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
