package activity

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/retry"
)

// Heartbeat reports that the attempt is alive and how far it has come. It restarts the
// HeartbeatTimeout. If the attempt fails, or is lost with its process, the next attempt
// reads the latest details with Details.
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
// It is cheap and never waits for the database: the engine writes at most once per third
// of the HeartbeatTimeout, or once per ten seconds if that is shorter or there is no
// timeout. A crash can lose the details since the last write; a failure, a timeout or a
// shutdown of the process loses nothing.
//
// The error is the cause of the attempt's context, if the attempt should end: it was
// canceled or given up, timed out, or the process shuts down. It is also an error if the
// details cannot be encoded as JSON or are larger than 2 MiB. Keep them small, a position
// rather than a result. A nil value keeps earlier details.
//
// In an attempt of retry.Do it calls retry.Heartbeat. Elsewhere it does nothing. It is
// safe for concurrent use.
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

// Details returns the details of the last heartbeat of an earlier attempt of this call.
// ok is false if there are none. The error is that they cannot be decoded into T.
// Heartbeats of the current attempt do not change the result.
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
