package inspect

import (
	"cmp"
	"context"
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// FindCalls returns calls with more than one attempt, past or to come, and the cursor of
// the next page. The filter selects by the latest attempt of each call. Calls are sorted by
// its end, latest first.
func (in *Inspector) FindCalls(ctx context.Context, filter view.AttemptFilter) ([]view.CallAttempts, string, error) {
	entries, next, err := in.searchLedger(ctx, filter, true)
	if err != nil {
		return nil, "", err
	}
	found, names := make([]view.CallAttempts, len(entries)), shownNames{in: in}
	for i := range entries {
		found[i] = callSums(&entries[i])
		if found[i].Workflow, err = names.of(ctx, entries[i].WorkflowID, entries[i].Run, entries[i].Type); err != nil {
			return nil, "", err
		}
	}
	return found, next, nil
}

// Calls sums up the attempts of each activity and step in a part of a run's calls, by
// number. It omits calls without an ended attempt. For a call in copied history, RunID is
// the run that made it, whose ledger has all attempts.
func (in *Inspector) Calls(ctx context.Context, workflowID, run string, part view.CallRange) ([]view.CallAttempts, error) {
	if part.After < 0 {
		return nil, &history.InputError{What: "part of the calls", Problem: "begins behind a negative number; calls are numbered from 1"}
	}
	if err := checkLimit(part.Limit); err != nil {
		return nil, err
	}
	row, err := in.Find(ctx, workflowID, run)
	if err != nil {
		return nil, err
	}
	p := attemptPart{in: in, row: row, AttemptRange: store.AttemptRange{Latest: true, Limit: part.Limit}}
	if part.After > 0 {
		p.After = store.AttemptKey{Call: part.After, Number: view.EndOfCall}
	}
	if err := p.read(ctx); err != nil {
		return nil, err
	}
	calls := sums(row, p.kept, p.made.closed)
	if part.Limit > 0 && len(calls) > part.Limit {
		calls = calls[:part.Limit:part.Limit]
	}
	return calls, nil
}

// sums sums up calls by their last record in the ledger or, if they have none, by the
// attempt that closed them.
func sums(row *store.Run, kept []store.Attempt, closed []view.Attempt) (calls []view.CallAttempts) {
	known := map[int64]bool{}
	for i, a := range kept {
		if i+1 < len(kept) && kept[i+1].Call == a.Call {
			continue // they are in order
		}
		known[a.Call] = true
		calls = append(calls, callSums(&store.LedgerEntry{Attempt: a, WorkflowID: row.WorkflowID, Type: nameOf(row)}))
	}
	for i := range closed {
		if !known[closed[i].Call] {
			calls = append(calls, onlyAttempt(row, &closed[i]))
		}
	}
	slices.SortFunc(calls, func(a, b view.CallAttempts) int { return cmp.Compare(a.Call, b.Call) })
	return calls
}

// onlyAttempt sums up a call without a record in the ledger: it ended with its first
// attempt, or it was copied from another run and a is its last attempt.
func onlyAttempt(row *store.Run, a *view.Attempt) view.CallAttempts {
	c := view.CallAttempts{
		WorkflowID: row.WorkflowID, RunID: cmp.Or(a.RunID, row.ID), Workflow: nameOf(row), Call: a.Call, Name: a.Name, Attempts: 1,
		Outcome: a.Outcome, Reason: a.Reason, ErrorType: a.ErrorType, Message: a.Message, First: a.Queued, Last: a.Ended,
	}
	switch a.Outcome {
	case string(core.Completed):
		c.Completed = 1
	case string(core.Failed): // the other run has a record of it
		c.Failed = 1
	default:
		c.Canceled = 1
	}
	if a.Started != nil {
		c.Run = a.Ended.Sub(*a.Started)
	}
	return c
}

// callSums returns the sums of a call from the record of its latest attempt.
func callSums(e *store.LedgerEntry) view.CallAttempts {
	d := ledgerDetail(&e.Attempt)
	c := view.CallAttempts{
		WorkflowID: e.WorkflowID, RunID: e.Run, Workflow: e.Type, Call: e.Call, Name: e.Name, Attempts: e.Number,
		Outcome: e.Outcome, Reason: e.Reason, ErrorType: e.ErrorType, Message: d.Message, Last: optional(e.Ended),
		NotKept: max(0, e.Number-core.FirstAttempts-core.LastAttempts),
	}
	if r := d.Recovered; r != nil {
		c.RecoveredFrom, c.RecoveredFromType = r.Message, r.ErrorType
	}
	if t := d.Totals; t != nil {
		c.Completed, c.Failed, c.TimedOut, c.Lost, c.Drained, c.Canceled = t.Completed, t.Failed, t.TimedOut, t.Lost, t.Drained, t.Canceled
		c.Questions = t.Questions
		c.Attempts, c.Run, c.Backoff, c.Retrying, c.First = t.Attempts(), t.Run, t.Backoff, t.Retrying(), optional(t.First)
	}
	return c
}
