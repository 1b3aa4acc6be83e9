package perdure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/workflow"
)

// SignalOption is a setting of Signal.
type SignalOption func(*signalSettings)

type signalSettings struct{ id string }

// SignalID names a signal, so that sending it twice is sending it once, however
// much later.
func SignalID(id string) SignalOption { return func(s *signalSettings) { s.id = id } }

// Signal sends a signal to the latest run of a workflow ID. When it returns, the
// signal is durable and the run will see it, unless it ends before it looks. A
// *LimitError says that the run has too many that its code has not read: see
// MaxSignalBacklog.
func Signal[T any](ctx context.Context, e *Engine, id string, s workflow.Signal[T], value T, options ...SignalOption) error {
	payload, err := history.Encode(value)
	if err != nil {
		return fmt.Errorf("perdure: signal %q: %w", s.Name(), err)
	}
	return e.signal(ctx, id, s.Name(), payload, options)
}

// SignalJSON is Signal for a program that has the signal's name and its value as
// JSON.
func (e *Engine) SignalJSON(ctx context.Context, id, name string, value json.RawMessage, options ...SignalOption) error {
	payload, err := history.Encode(value)
	if err != nil {
		return fmt.Errorf("perdure: signal %q: %w", name, err)
	}
	return e.signal(ctx, id, name, payload, options)
}

func (e *Engine) signal(ctx context.Context, id, name string, value history.Payload, options []SignalOption) error {
	if err := e.inner.Signal(ctx, id, name, signalID(options), value); err != nil {
		return fmt.Errorf("perdure: signal %q: %w", name, err)
	}
	return nil
}

// signalID is the ID that the options give, if they do.
func signalID(options []SignalOption) string {
	var s signalSettings
	for _, o := range options {
		o(&s)
	}
	return s.id
}

// Complete ends the attempt of a token (see activity.ErrPending) with a result,
// which must be of the type that its activity returns. When Complete returns, the
// result is durable; it may be called from any process, and again with the same
// token. The error is
//
//   - ErrInvalidToken, if this database has not signed the token,
//   - ErrStaleToken, if nobody waits for the attempt any more: it ended otherwise or
//     timed out, its call was canceled, or its run ended,
//   - ErrNotFound, if the run was deleted.
//
// An attempt that ends while Complete is under way is not ended once more: what
// came first counts, and the other is dropped. That is so for two ends, too, of which
// the owner of the run has read neither, a Complete and a FailAttempt for instance:
// both return nil, and what was said first is how the attempt ended. The error says
// whether the end was taken, not whether it was the first; Attempts tells how it ended.
func (e *Engine) Complete(ctx context.Context, token string, result any) error {
	payload, err := history.Encode(result)
	if err == nil {
		err = e.inner.CompleteAttempt(ctx, token, payload)
	}
	if err != nil {
		return fmt.Errorf("perdure: complete: %w", err)
	}
	return nil
}

// FailAttempt ends the attempt of a token with an error, as if its body had
// returned it: the policy of the call decides whether another attempt follows. Its
// own errors are those of Complete.
func (e *Engine) FailAttempt(ctx context.Context, token string, failure error) error {
	if failure == nil {
		return errors.New("perdure: fail attempt: the error is nil; use Complete for a success")
	}
	if err := e.inner.FailAttempt(ctx, token, history.FromError(failure)); err != nil {
		return fmt.Errorf("perdure: fail attempt: %w", err)
	}
	return nil
}

// HeartbeatAttempt says that the attempt of a token is alive: its HeartbeatTimeout
// starts anew. The next attempt, if there is one, finds the details by
// activity.Details; nil keeps those before. Unlike activity.Heartbeat each is a
// write to the database. Its errors are those of Complete: ErrStaleToken says that
// whatever works on it can stop.
func (e *Engine) HeartbeatAttempt(ctx context.Context, token string, details any) error {
	var payload history.Payload
	var err error
	if details != nil {
		payload, err = history.Encode(details)
	}
	if err == nil {
		err = e.inner.HeartbeatAttempt(ctx, token, payload)
	}
	if err != nil {
		return fmt.Errorf("perdure: heartbeat: %w", err)
	}
	return nil
}

// Cancel asks the latest run of a workflow ID to end. Its code is told: what it
// waits for is canceled, and it decides what to do about that. Canceling again
// does nothing. Of the options it takes By. It does not wait for the run: see
// ControlRun and CancelRun for an answer, and ControlRuns for many runs.
func (e *Engine) Cancel(ctx context.Context, id, reason string, options ...ControlOption) error {
	by, err := onlyBy(options)
	if err == nil {
		err = e.inner.Cancel(ctx, id, "", request.By{Who: by, Why: reason})
	}
	if err != nil {
		return fmt.Errorf("perdure: cancel: %w", err)
	}
	return nil
}

// Terminate ends the latest run of a workflow ID at once, without asking its
// code. Of the options it takes By. It does not wait for the run: see ControlRun and
// TerminateRun for an answer, and ControlRuns for many runs.
func (e *Engine) Terminate(ctx context.Context, id, reason string, options ...ControlOption) error {
	by, err := onlyBy(options)
	if err == nil {
		err = e.inner.Terminate(ctx, id, "", request.By{Who: by, Why: reason})
	}
	if err != nil {
		return fmt.Errorf("perdure: terminate: %w", err)
	}
	return nil
}
