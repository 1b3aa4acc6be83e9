package record

import (
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// NewRun returns the row of a run that begins with a start event.
func NewRun(partition int, s *history.Start) (*store.Run, error) {
	encoded, err := history.SealStart(*s)
	if err != nil {
		return nil, err
	}
	return &store.Run{
		Partition: partition, ID: s.Run, WorkflowID: s.WorkflowID, Type: s.Type, Group: s.Group,
		Chain: s.Chain, Attempt: s.Attempt, Start: encoded, Created: s.Created,
		Attributes: StoreAttributes(s.Attributes, s.Key), Priority: s.Priority, Key: s.Key, Weight: s.Weight,
		RunState: store.RunState{Status: store.Running, Wake: max(store.Hot, s.FirstTurn)},
	}, nil
}

// StoreBase returns the history of the run named of with which a new run begins; nil if cut is
// nil.
func StoreBase(run string, of store.RunRef, cut *core.Cut) (*store.Base, error) {
	if cut == nil {
		return nil, nil
	}
	events, err := history.SealTurn(run, cut.Last.Number, cut.Last.Time, cut.Last.Events)
	return &store.Base{
		RunRef: of, Turns: cut.Turns,
		Last: store.TurnRow{Number: cut.Last.Number, Time: cut.Last.Time, Events: events},
	}, err
}

// StoreRows is the inverse of Rows.
func StoreRows(of store.RunRef, rows []core.Row) (calls []store.Call) {
	for _, row := range rows {
		calls = append(calls, store.Call{
			Partition: of.Partition, Run: of.Run, Number: row.Call, First: row.First, State: store.CallState(row.State), Name: row.Name,
			Queue: row.Queue, Attempt: row.Attempt, Due: row.Due, Data: row.Data,
		})
	}
	return calls
}

// StoreState is the inverse of State.
func StoreState(s core.State) store.RunState {
	return store.RunState{Status: store.Status(s.Status), Wake: s.Wake, Closed: s.Closed, Detail: s.Detail, Full: s.Full}
}

// keyAttribute is the attribute by which the runs of a key are found. People cannot have it.
const keyAttribute = "#key"

// StoreAttributes is the inverse of Attributes, with the attribute of the key of a run. The result
// is sorted by name.
func StoreAttributes(all map[string]string, key string) (out []store.Attribute) {
	if key != "" {
		out = append(out, store.Attribute{Name: keyAttribute, Value: key})
	}
	for name, value := range all {
		out = append(out, store.Attribute{Name: name, Value: value})
	}
	slices.SortFunc(out, func(a, b store.Attribute) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Attempts returns the ledger rows of attempts that ended in a turn.
func Attempts(of store.RunRef, ended []core.Record) (entries []store.Attempt) {
	for _, a := range ended {
		entries = append(entries, store.Attempt{
			Partition: of.Partition, Run: of.Run, Call: a.Call, Number: a.Attempt, Name: a.Name, Outcome: string(a.Outcome),
			ErrorType: a.ErrorType, Reason: a.Reason, Started: a.Started, Ended: a.Ended, Data: a.Data, Prune: a.Prune,
		})
	}
	return entries
}

// TallySpan is the time span of one bucket of counters. It is part of the format: counters of
// another span would stand beside the existing ones.
const TallySpan = time.Hour

// NameOf returns the name under which the runs of a workflow are shown: that of their file for
// flow files, which are one workflow, and that of the definition for others.
func NameOf(workflow, file string) string {
	if workflow == view.FlowWorkflow && strings.HasSuffix(file, view.FlowEnding) {
		return file
	}
	return workflow
}

// Tallies returns what a turn adds to the counters of a workflow, under the name of NameOf: the
// calls that ended in it, and the run if it is the first turn of its own or ends it.
func Tallies(workflow string, began *history.Start, turn *core.Turn) (tallies []store.Tally) {
	begins := turn.Number == max(began.Base.LastCut(), 0)+1
	ends := turn.State != nil && turn.State.Closed != 0
	if len(turn.Tallies) == 0 && !begins && !ends {
		return nil
	}
	tallies = make([]store.Tally, 0, len(turn.Tallies)+2)
	of := store.TallyKey{Bucket: turn.Time - turn.Time%int64(TallySpan), Type: workflow}
	for _, c := range turn.Tallies {
		of.Name, of.Took = c.Name, int64(c.Took)
		tallies = append(tallies, store.Tally{
			TallyKey: of, FirstTry: int64(c.FirstTry), Recovered: int64(c.Recovered), Exhausted: int64(c.Exhausted), Failed: int64(c.Failed),
			Canceled: int64(c.Canceled), ByHand: int64(c.ByHand), Attempts: int64(c.Attempts), Retrying: int64(c.Retrying),
		})
	}
	of.Name, of.Took = "", 0
	if begins {
		tallies = append(tallies, store.Tally{TallyKey: of, Started: 1})
	}
	if ends {
		of.Took = int64(core.Within(time.Duration(turn.State.Closed - began.Created)))
		ended := store.Tally{TallyKey: of}
		switch turn.State.Status {
		case core.StatusCompleted:
			ended.FirstTry = 1
		case core.StatusFailed, core.StatusTimedOut:
			ended.Failed = 1
		case core.StatusCanceled, core.StatusTerminated:
			ended.Canceled = 1
		default: // its chain continues
			return tallies
		}
		tallies = append(tallies, ended)
	}
	return tallies
}
