package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// Signal sends a signal to the latest run of a workflow ID. When it returns, the
// signal is durable. With an ID, sending it again does nothing, also after it was
// read.
func (e *Engine) Signal(ctx context.Context, workflowID, name, id string, value history.Payload) error {
	if err := history.CheckName("signal name", name); err != nil {
		return err
	}
	if err := e.usable(workflowID); err != nil {
		return err
	}
	if id != "" {
		if err := history.CheckID("signal ID", id); err != nil {
			return err
		}
	}
	m, err := e.signalMessage(workflowID, name, id, value)
	if err != nil {
		return err
	}
	return e.post(ctx, m)
}

// signalMessage is a signal on its way.
func (e *Engine) signalMessage(workflowID, name, id string, value history.Payload) (store.Message, error) {
	key := "signal/" + name + "/id/" + id
	if id == "" {
		key = "signal/" + name + "/once/" + newToken()
	}
	return e.message(workflowID, "", kindSignal, key, message{Name: name, ID: id, Value: value})
}

func (e *Engine) message(workflowID, run, kind, key string, m message) (store.Message, error) {
	data, err := json.Marshal(m)
	return store.Message{Partition: e.place(workflowID), WorkflowID: workflowID, Run: run, Kind: kind, Key: key, Data: data}, err
}

// Cancel asks a run to end: its code is told and decides how. run may be empty
// for the latest run of the workflow ID, and by for the name of the node.
func (e *Engine) Cancel(ctx context.Context, workflowID, run, reason, by string) error {
	return e.command(ctx, workflowID, run, kindCancel, reason, by)
}

// Terminate ends a run at once; its code is not asked.
func (e *Engine) Terminate(ctx context.Context, workflowID, run, reason, by string) error {
	return e.command(ctx, workflowID, run, kindTerminate, reason, by)
}

// command sends a message of which one is as good as many.
func (e *Engine) command(ctx context.Context, workflowID, run, kind, reason, by string) error {
	if err := e.usable(workflowID); err != nil {
		return err
	}
	m, err := e.message(workflowID, run, kind, kind+"/"+run, message{Reason: reason, By: cmp.Or(by, e.config.Node)})
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
