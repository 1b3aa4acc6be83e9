package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/store"
)

// ErrUpdateUnfinished says that an update was accepted, and that its run ended, or
// was continued as new or retried, before the handler had an answer. Nobody knows
// how far that came, and it does not go on.
var ErrUpdateUnfinished = errors.New("the run ended before the update was answered")

// Update asks the code of the latest run of a workflow ID for an update, and waits
// until it is answered. One that was asked for under this ID before is not made
// again: its answer is that of the first. The request is a message for the owner,
// which says in the transaction that consumes it what came of it: why the update was
// rejected, or in which turn it is on record. The answer is read from there, so any
// process can wait for it, through crashes and takeovers.
func (e *Engine) Update(ctx context.Context, workflowID, name, id string, input history.Payload) (history.Payload, error) {
	if err := errors.Join(e.usable(workflowID), history.CheckName("update name", name)); err != nil {
		return history.Payload{}, err
	}
	if id == "" {
		id = ident.NewToken()
	} else if err := history.CheckID("update ID", id); err != nil {
		return history.Payload{}, err
	}
	u := sentUpdate{workflowID: workflowID, name: name, id: id, input: input}
	err := e.sendUpdate(ctx, &u)
	var answer history.Payload
	if err == nil {
		answer, err = e.awaitUpdate(ctx, &u)
	}
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	return answer, err
}

// sentUpdate is an update on its way, and where it was accepted.
type sentUpdate struct {
	workflowID, name, id string
	input                history.Payload

	run  string
	turn int64
}

// sendUpdate asks for an update and learns where it was accepted.
func (e *Engine) sendUpdate(ctx context.Context, u *sentUpdate) error {
	asker := ident.NewToken()
	m, err := message.New(e.group, u.workflowID, "", message.KindUpdate, "update/"+asker, message.Data{Name: u.name, ID: u.id, Asker: asker, Value: u.input})
	if err != nil {
		return err
	}
	d, err := e.exchange(ctx, m, message.AnswerTo(asker))
	switch {
	case errors.Is(err, store.ErrClosed), err == nil && d.Closed:
		return e.findUpdate(ctx, u)
	case err != nil:
		return err
	case d.Failure != nil:
		return d.Failure.Err()
	}
	u.run, u.turn = d.Run, d.Turn
	return nil
}

// findUpdate looks where an update was accepted by a workflow that has ended.
func (e *Engine) findUpdate(ctx context.Context, u *sentUpdate) error {
	row, err := e.find(ctx, u.workflowID, "")
	if err != nil {
		return err
	}
	s, err := e.snapshot(ctx, row)
	if err != nil {
		return err
	}
	for _, ev := range s.events {
		if ev.Kind == history.UpdateAccepted && ev.ID == u.id {
			u.run, u.turn = row.ID, ev.Turn
			return nil
		}
	}
	if s.start.Carried != nil {
		for _, before := range s.start.Carried.Updates {
			if before.ID == u.id {
				u.run, u.turn = before.Run, before.Turn
				return nil
			}
		}
	}
	return fmt.Errorf("workflow %q: %w", u.workflowID, store.ErrClosed)
}

// lastAnswerLook is how long it is at most between two looks for an answer. Who waits
// on the node that gives it is told.
const lastAnswerLook = 500 * time.Millisecond

// awaitUpdate waits for the answer of an update that was accepted.
func (e *Engine) awaitUpdate(ctx context.Context, u *sentUpdate) (history.Payload, error) {
	number, after := entity.Place(e.group, u.workflowID), u.turn-1
	for wait := firstLook; ; wait = min(2*wait, lastAnswerLook) {
		rung, leave := e.bellOf(u.run)
		row, err := e.db.Find(ctx, number, u.workflowID, u.run) // first: what has ended has all on record
		var turns []store.TurnRow
		if err == nil {
			turns, err = e.db.History(ctx, number, u.run, after, 0)
		}
		if err == nil {
			if answer, done, err := u.readAnswer(turns); done {
				leave()
				return answer, err
			}
			if n := len(turns); n > 0 {
				after = turns[n-1].Number
			}
			if !row.Status.Open() {
				err = fmt.Errorf("workflow %q: update %q: %w", u.workflowID, u.id, ErrUpdateUnfinished)
			}
		}
		if err == nil || store.Unavailable(err) {
			err = e.sleepUntil(ctx, wait, rung)
		}
		leave()
		if err != nil {
			return history.Payload{}, err
		}
	}
}

// readAnswer looks for the answer in turns.
func (u *sentUpdate) readAnswer(turns []store.TurnRow) (answer history.Payload, done bool, err error) {
	for _, t := range turns {
		events, err := history.DecodeTurn(t.Events)
		if err != nil {
			return answer, true, err
		}
		for i := range events {
			ev := &events[i]
			switch {
			case ev.ID != u.id:
			case ev.Kind == history.UpdateAccepted && (ev.Name != u.name || !ev.Input.Equal(u.input)):
				return answer, true, &history.InputError{
					What: fmt.Sprintf("update ID %q", u.id), Problem: fmt.Sprintf("belongs to update %q with the input %s; use another ID", ev.Name, ev.Input),
				}
			case ev.Kind == history.UpdateCompleted:
				return ev.Result, true, ev.Failure.Err()
			}
		}
	}
	return answer, false, nil
}

// replies tells those who asked for updates what came of it.
func replies(p *partition, out *core.Turn) (messages []store.Message, err error) {
	for i := range out.Replies {
		reply := &out.Replies[i]
		m, err := message.Answer(p.number, reply.Asker, message.Data{Run: reply.Run, Turn: reply.Turn, Failure: reply.Failure})
		if err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
	return messages, nil
}

// updateRule has those told who asked a run for updates that it has ended.
func updateRule() rule {
	return rule{refusal: func(p *partition, in core.Input) (m store.Message, due bool) {
		u, is := in.(core.UpdateArrived)
		if !is {
			return m, false
		}
		m, err := message.Answer(p.number, u.Asker, message.Data{Closed: true})
		return m, err == nil
	}}
}
