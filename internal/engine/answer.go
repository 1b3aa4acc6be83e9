package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/hold"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/report"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
)

// answerTime is how long an answer stays in the inbox. After that its caller has given up.
const answerTime = time.Minute

// Errors of queries.
var (
	// ErrNoCode reports that the process that owns the run lacks its code.
	ErrNoCode = errors.New("the code of the run is missing " + see.NoCode)
	// ErrParked reports that the run is parked: its code has no current state.
	ErrParked = errors.New("the run is parked")
)

// answer implements stepper.
func (r *activeRun) answer(questions []question) error {
	if len(questions) > 0 && r.instance != nil {
		onTrial, err := r.try(&turn{})
		if err != nil {
			turnAway(questions)
			return err
		}
		defer onTrial.Finished()
	}
	for i, q := range questions {
		if r.instance == nil {
			q.answer <- answer{err: refusal(r.hold)}
			continue
		}
		value, err := r.engine.code.guard.Query(r.instance, q.name, q.input)
		if p, is := errors.AsType[*retry.PanicError](err); is {
			r.engine.log.HandlerPanicked(report.Of(r.run.Began()), "query "+q.name, p.Value, p.Stack)
		}
		q.answer <- answer{value, told(err)}
		if replay.IsStuck(err) {
			r.instance = nil // the handler may still be running in it
			turnAway(questions[i+1:])
			return err
		}
	}
	return nil
}

// refusal returns the error of a query to a run without code.
func refusal(h *hold.Hold) error {
	switch {
	case h == nil:
		return request.ErrMoved
	case h.Status == core.StatusParked:
		return fmt.Errorf("%w: %s", ErrParked, h.Detail.Reason)
	}
	return fmt.Errorf("%w: %s", ErrNoCode, h.Detail.Reason)
}

// told returns err as it would arrive in another process.
func told(err error) error {
	if err == nil {
		return nil
	}
	return history.FromError(err).Err()
}

// routeQuery answers a query from another process, on its own goroutine.
func (i *inbox) routeQuery(m store.Message) {
	e := i.engine
	p := i.claim(m, nil)
	if p == nil {
		return
	}
	d, err := message.Read(m)
	if err != nil {
		e.log.QueryUnreadable(err)
		p.drop(m)
		return
	}
	left := time.Duration(m.Posted + d.Wait - e.clock.Now())
	if left <= 0 { // the caller has given up
		p.drop(m)
		return
	}
	e.steps.Run(func() { p.answerMessage(m, d, left) })
}

// answerMessage answers a query and sends the result in the transaction that consumes the
// query. If this node has lost the location, the message stays for the next owner.
func (p *location) answerMessage(m store.Message, d message.Data, left time.Duration) {
	e := p.engine
	ctx, cancel := context.WithTimeout(e.life.ctx, left)
	defer cancel()
	var value history.Payload
	row, err := e.db.Find(ctx, p.Partition, m.WorkflowID, m.Run)
	if err == nil {
		value, err = e.queryHere(ctx, p, row, d.Name, d.Value)
	}
	if e.life.ctx.Err() != nil {
		return
	}
	if errors.Is(err, request.ErrMoved) || ctx.Err() != nil {
		p.box.Forget(m.Sequence) // the next look finds it, or its caller has given up
		return
	}
	reply, err := message.Answer(p.Partition, d.ID, message.Data{Value: value, Failure: history.FromError(err)})
	if err != nil {
		e.log.AnswerFailed(err)
		return
	}
	of := resident{location: p, id: m.Run}
	t := of.change()
	t.Consumed, t.Messages, t.Repeatable = []int64{m.Sequence}, []store.Message{reply}, true
	_ = of.commit(t) // else it stays for another owner
}
