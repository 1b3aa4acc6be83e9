package inspect

import (
	"context"
	"encoding/json"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// Audit returns the operations on a run and its calls, by people and by the engine, oldest
// first.
func (in *Inspector) Audit(ctx context.Context, workflowID, run string) ([]view.ControlRecord, error) {
	row, err := in.Find(ctx, workflowID, run)
	if err != nil {
		return nil, err
	}
	start, _ := record.Start(row) // the description says what cannot be read
	all, _, err := in.controls(ctx, row, &start, 0)
	return all, err
}

// controls reads the operations in the history of a run after a turn, oldest first, and
// returns how many turns it read.
func (in *Inspector) controls(ctx context.Context, row *store.Run, start *history.Start, after int64) (all []view.ControlRecord, read int, err error) {
	done := controls{row: row}
	_, err = in.each(ctx, row, start, max(after, 0), mostTurns, func(some stretch) (more bool) {
		for i := range some.turns {
			done.add(nil, &some.turns[i])
		}
		read += len(some.turns)
		return true
	})
	return done.all(start), read, err
}

// controls collects the operations in the history of a run, oldest first.
type controls struct {
	row *store.Run
	out []view.ControlRecord
}

func (c *controls) add(_ *Snapshot, t *core.StoredTurn) {
	for i := range t.Events {
		ev := &t.Events[i]
		operation := plainly[ev.Kind]
		if !IsAnswer(ev) && (operation == "" || ev.Operation != "") {
			continue
		}
		r := ControlRecord(c.row, ev, t.Time)
		if r.Operation == "" {
			r.Operation, r.Outcome = string(operation), view.Applied
		}
		c.out = append(c.out, r)
	}
}

// all returns them after the reset or fork with which the run began.
func (c *controls) all(start *history.Start) []view.ControlRecord {
	return append(BaseRecord(c.row, start), c.out...)
}

// plainly are the operations whose caller does not wait for a result. Only the event that
// they cause records them.
var plainly = map[history.Kind]core.Operation{
	history.RunCancelRequested: core.CancelTheRun,
	history.RunTerminated:      core.TerminateTheRun,
}

// ControlRecord returns the audit record in an event. time is that of the event's turn, in
// nanoseconds since 1970.
func ControlRecord(row *store.Run, ev *history.Event, time int64) view.ControlRecord {
	r := view.ControlRecord{
		WorkflowID: row.WorkflowID, RunID: row.ID, Call: ev.Call, Name: ev.Name, Operation: ev.Operation,
		Request: ev.ID, By: ev.By, Why: ev.Reason, Outcome: ev.Outcome, Note: ev.Note, Time: at(time),
	}
	if ev.Policy != nil {
		r.Policy, _ = json.Marshal(ev.Policy) // it came from JSON
	}
	return r
}

// IsAnswer reports whether an event is the result of an operation.
func IsAnswer(ev *history.Event) bool {
	return ev.Kind == history.CallControlled || ev.Kind == history.RunControlled
}
