package request

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/message"
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
