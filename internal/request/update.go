package request

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/store"
)

// ErrUpdateUnfinished says that a run accepted an update and ended, continued as new or was
// retried before the handler returned. How far the handler got is not known, and it does
// not continue.
var ErrUpdateUnfinished = errors.New("the run ended before the update was answered " + see.Updates)

// ErrNoAnswer says that a request is durable and was not carried out within the caller's
// time. It will be carried out; the same request ID asks again.
var ErrNoAnswer = errors.New("the request is recorded but not carried out yet; an engine that serves the workflow will do it")

// Update asks the code of the latest run of a workflow ID for an update and waits for its
// result. An update whose ID was used before is not made again: the result is that of the
// first. The owner replies in the transaction that consumes the request: why it rejects the
// update, or which turn records it. The result is read from the history after that turn, so
// any process can wait for it, through crashes and takeovers.
func (c *Client) Update(ctx context.Context, workflowID, name, id string, input history.Payload) (result history.Payload, err error) {
	return Intercept(ctx, c, intercept.Op{Kind: intercept.Update, Name: name, WorkflowID: workflowID}, func(ctx context.Context) (result history.Payload, err error) {
		if err := c.check(ctx, ofWorkflow(workflowID), named("update", name), identified("update", id), c.lacks); err != nil {
			return result, err
		}
		if id == "" {
			id = ident.NewToken()
		}
		defer c.waiters.begin(workflowID, "").end()
		u := &update{workflowID: workflowID, name: name, id: id, input: input}
		at, err := c.sendUpdate(ctx, u)
		if err == nil {
			var closed *store.Run
			closed, err = c.awaitTurn(ctx, at, longPause, func(row *store.Run) bool { return !row.Status.Open() }, u.read)
			if closed != nil {
				err = fmt.Errorf("workflow %q: update %q: %w", workflowID, id, ErrUpdateUnfinished)
			}
		}
		if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			err = fmt.Errorf("%w: %w", ErrNoAnswer, err)
		}
		return u.result, err
	})
}

type update struct {
	workflowID, name, id string
	input, result        history.Payload
}

// sendUpdate asks for an update and returns where it was accepted.
func (c *Client) sendUpdate(ctx context.Context, u *update) (*place, error) {
	token := ident.NewToken()
	m, err := message.Update(c.group, u.workflowID, u.name, u.id, token, u.input)
	if err != nil {
		return nil, err
	}
	d, err := c.exchange(ctx, m, token)
	switch {
	case errors.Is(err, store.ErrClosed), err == nil && d.Closed:
		return c.findUpdate(ctx, u)
	case err != nil:
		return nil, err
	case d.Failure != nil:
		return nil, d.Failure.Err()
	}
	return &place{u.workflowID, d.Run, d.Turn - 1}, nil
}

// findUpdate finds where a closed workflow accepted an update.
func (c *Client) findUpdate(ctx context.Context, u *update) (*place, error) {
	row, err := c.read.Find(ctx, u.workflowID, "")
	if err != nil {
		return nil, err
	}
	start, err := record.Start(row)
	if err != nil {
		return nil, err
	}
	turns, err := c.read.Turns(ctx, row.Partition, row.ID, 0)
	if err != nil {
		return nil, err
	}
	for _, t := range turns {
		for i := range t.Events {
			if ev := &t.Events[i]; ev.Kind == history.UpdateAccepted && ev.ID == u.id {
				return &place{u.workflowID, row.ID, t.Number - 1}, nil
			}
		}
	}
	if start.Carried != nil {
		for _, before := range start.Carried.Updates {
			if before.ID == u.id {
				return &place{u.workflowID, before.Run, before.Turn - 1}, nil
			}
		}
	}
	return nil, fmt.Errorf("workflow %q: %w", u.workflowID, store.ErrClosed)
}

// read looks for the result in a turn.
func (u *update) read(t *core.StoredTurn) (done bool, err error) {
	for i := range t.Events {
		ev := &t.Events[i]
		switch {
		case ev.ID != u.id:
		case ev.Kind == history.UpdateAccepted && (ev.Name != u.name || !ev.Input.Equal(u.input)):
			return true, &history.InputError{
				What: fmt.Sprintf("update ID %q", u.id), Problem: fmt.Sprintf("belongs to update %q with the input %s; use another ID", ev.Name, ev.Input),
			}
		case ev.Kind == history.UpdateCompleted:
			u.result = ev.Result
			return true, ev.Failure.Err()
		}
	}
	return false, nil
}
