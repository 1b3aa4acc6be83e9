package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/code"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/store"
)

// answerTime is how long an answer waits in the inbox. Then its caller is gone.
const answerTime = time.Minute

// Errors of queries.
var (
	// ErrNoCode says that the process that was to answer has not the code of the run.
	ErrNoCode = errors.New("the code of the run is missing")
	// ErrParked says that the run is parked: where its code stands is not known.
	ErrParked = errors.New("the run is parked")
)

// question is a query of a run that this node serves.
type question struct {
	name   string
	input  history.Payload
	answer chan<- answer // has room for one
}

type answer struct {
	value history.Payload
	err   error
}

// ask puts a question to a run, between two of its turns.
func (e *Engine) ask(p *partition, run string, q question) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.askLocked(p, run, q)
}

func (e *Engine) askLocked(p *partition, run string, q question) {
	if e.partitions[p.number] != p {
		q.answer <- answer{err: request.ErrMoved}
		return
	}
	r := e.resident(p, run)
	r.questions = append(r.questions, q)
	e.rouse(r)
}

// answer implements stepper.
func (r *activeRun) answer(questions []question) error {
	if len(questions) > 0 && r.instance != nil {
		onTrial, err := r.engine.onTrial(r, nil)
		if err != nil {
			turnAway(questions)
			return err
		}
		defer onTrial.finished()
	}
	for i, q := range questions {
		if r.instance == nil {
			q.answer <- answer{err: r.hold.refusal()}
			continue
		}
		value, err := r.engine.handle(r.instance, q.name, q.input)
		q.answer <- answer{value, told(err)}
		if stuck := (*replay.StuckError)(nil); errors.As(err, &stuck) {
			r.instance = nil // the handler may still be at work in there
			turnAway(questions[i+1:])
			return err
		}
	}
	return nil
}

// turnAway has the callers look for the run again.
func turnAway(questions []question) {
	for _, q := range questions {
		q.answer <- answer{err: request.ErrMoved}
	}
}

// refusal says why a run without code does not answer.
func (h *hold) refusal() error {
	switch {
	case h == nil:
		return request.ErrMoved
	case h.status == core.StatusParked:
		return fmt.Errorf("%w: %s", ErrParked, h.detail.Reason)
	}
	return fmt.Errorf("%w: %s", ErrNoCode, h.detail.Reason)
}

// handle runs a handler under watch, as all code of users.
func (e *Engine) handle(i code.Instance, name string, input history.Payload) (history.Payload, error) {
	watch := stint{instance: i}
	watch.init(e)
	var a answer
	err := e.guard(&watch, func() error {
		a.value, a.err = i.Query(name, input)
		return nil
	})
	if err != nil { // a may still be written to
		return history.Payload{}, fmt.Errorf("the handler of query %q did not return: %w", name, err)
	}
	return a.value, a.err
}

// told is an error as it arrives in another process.
func told(err error) error {
	if err == nil {
		return nil
	}
	return history.FromError(err).Err()
}

// routeQuery has a query from another process answered, on a goroutine of its own.
func (e *Engine) routeQuery(m store.Message) {
	p := e.claim(m, nil)
	if p == nil {
		return
	}
	d, err := message.Read(m)
	if err != nil {
		e.log.QueryUnreadable(err)
		e.discard(&resident{partition: p}, []mail{{sequence: m.Sequence}})
		return
	}
	left := time.Duration(m.Posted + d.Wait - e.clock.Now())
	if left <= 0 { // the caller has given up
		e.discard(&resident{partition: p}, []mail{{sequence: m.Sequence}})
		return
	}
	e.steps.Run(func() { e.answerMessage(p, m, d, left) })
}

// answerMessage answers a query and sends the answer in the transaction that
// consumes the question. A node that lost the partition meanwhile leaves that to
// the next one.
func (e *Engine) answerMessage(p *partition, m store.Message, d message.Data, left time.Duration) {
	ctx, cancel := context.WithTimeout(e.ctx, left)
	defer cancel()
	value, err := e.answerOf(ctx, p, m, d)
	if e.ctx.Err() != nil {
		return
	}
	if errors.Is(err, request.ErrMoved) || ctx.Err() != nil {
		e.leaveForLater(p, m.Sequence) // it is found again, or too late
		return
	}
	reply, err := message.Answer(p.home, d.ID, message.Data{Value: value, Failure: history.FromError(err)})
	if err != nil {
		e.log.AnswerFailed(err)
		return
	}
	t := store.Turn{
		Partition: p.home, Ward: p.ward, Epoch: p.epoch, Run: m.Run, Consumed: []int64{m.Sequence}, Repeatable: true,
		Messages: []store.Message{reply},
	}
	if e.committer.Commit(t) == nil {
		e.settled(&resident{partition: p}, &t)
	}
}

func (e *Engine) answerOf(ctx context.Context, p *partition, m store.Message, d message.Data) (history.Payload, error) {
	row, err := e.db.Find(ctx, p.home, m.WorkflowID, m.Run)
	if err != nil {
		return history.Payload{}, err
	}
	return e.queryHere(ctx, p, row, d.Name, d.Value)
}

// sweepAnswer removes an answer that its caller did not take.
func (e *Engine) sweepAnswer(m store.Message) {
	if e.clock.Now()-m.Posted < int64(answerTime) {
		return
	}
	if p := e.claim(m, nil); p != nil {
		e.discard(&resident{partition: p}, []mail{{sequence: m.Sequence}})
	}
}
