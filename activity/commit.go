package activity

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/typedtx"
	"github.com/perdure/perdure/retry"
)

// OnCommit hands over a function that runs after the body has returned without
// an error, inside the transaction of the engine's database that records
// the result. What it writes through tx and the result of the step become
// durable together, or neither does: so an effect in the user's own tables
// beside the engine's happens exactly once per completed call, whatever crashes.
//
//	return receipt, activity.OnCommit(ctx, func(ctx context.Context, tx *sql.Tx) error {
//		_, err := tx.ExecContext(ctx, "UPDATE stock SET left = left - ? WHERE item = ?", o.Count, o.Item)
//		return err
//	})
//
// T is what the database gives: *sql.Tx with store/sqlite, pgx.Tx with
// store/postgres, and nil, which only a tx of type any takes, with store/memory,
// which has no tables for it. A function that takes something else fails the
// call for good, with an error that says so.
//
// Several functions run in the order in which they were handed over. If one
// returns an error, panics, or takes too long, nothing of the transaction
// remains, the attempt has failed with that error, and the policy judges it like
// any other: the next attempt runs the body again. The transaction begins when
// the body has returned and is held for no longer than 3 seconds, at which ctx and
// the statements end, because others wait for it; so slow work belongs into the
// body. Where the database has to begin another transaction the function runs
// again: only what it does through tx happens once. It must neither commit tx,
// nor roll it back, nor keep it.
//
// The error is nil unless ctx is not that of an attempt that runs: then the
// function will never run, and the body should return the error.
func OnCommit[T any](ctx context.Context, fn func(ctx context.Context, tx T) error) error {
	a := attemptOf(ctx)
	switch {
	case a == nil:
		return retry.Terminal(errors.New("activity.OnCommit: ctx is not the one that an activity or step was called with"))
	case fn == nil:
		return retry.Terminal(errors.New("activity.OnCommit: the function is nil"))
	}
	return a.OnCommit(func(ctx context.Context, tx any) error {
		typed, err := typedtx.As[T](tx)
		if err != nil {
			return retry.Terminal(fmt.Errorf("activity.OnCommit: %w", err))
		}
		return fn(ctx, typed)
	})
}

// Commits ends the time in which OnCommit takes functions for the attempt of
// ctx, and returns one that runs those it took, in order, until one fails; nil if
// there are none. It is for tests of bodies, see NewContext.
func Commits(ctx context.Context) func(ctx context.Context, tx any) error {
	if a := attemptOf(ctx); a != nil {
		return a.Commits()
	}
	return nil
}
