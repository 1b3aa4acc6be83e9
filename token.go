package perdure

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/history"
)

// Complete ends the attempt of a token (see activity.ErrPending) with a result, which
// must be of the type that its activity returns. When Complete returns, the result is
// durable. It may be called from any process, and again with the same token. The error is
//
//   - ErrInvalidToken, if this database did not sign the token,
//   - ErrStaleToken, if the attempt is closed: it ended otherwise or timed out, its call
//     was canceled, or its run ended,
//   - ErrNotFound, if the run was deleted,
//   - a *view.InputError, if the activity is registered with this engine and the result does
//     not fit its type: the attempt stays open. A process without the activity cannot know; a
//     result that does not fit is then a failure of the attempt, which the policy judges.
//
// If several requests to end the attempt reach the run's owner at the same time, such as
// a Complete and a FailAttempt, the first one wins and later ones are dropped, although
// all of them return nil. A request is dropped likewise if it comes after the attempt's
// deadline, but before the timeout is on record, or in the moment in which the attempt is
// recorded as lost with its process. Handle.Attempts shows how the attempt ended.
func (e *Engine) Complete(ctx context.Context, token string, result any) error {
	payload, err := history.EncodeArgument("result", result)
	if err == nil {
		err = e.in().CompleteAttempt(ctx, token, payload)
	}
	if err != nil {
		return fmt.Errorf("perdure: complete: %w", err)
	}
	return nil
}

// FailAttempt ends the attempt of a token with an error, as if its body had returned it:
// the policy of the call decides whether another attempt follows. Its own errors are
// those of Complete.
func (e *Engine) FailAttempt(ctx context.Context, token string, failure error) error {
	if failure == nil {
		return errors.New("perdure: fail attempt: the error is nil; use Complete for a success")
	}
	if err := e.in().FailAttempt(ctx, token, history.FromError(failure)); err != nil {
		return fmt.Errorf("perdure: fail attempt: %w", err)
	}
	return nil
}

// HeartbeatAttempt reports that the attempt of a token is alive and restarts its
// HeartbeatTimeout. The next attempt, if there is one, reads the details with
// activity.Details; nil keeps earlier details. Unlike activity.Heartbeat, each call
// writes to the database. Its errors are those of Complete: after ErrStaleToken, work on
// the attempt can stop.
func (e *Engine) HeartbeatAttempt(ctx context.Context, token string, details any) error {
	var payload history.Payload
	var err error
	if details != nil {
		payload, err = history.EncodeArgument("details", details)
	}
	if err == nil {
		err = e.in().HeartbeatAttempt(ctx, token, payload)
	}
	if err != nil {
		return fmt.Errorf("perdure: heartbeat: %w", err)
	}
	return nil
}
