package tell

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/perdure/perdure/internal/history"
)

// Engine delivers messages to the latest run of a workflow ID. A key makes repeated sends
// count once; it may be empty.
type Engine interface {
	Signal(ctx context.Context, workflowID, name, key string, value history.Payload) error
	Query(ctx context.Context, workflowID, run, name string, input history.Payload) (history.Payload, error)
	Update(ctx context.Context, workflowID, name, key string, input history.Payload) (history.Payload, error)
}

// Target is the part of a handle that messages go to. Its zero value has no engine.
type Target struct {
	engine Engine
	id     string
}

// To returns the target for a workflow ID.
func To(e Engine, workflowID string) Target { return Target{e, workflowID} }

func (t Target) open() (Engine, string) { return t.engine, t.id }

func (t Target) signal(ctx context.Context, name, key string, value history.Payload) error {
	if t.engine == nil {
		return errEmpty
	}
	return t.engine.Signal(ctx, t.id, name, key, value)
}

// Handle is implemented by types that embed a Target.
type Handle interface {
	SignalHandle
	open() (e Engine, workflowID string)
}

// SignalTarget is the part of a handle that accepts only signals. Its zero value is not
// usable.
type SignalTarget struct {
	send func(ctx context.Context, name, key string, value history.Payload) error
}

// SignalsTo returns a target that sends signals with a function.
func SignalsTo(send func(ctx context.Context, name, key string, value history.Payload) error) SignalTarget {
	return SignalTarget{send}
}

func (t SignalTarget) signal(ctx context.Context, name, key string, value history.Payload) error {
	if t.send == nil {
		return errEmpty
	}
	return t.send(ctx, name, key, value)
}

// SignalHandle is implemented by types that embed a Target or a SignalTarget.
type SignalHandle interface {
	signal(ctx context.Context, name, key string, value history.Payload) error
}

var errEmpty = errors.New("the handle is empty; perdure.Start and perdure.Attach make handles")

// Signal sends a signal.
func Signal(ctx context.Context, to SignalHandle, name, key string, value history.Payload) error {
	if to == nil {
		return errEmpty
	}
	return to.signal(ctx, name, key, value)
}

// Query asks a query and returns the answer.
func Query(ctx context.Context, to Handle, name string, input history.Payload) (history.Payload, error) {
	e, id, err := opened(to)
	if err != nil {
		return history.Payload{}, err
	}
	return e.Query(ctx, id, "", name, input)
}

// Update sends an update and returns its result.
func Update(ctx context.Context, to Handle, name, key string, input history.Payload) (history.Payload, error) {
	e, id, err := opened(to)
	if err != nil {
		return history.Payload{}, err
	}
	return e.Update(ctx, id, name, key, input)
}

// opened returns the engine and workflow ID of a handle.
func opened(h Handle) (e Engine, workflowID string, err error) {
	if h != nil {
		e, workflowID = h.open()
	}
	if e == nil {
		err = errEmpty
	}
	return e, workflowID, err
}

// ID returns the workflow ID of a handle.
func ID(h Handle) string {
	if h == nil {
		return ""
	}
	_, id := h.open()
	return id
}

// Encode returns the payload of a value. A nil json.RawMessage gives the zero payload, so
// that tools can omit the value.
func Encode(v any) (history.Payload, error) {
	if raw, is := v.(json.RawMessage); is && raw == nil {
		return history.Payload{}, nil
	}
	return history.Encode(v)
}
