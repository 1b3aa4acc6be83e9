package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

// Errors of those who ask runs.
var (
	// ErrNoHandler says that the run does not answer a query of that name.
	ErrNoHandler = workflow.ErrNoHandler
	// ErrNoCode says that whoever was to answer has not the code of the run.
	ErrNoCode = errors.New("the code of the run is missing")
	// ErrParked says that the run is parked: nobody knows where its code stands.
	ErrParked = errors.New("the run is parked")
	// ErrUnanswered says that nobody answered in time.
	ErrUnanswered = errors.New("nobody answered the query in time")

	errMoved = errors.New("the run went elsewhere")
)

// QueryTime is how long a query waits for its answer if nobody says otherwise.
const QueryTime = 10 * time.Second

// Query asks the code of a run, or of the latest of the workflow ID. The owner
// answers, between two turns: from memory if the run is there, else after a replay.
// A run that has ended is replayed by whoever has its code. Nothing is recorded.
func (e *Engine) Query(ctx context.Context, workflowID, run, name string, input history.Payload) (history.Payload, error) {
	if err := history.CheckName("query name", name); err != nil {
		return history.Payload{}, err
	}
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, QueryTime)
		defer cancel()
	}
	for {
		row, err := e.find(ctx, workflowID, run)
		if err != nil {
			return history.Payload{}, err
		}
		answer, err := e.queryRun(ctx, row, name, input)
		switch {
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil:
			return answer, fmt.Errorf("%w: %w", ErrUnanswered, ctx.Err())
		case !errors.Is(err, errMoved):
			return answer, err
		}
		if err := e.sleep(ctx, findPause); err != nil {
			return history.Payload{}, fmt.Errorf("%w: %w", ErrUnanswered, err)
		}
	}
}

// queryRun asks here if the answer can be given here.
func (e *Engine) queryRun(ctx context.Context, row *store.Run, name string, input history.Payload) (history.Payload, error) {
	e.mu.Lock()
	p := e.owns(row.Partition)
	e.mu.Unlock()
	if p == nil && (row.Status.Open() || e.defs.workflows[row.Type] == nil) {
		return e.queryElsewhere(ctx, row, name, input)
	}
	return e.queryHere(ctx, p, row, name, input)
}

// queryHere answers a query of a run that this node serves, or that has ended.
func (e *Engine) queryHere(ctx context.Context, p *partition, row *store.Run, name string, input history.Payload) (history.Payload, error) {
	if !row.Status.Open() {
		return e.queryEnded(ctx, row, name, input)
	}
	answered := make(chan answer, 1)
	e.ask(p, row.ID, question{name, input, answered})
	select {
	case a := <-answered:
		return a.value, a.err
	case <-ctx.Done():
		return history.Payload{}, ctx.Err()
	case <-e.ctx.Done():
		return history.Payload{}, ErrStopped
	}
}

// queryEnded replays a run that has ended and asks its code.
func (e *Engine) queryEnded(ctx context.Context, row *store.Run, name string, input history.Payload) (history.Payload, error) {
	def := e.defs.workflows[row.Type]
	if def == nil {
		return history.Payload{}, fmt.Errorf("%w: workflow %q is not registered with the engine %s", ErrNoCode, row.Type, e.config.Node)
	}
	select {
	case e.loading <- struct{}{}:
		defer func() { <-e.loading }()
	case <-ctx.Done():
		return history.Payload{}, ctx.Err()
	}
	rec, err := e.db.Load(ctx, row.Partition, row.ID)
	if err != nil {
		return history.Payload{}, err
	}
	past, err := record.Decode(rec)
	if err != nil {
		return history.Payload{}, err
	}
	_, instance, err := e.replay(core.Config{Policy: &e.config.Policy, Draw: e.config.Draw}, def, past)
	if err != nil {
		return history.Payload{}, err
	}
	value, err := e.handle(instance, name, input)
	endInstance(instance, err)
	return value, told(err)
}

// queryElsewhere asks the owner of a run's partition by a message. The answer is a
// message too, to a name that only this question has.
func (e *Engine) queryElsewhere(ctx context.Context, row *store.Run, name string, input history.Payload) (history.Payload, error) {
	token := ident.NewToken()
	deadline, _ := ctx.Deadline()
	m, err := message.New(e.group, row.WorkflowID, row.ID, message.KindQuery, "query/"+token, message.Data{
		Name: name, ID: token, Value: input, Wait: int64(time.Until(deadline)),
	})
	if err != nil {
		return history.Payload{}, err
	}
	m.ForOwner = true
	answer, err := e.exchange(ctx, m, message.AnswerTo(token))
	if err == nil {
		err = answer.Failure.Err()
	}
	return answer.Value, err
}

// exchange posts a question until the database has it, and looks for the answer.
// One that may have got lost on its way from the inbox is asked for again: a
// question that still waits there is not doubled by that.
func (e *Engine) exchange(ctx context.Context, m store.Message, name string) (message.Data, error) {
	posted := false
	for wait := firstLook; ; wait = min(2*wait, lastAnswerLook) {
		rung, leave := e.bellOf(name)
		var answers []store.Message
		var err error
		if posted {
			answers, err = e.db.Take(ctx, m.Partition, name)
			posted = err == nil
		} else {
			err = e.post(ctx, m)
			posted = err == nil
		}
		if len(answers) == 0 && (err == nil || store.Unavailable(err)) && ctx.Err() == nil {
			err = e.sleepUntil(ctx, wait, rung)
		}
		leave()
		switch {
		case len(answers) > 0:
			return message.Read(answers[0])
		case ctx.Err() != nil:
			return message.Data{}, ctx.Err()
		case err != nil:
			return message.Data{}, err
		}
	}
}
