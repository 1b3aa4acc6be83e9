package message

import (
	"fmt"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// Kinds of requests that earlier versions wrote and that may still wait in an inbox: one kind
// for each request without a reply, and one for all requests with a reply.
const (
	oldSignal    = "signal"
	oldCancel    = "cancel"
	oldTerminate = "terminate"
	oldControl   = "control"
)

var oldOperations = map[string]core.Operation{oldSignal: core.SignalTheRun, oldCancel: core.CancelTheRun, oldTerminate: core.TerminateTheRun}

// oldRequest decodes a request of an earlier version.
func oldRequest(m store.Message) (core.Input, error) {
	d, err := decode[struct {
		Name, ID, Reason, By, Chain string
		Value                       history.Payload
		Control                     *core.Control
	}](m)
	switch {
	case err != nil:
		return nil, err
	case m.Kind != oldControl:
		return core.Control{Operation: oldOperations[m.Kind], Signal: d.Name, SignalID: d.ID, Value: d.Value, Reason: d.Reason, By: d.By, Chain: d.Chain}, nil
	case d.Control == nil:
		return nil, fmt.Errorf("message %d of workflow %q asks for no operation", m.Sequence, m.WorkflowID)
	}
	return *d.Control, nil
}
