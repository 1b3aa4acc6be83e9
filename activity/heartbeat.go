package activity

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/retry"
)

// Heartbeat says that the attempt is alive, and how far it has come. It restarts the
// HeartbeatTimeout. If the attempt fails, or is lost with its process, the
// next attempt finds the details: see Details. What is said last counts.
//
//	for i := done; i < len(rows); i++ {
//		if err := load(ctx, rows[i]); err != nil {
//			return err
//		}
//		if err := activity.Heartbeat(ctx, i+1); err != nil {
//			return err
//		}
//	}
//
// It is cheap and never waits for the database: at most one write a third of the
// HeartbeatTimeout is made, and one in ten seconds if that is shorter or there is
// no timeout. A crash can lose what was said since the last write; a failure, a
// timeout or a shutdown of the process loses nothing.
//
// The error is why the attempt should end, the cause of its context: it is no
// longer wanted, its time is up, or the process shuts down. Or the details cannot
// be encoded as JSON, or are larger than 2 MiB; they should be small, a position
// rather than a result. A nil value gives no details and keeps those before.
//
// In an attempt of retry.Do it is retry.Heartbeat. Elsewhere it does nothing. It
// is safe for concurrent use.
func Heartbeat[T any](ctx context.Context, details T) error {
	if a := attemptOf(ctx); a != nil && a.Link != nil {
		if err := a.Link.Heartbeat(details); err != nil {
			return fmt.Errorf("heartbeat of %q: %w", a.info.Activity, err)
		}
	}
	retry.Heartbeat(ctx) // attempts of retry.Do inside of this one
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// Details returns what the last heartbeat of an earlier attempt of this call said,
// and false if none said anything. It is an error if that does not fit T. What the
// attempt itself says does not change it.
func Details[T any](ctx context.Context) (details T, ok bool, err error) {
	a := attemptOf(ctx)
	if a == nil || a.Link == nil {
		return details, false, nil
	}
	if ok, err = a.Link.Details(&details); err != nil {
		return details, false, fmt.Errorf("heartbeat details of %q: %w", a.info.Activity, err)
	}
	return details, ok, nil
}
