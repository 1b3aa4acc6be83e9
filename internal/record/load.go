package record

import (
	"fmt"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// Past is all that is on record of a run, decoded: what its machine is loaded from.
type Past struct {
	Start history.Start
	Turns []core.StoredTurn
	Rows  []core.Row
	State core.State
}

// Decode decodes the record of a run.
func Decode(r *store.Record) (*Past, error) {
	start, err := history.DecodeStart(r.Run.Start)
	if err != nil {
		return nil, err
	}
	turns, err := Turns(r.Turns)
	if err != nil {
		return nil, err
	}
	return &Past{Start: start, Turns: turns, Rows: Rows(r.Calls), State: State(r.Run.RunState)}, nil
}

// Turns decodes the turns of a history.
func Turns(stored []store.TurnRow) (turns []core.StoredTurn, err error) {
	var words history.Words
	turns = make([]core.StoredTurn, 0, len(stored))
	for _, t := range stored {
		events, err := words.DecodeTurn(t.Events)
		if err != nil {
			return nil, fmt.Errorf("turn %d: %w", t.Number, err)
		}
		turns = append(turns, core.StoredTurn{Number: t.Number, Epoch: t.Epoch, Time: t.Time, Events: events})
	}
	return turns, nil
}

// Rows are the rows of calls, or of the tickets of a gate or the fires of a schedule.
func Rows(calls []store.Call) (rows []core.Row) {
	for _, c := range calls {
		rows = append(rows, core.Row{
			Call: c.Number, State: core.CallState(c.State), Name: c.Name, Queue: c.Queue,
			Attempt: c.Attempt, Due: c.Due, Data: c.Data,
		})
	}
	return rows
}

// State is the part of a row that turns change.
func State(s store.RunState) core.State {
	return core.State{Status: core.Status(s.Status), Wake: s.Wake, Closed: s.Closed, Detail: s.Detail, Full: s.Full}
}

// Attributes are the attributes of a run by name, nil if it has none.
func Attributes(row []store.Attribute) map[string]string {
	if len(row) == 0 {
		return nil
	}
	all := make(map[string]string, len(row))
	for _, a := range row {
		all[a.Name] = a.Value
	}
	return all
}
