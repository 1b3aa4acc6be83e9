package request

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/store"
)

// By says who asks for something and why, for the audit.
type By struct {
	Who string // empty for the name of this process, where the audit requires one
	Why string
	// Request is the idempotency key of a request to a gate or schedule, or empty.
	Request string
	// Fault is the error of an option of the request. It refuses the request.
	Fault error
}

// Signal sends a signal to the latest run of a workflow ID. When it returns nil, the signal
// is durable. A *history.LimitError says that the run has too many unread signals and does not wait
// for this one. With an
// ID, sending the signal again does nothing, even after the code has read it.
func (c *Client) Signal(ctx context.Context, workflowID, name, id string, value history.Payload) error {
	return c.sendSignal(ctx, nil, workflowID, name, id, value)
}

// SignalWithin is Signal inside tx, a transaction that the caller ends.
func (c *Client) SignalWithin(ctx context.Context, tx any, workflowID, name, id string, value history.Payload) error {
	return c.sendSignal(ctx, &transaction{tx}, workflowID, name, id, value)
}

func (c *Client) sendSignal(ctx context.Context, within *transaction, workflowID, name, id string, value history.Payload) error {
	return c.intercept(ctx, intercept.Op{Kind: intercept.Signal, Name: name, WorkflowID: workflowID}, func(ctx context.Context) error {
		if err := c.check(ctx, ofWorkflow(workflowID), named("signal", name), signalID(id), c.lacks); err != nil {
			return err
		}
		m, err := message.Request(c.group, workflowID, "", &core.Control{Operation: core.SignalTheRun, Signal: name, SignalID: id, Value: value})
		if err != nil {
			return err
		}
		in, err := c.rows(within)
		if err != nil {
			return err
		}
		m.IfRoom = true
		return postSignal(ctx, in, m, name)
	})
}

// postSignal posts a signal. If the run has no room, but its row says that it waits for this
// signal, it takes it: unread signals of other names must not keep it from going on.
func postSignal(ctx context.Context, in rows, m store.Message, name string) error {
	err := in.post(ctx, m)
	if !errors.Is(err, store.ErrFull) {
		return err
	}
	row, absent := in.Find(ctx, m.Partition, m.WorkflowID, "")
	if absent != nil {
		return absent
	}
	if d, damage := core.DecodeDetail(row.Detail); damage == nil && slices.Contains(d.Awaited, name) {
		m.IfRoom = false
		if err = in.post(ctx, m); !errors.Is(err, store.ErrFull) { // else the owner's limit applies
			return err
		}
	}
	return &history.LimitError{What: "unread signals", Hint: "send it again when its code has read some, or raise perdure.MaxSignalBacklog where it runs; or 100,000 with keys came within an hour, and it takes more when that is over " + see.Limits}
}

// Cancel asks a run to end: its code is told and decides how. An empty run means the latest
// run of the workflow ID. To wait until that is done, use Control.
func (c *Client) Cancel(ctx context.Context, workflowID, run string, by By) error {
	return c.end(ctx, intercept.Cancel, workflowID, run, core.CancelTheRun, by)
}

// Terminate ends a run without asking its code. Otherwise it is like Cancel.
func (c *Client) Terminate(ctx context.Context, workflowID, run string, by By) error {
	return c.end(ctx, intercept.Terminate, workflowID, run, core.TerminateTheRun, by)
}

// end sends a request to end, which may be repeated without harm.
func (c *Client) end(ctx context.Context, kind intercept.Kind, workflowID, run string, what core.Operation, by By) error {
	return c.intercept(ctx, intercept.Op{Kind: kind, WorkflowID: workflowID, RunID: run}, func(ctx context.Context) error {
		if err := c.check(ctx, ofWorkflow(workflowID), by.check()); err != nil {
			return err
		}
		m, err := message.Request(c.group, workflowID, run, &core.Control{Operation: what, Reason: by.Why, By: cmp.Or(by.Who, c.node)})
		if err != nil {
			return err
		}
		return c.post(ctx, m)
	})
}
