package engine

import (
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
	key := "signal/" + name + "/"
	if id == "" {
		key += "once/" + newToken()
	} else {
		if err := history.CheckID("signal ID", id); err != nil {
			return err
		}
		key += "id/" + id
	}
	return e.post(ctx, workflowID, "", kindSignal, key, message{Name: name, ID: id, Value: value})
}

// Cancel asks a run to end: its code is told and decides how. run may be empty
// for the latest run of the workflow ID.
func (e *Engine) Cancel(ctx context.Context, workflowID, run, reason string) error {
	return e.post(ctx, workflowID, run, kindCancel, "cancel/"+run, message{Reason: reason})
}

// Terminate ends a run at once; its code is not asked.
func (e *Engine) Terminate(ctx context.Context, workflowID, run, reason string) error {
	return e.post(ctx, workflowID, run, kindTerminate, "terminate/"+run, message{Reason: reason})
}

// post makes a message durable and tells the owner, if that is here, to look.
func (e *Engine) post(ctx context.Context, workflowID, run, kind, key string, m message) error {
	if err := e.usable(workflowID); err != nil {
		return err
	}
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	err = e.db.Post(ctx, store.Message{
		Partition:  e.place(workflowID),
		WorkflowID: workflowID, Run: run, Kind: kind, Key: key, Data: data,
	})
	if err != nil {
		return fmt.Errorf("workflow %q: %w", workflowID, err)
	}
	e.kickInbox()
	return nil
}
