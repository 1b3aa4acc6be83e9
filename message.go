package perdure

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/workflow"
)

// SignalOption is a setting of Signal.
type SignalOption func(*signalSettings)

type signalSettings struct{ id string }

// SignalID names a signal, so that sending it twice is sending it once, however
// much later.
func SignalID(id string) SignalOption { return func(s *signalSettings) { s.id = id } }

// Signal sends a signal to the latest run of a workflow ID. When it returns, the
// signal is durable and the run will see it, unless it ends before it looks.
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
	var s signalSettings
	for _, o := range options {
		o(&s)
	}
	if err := e.inner.Signal(ctx, id, name, s.id, value); err != nil {
		return fmt.Errorf("perdure: signal %q: %w", name, err)
	}
	return nil
}

// Cancel asks the latest run of a workflow ID to end. Its code is told: what it
// waits for is canceled, and it decides what to do about that. Canceling again
// does nothing.
func (e *Engine) Cancel(ctx context.Context, id, reason string) error {
	if err := e.inner.Cancel(ctx, id, "", reason); err != nil {
		return fmt.Errorf("perdure: cancel: %w", err)
	}
	return nil
}

// Terminate ends the latest run of a workflow ID at once, without asking its
// code.
func (e *Engine) Terminate(ctx context.Context, id, reason string) error {
	if err := e.inner.Terminate(ctx, id, "", reason); err != nil {
		return fmt.Errorf("perdure: terminate: %w", err)
	}
	return nil
}
