package seal

import (
	"context"
	"errors"

	"github.com/perdure/perdure/internal/history"
)

// Messenger delivers messages to the latest run of a workflow ID. A key makes repeated sends
// count once; it may be empty.
type Messenger interface {
	Signal(ctx context.Context, workflowID, name, key string, value history.Payload) error
	Query(ctx context.Context, workflowID, run, name string, input history.Payload) (history.Payload, error)
	Update(ctx context.Context, workflowID, name, key string, input history.Payload) (history.Payload, error)
}

// Target is embedded by handles and says where their messages go. Package workflow cannot
// refer to the handles of packages above it: it sends to any type that embeds a Target. Its
// zero value has no messenger.
type Target struct {
	to Messenger
	id string
}

// MessagesTo returns the target for a workflow ID.
func MessagesTo(m Messenger, workflowID string) Target { return Target{m, workflowID} }

func (t Target) open() (Messenger, string) { return t.to, t.id }

func (t Target) signal(ctx context.Context, name, key string, value history.Payload) error {
	if t.to == nil {
		return errEmpty
	}
	return t.to.Signal(ctx, t.id, name, key, value)
}

// Handle is implemented by types that embed a Target.
type Handle interface {
	SignalHandle
	open() (m Messenger, workflowID string)
}

// SignalTarget sends signals, and is a SignalHandle that accepts no other messages.
type SignalTarget func(ctx context.Context, name, key string, value history.Payload) error

func (t SignalTarget) signal(ctx context.Context, name, key string, value history.Payload) error {
	return t(ctx, name, key, value)
}

// SignalHandle is implemented by types that embed a Target, and by SignalTarget.
type SignalHandle interface {
	signal(ctx context.Context, name, key string, value history.Payload) error
}

var errEmpty = errors.New("the handle is empty; perdure.Start and perdure.Attach make handles")

// SendSignal sends a signal.
func SendSignal(ctx context.Context, to SignalHandle, name, key string, value history.Payload) error {
	if to == nil {
		return errEmpty
	}
	return to.signal(ctx, name, key, value)
}

// AskQuery asks a query and returns the answer.
func AskQuery(ctx context.Context, to Handle, name string, input history.Payload) (history.Payload, error) {
	m, id, err := opened(to)
	if err != nil {
		return history.Payload{}, err
	}
	return m.Query(ctx, id, "", name, input)
}

// CallUpdate sends an update and returns its result.
func CallUpdate(ctx context.Context, to Handle, name, key string, input history.Payload) (history.Payload, error) {
	m, id, err := opened(to)
	if err != nil {
		return history.Payload{}, err
	}
	return m.Update(ctx, id, name, key, input)
}

// opened returns the messenger and workflow ID of a handle.
func opened(h Handle) (m Messenger, workflowID string, err error) {
	if h != nil {
		m, workflowID = h.open()
	}
	if m == nil {
		err = errEmpty
	}
	return m, workflowID, err
}

// WorkflowID returns the workflow ID of a handle.
func WorkflowID(h Handle) string {
	if h == nil {
		return ""
	}
	_, id := h.open()
	return id
}
