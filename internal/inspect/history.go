package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/view"
)

// TurnEvent is an event of a history with its turn, and the type name of its failure, which
// the tree of the failure has somewhere.
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

// shown is an event with what its readers would have to look for: the types of errors.
func shown(t history.RecordedTurn, ev history.Event) TurnEvent {
	s := TurnEvent{Turn: t.Number, Time: at(t.Time), Event: ev}
	if ev.Failure != nil {
		s.ErrorType = ev.Failure.TypeName()
	}
	if ev.Retry != nil {
		sum := *ev.Retry
		sum.LastErrorType = ev.LastErrorType()
		s.Retry = &sum
	}
	return s
}

// Turns reads the turns of a run that follow the one numbered after; 0 reads all.
func (in *Inspector) Turns(ctx context.Context, partition int, run string, after int64) ([]core.StoredTurn, error) {
	stored, err := in.db.History(ctx, partition, run, after, 0)
	if err != nil {
		return nil, err
	}
	return record.Turns(stored)
}

// Record returns the history of a run as one document, for replay elsewhere.
func (in *Inspector) Record(ctx context.Context, workflowID, run string) (r history.Recording, err error) {
	row, err := in.Find(ctx, workflowID, run)
	if err != nil {
		return r, err
	}
	if r.Start, err = history.DecodeStart(row.Start); err != nil {
		return r, err
	}
	turns, err := in.Turns(ctx, row.Partition, row.ID, 0)
	for _, t := range turns {
		r.Turns = append(r.Turns, history.RecordedTurn{Number: t.Number, Time: t.Time, Events: t.Events})
	}
	return r, err
}

// Events returns the history of a run, the start event first. Each event of a call has the
// call's name, which the history itself says once, and the types of its errors.
func (in *Inspector) Events(ctx context.Context, workflowID, run string) ([]view.Event, error) {
	r, err := in.Record(ctx, workflowID, run)
	if err != nil {
		return nil, err
	}
	first := startEvent{Start: &r.Start}
	if r.Start.Failure != nil {
		first.ErrorType = r.Start.Failure.TypeName()
	}
	start, err := json.Marshal(first)
	if err != nil {
		return nil, err
	}
	events := []view.Event{{Time: at(r.Start.Created), Kind: string(history.RunStarted), Name: r.Start.Type, ErrorType: first.ErrorType, Record: start}}
	names := map[int64]string{}
	for _, t := range r.Turns {
		for _, ev := range t.Events {
			if ev.Name != "" && ev.Call != 0 {
				names[ev.Call] = ev.Name
			}
			ev.Name = cmp.Or(ev.Name, names[ev.Call])
			in := shown(t, ev)
			text, err := json.Marshal(in)
			if err != nil {
				return nil, err
			}
			events = append(events, view.Event{Turn: in.Turn, Time: in.Time, Kind: string(ev.Kind), Call: ev.Call, Name: ev.Name, ErrorType: in.ErrorType, Record: text})
		}
	}
	return events, nil
}
