package request

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/store"
)

// ErrUnanswered says that no node answered a query in time.
var ErrUnanswered = errors.New("the query was not answered in time; see which engines serve: perdure nodes")

// QueryTime is how long a query waits for its answer if its context has no deadline.
const QueryTime = 10 * time.Second

// Query asks the code of a run, or of the latest run of the workflow ID. The owner answers
// between two turns: from memory if the run is there, otherwise after a replay. A closed
// run is replayed by a process that has its code: this one, or the owner. Nothing is
// recorded.
func (c *Client) Query(ctx context.Context, workflowID, run, name string, input history.Payload) (answer history.Payload, err error) {
	return Intercept(ctx, c, intercept.Op{Kind: intercept.Query, Name: name, WorkflowID: workflowID, RunID: run}, func(ctx context.Context) (answer history.Payload, err error) {
		if err := c.check(ctx, named("query", name), c.lacks); err != nil {
			return answer, err
		}
		if _, limited := ctx.Deadline(); !limited {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, QueryTime)
			defer cancel()
		}
		defer c.waiters.begin(workflowID, run).end()
		partition := c.place(workflowID)
		err = c.await(ctx, partition, "", shortPause, func(ended) (done bool, err error) {
			row, err := c.read.Find(ctx, workflowID, run)
			if err != nil {
				return true, err
			}
			answer, err = c.queryRun(ctx, row, name, input)
			if errors.Is(err, ErrMoved) {
				return false, nil
			}
			return true, err
		})
		if ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("%w: %w", ErrUnanswered, ctx.Err())
		}
		return answer, err
	})
}

// queryRun asks this process or, by a message, the owner of the run's partition. The answer
// is a message too, to a name that only this question has.
func (c *Client) queryRun(ctx context.Context, row *store.Run, name string, input history.Payload) (history.Payload, error) {
	if answer, served, err := c.local.Query(ctx, row, name, input); served {
		return answer, err
	}
	token := ident.NewToken()
	deadline, _ := ctx.Deadline()
	m, err := message.Query(c.group, row.WorkflowID, row.ID, name, token, input, time.Until(deadline))
	if err != nil {
		return history.Payload{}, err
	}
	reply, err := c.exchange(ctx, m, token)
	if err == nil {
		err = reply.Failure.Err()
	}
	return reply.Value, err
}

// exchange posts a question and waits for the reply to its token. A reply may get lost on
// its way from the inbox; exchange then posts the question again. It returns
// store.ErrNotFound if the run is gone.
func (c *Client) exchange(ctx context.Context, question store.Message, token string) (reply message.Data, err error) {
	name, posted := message.AnswerTo(token), false
	gone := newDoubt(time.Now())
	err = c.await(ctx, question.Partition, name, longPause, func(ended) (done bool, err error) {
		if !posted {
			err = c.post(ctx, question)
			posted = err == nil
			return false, err
		}
		var missing error
		if gone.due(time.Now()) { // before the look for a reply, which may be older than the deletion
			_, missing = c.db.Find(ctx, question.Partition, question.WorkflowID, question.Run)
		}
		replies, err := c.db.Take(ctx, question.Partition, name)
		if posted = err == nil; posted && len(replies) == 0 && errors.Is(missing, store.ErrNotFound) {
			return false, fmt.Errorf("workflow %q: %w", question.WorkflowID, removed(question.Run, missing))
		}
		if len(replies) == 0 {
			return false, err
		}
		reply, err = message.Read(replies[0])
		return true, err
	})
	return reply, err
}

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
