package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/store"
)

// Signal sends a signal to the latest run of a workflow ID. When it returns, the
// signal is durable. A *history.LimitError says that the run has too many already that
// its code has not read. With an ID, sending it again does nothing, also after it was
// read.
func (e *Engine) Signal(ctx context.Context, workflowID, name, id string, value history.Payload) error {
	if err := e.usable(workflowID); err != nil {
		return err
	}
	m, err := e.signal(workflowID, name, id, value)
	if err != nil {
		return err
	}
	return full(e.post(ctx, m))
}

// full says what it means that a run has no room for a signal.
func full(err error) error {
	if errors.Is(err, store.ErrFull) { // the limit is that of its owner
		return &history.LimitError{What: "unread signals", Hint: "send it again when its code has read some, or raise perdure.MaxSignalBacklog where it runs"}
	}
	return err
}

// signal is a signal that somebody sends, if it can be one and there is room for it.
func (e *Engine) signal(workflowID, name, id string, value history.Payload) (store.Message, error) {
	if err := history.CheckName("signal name", name); err != nil {
		return store.Message{}, err
	}
	if id != "" {
		if err := history.CheckID("signal ID", id); err != nil {
			return store.Message{}, err
		}
	}
	m, err := message.Signal(e.group, workflowID, name, id, value)
	m.IfRoom = true
	return m, err
}

// Cancel asks a run to end: its code is told and decides how. run may be empty
// for the latest run of the workflow ID, and by for the name of the node.
func (e *Engine) Cancel(ctx context.Context, workflowID, run, reason, by string) error {
	return e.command(ctx, workflowID, run, message.KindCancel, reason, by)
}

// Terminate ends a run at once; its code is not asked.
func (e *Engine) Terminate(ctx context.Context, workflowID, run, reason, by string) error {
	return e.command(ctx, workflowID, run, message.KindTerminate, reason, by)
}

// command sends a message of which one is as good as many.
func (e *Engine) command(ctx context.Context, workflowID, run, kind, reason, by string) error {
	if err := e.usable(workflowID); err != nil {
		return err
	}
	m, err := message.New(e.group, workflowID, run, kind, kind+"/"+run, message.Data{Reason: reason, By: cmp.Or(by, e.config.Node)})
	if err != nil {
		return err
	}
	return e.post(ctx, m)
}

// post makes a message durable and tells the owner, if that is here, to look.
func (e *Engine) post(ctx context.Context, m store.Message) error {
	if err := e.db.Post(ctx, m); err != nil {
		return fmt.Errorf("workflow %q: %w", m.WorkflowID, err)
	}
	e.kickInbox()
	return nil
}
