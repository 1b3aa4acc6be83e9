package activity

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/retry"
)

// OnCommit registers a function that runs after the body has returned without an error,
// inside the transaction of the engine's database that records the result. What it writes
// through tx and the result of the step become durable together, or neither does: an
// effect in your own tables in the engine's database happens exactly once per completed
// call, whatever crashes.
//
//	return receipt, activity.OnCommit(ctx, func(ctx context.Context, tx *sql.Tx) error {
//		_, err := tx.ExecContext(ctx, "UPDATE stock SET left = left - $1 WHERE item = $2", o.Count, o.Item)
//		return err
//	})
//
// T is *sql.Tx, or an interface that it implements, with store/sqlite and store/postgres:
// code with parameters $1, $2 and so on works on both. With store/postgres it can be pgx.Tx.
// store/memory, which has no tables, passes nil, so T must be any. With another T the run is
// parked, and makes the attempt again when the engine has been restarted with other code.
//
// Several functions run in the order in which they were registered. If one returns an
// error, panics, or takes too long, the transaction is rolled back, the attempt has
// failed with that error, and the policy judges it like any other: the next attempt runs
// the body again. The transaction begins when the body has returned. It is held for at
// most 3 seconds, because others wait for it; then ctx and the statements are canceled.
// Do slow work in the body. If the database has to begin another transaction, the
// function runs again: only what it does through tx happens once. It must neither commit
// tx, nor roll it back, nor keep it.
//
// OnCommit returns an error if ctx is not that of a running attempt: then fn never runs,
// and the body should return the error.
func OnCommit[T any](ctx context.Context, fn func(ctx context.Context, tx T) error) error {
	a := attemptOf(ctx)
	switch {
	case a == nil:
		return retry.Terminal(errors.New("activity.OnCommit: ctx is not the one that an activity or step was called with"))
	case fn == nil:
		return retry.Terminal(errors.New("activity.OnCommit: the function is nil"))
	}
	return a.OnCommit(func(ctx context.Context, tx any) error {
		typed, err := seal.TxAs[T](tx)
		if err != nil {
			return retry.Terminal(fmt.Errorf("activity.OnCommit: %w", err))
		}
		return fn(ctx, typed)
	})
}

// Commits returns a function that runs the functions given to OnCommit for the attempt of
// ctx, in order, until one fails; it returns nil if there are none. After Commits,
// OnCommit accepts no more functions. It is for tests of bodies, see NewContext.
func Commits(ctx context.Context) func(ctx context.Context, tx any) error {
	if a := attemptOf(ctx); a != nil {
		return a.Commits()
	}
	return nil
}
