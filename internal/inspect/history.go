package inspect

import (
	"context"
	"encoding/json"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/view"
)

// TurnEvent is an event of a history with its turn and the type name of its failure, which
// is otherwise deep in the failure's tree.
type TurnEvent struct {
	Turn int64     `json:"turn"`
	Time time.Time `json:"time"`
	history.Event
	ErrorType string `json:"error_type,omitempty"`
}

// startEvent is the first event, with the type name of the failure that the run follows.
type startEvent struct {
	*history.Start
	ErrorType string `json:"error_type,omitempty"`
}

// shown returns an event with what its readers would otherwise have to look up: the types
// of errors.
func shown(t core.StoredTurn, ev history.Event) TurnEvent {
	s := TurnEvent{Turn: t.Number, Time: at(t.Time), Event: ev}
	_, s.ErrorType = told(ev.Failure)
	if ev.Retry != nil {
		sum := *ev.Retry
		sum.LastErrorType = ev.LastErrorType()
		s.Retry = &sum
	}
	return s
}

// Turns reads the turns of a run after the one with this number; 0 reads all. With a
// *history.DamageError it also returns the readable turns.
func (in *Inspector) Turns(ctx context.Context, partition int, run string, after int64) ([]core.StoredTurn, error) {
	stored, err := in.db.History(ctx, partition, run, after, 0)
	if err != nil {
		return nil, err
	}
	turns, damage := record.Turns(&history.Start{Run: run}, after, stored)
	if len(damage) > 0 { // the run may begin with turns of another one
		row, err := in.db.Find(ctx, partition, "", run)
		if err != nil {
			return nil, err
		}
		start, _ := record.Start(row)
		turns, damage = record.Turns(&start, after, stored)
	}
	if len(damage) > 0 {
		return turns, damage[0]
	}
	return turns, nil
}

// Record returns the history of a run as one document, so that it can be replayed
// elsewhere.
func (in *Inspector) Record(ctx context.Context, workflowID, run string) (r history.Recording, err error) {
	row, err := in.Find(ctx, workflowID, run)
	if err != nil {
		return r, err
	}
	if r.Start, err = record.Start(row); err != nil {
		return r, err
	}
	turns, err := in.Turns(ctx, row.Partition, row.ID, 0)
	if err != nil {
		return r, err
	}
	for _, t := range turns {
		r.Turns = append(r.Turns, history.RecordedTurn{Number: t.Number, Time: t.Time, Events: t.Events})
	}
	return r, nil
}

// beginning returns the first event of a run's history; unread says why it cannot be read, or is nil.
func beginning(start *history.Start, unread error) (view.Event, error) {
	if !readable(unread) {
		return damagedEvent(damageOf(unread))
	}
	first := startEvent{Start: start}
	_, first.ErrorType = told(start.Failure)
	text, err := json.Marshal(first)
	return view.Event{Number: 1, Time: at(start.Created), Kind: string(history.RunStarted), Name: start.Type, ErrorType: first.ErrorType, Record: text}, err
}
