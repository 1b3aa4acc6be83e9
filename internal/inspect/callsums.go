package inspect

import (
	"cmp"
	"context"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// FindCalls returns calls with more than one attempt, past or to come, and the cursor of
// the next page. The filter selects by the latest attempt of each call; calls are sorted
// by its end, the latest first.
func (in *Inspector) FindCalls(ctx context.Context, filter view.AttemptFilter) ([]view.CallAttempts, string, error) {
	entries, next, err := in.searchLedger(ctx, filter, true)
	if err != nil {
		return nil, "", err
	}
	found := make([]view.CallAttempts, len(entries))
	for i := range entries {
		found[i] = callSums(&entries[i])
	}
	return found, next, nil
}

// Calls sums up the attempts of each activity and step of a run, by number. Calls
// without an attempt that has ended are left out. RunID of a call that a reset or forked
// run has kept is the run that made it, whose ledger has all attempts.
func (in *Inspector) Calls(ctx context.Context, workflowID, run string) ([]view.CallAttempts, error) {
	row, err := in.Find(ctx, workflowID, run)
	if err != nil {
		return nil, err
	}
	attempts, kept, err := in.attempts(ctx, row, 0)
	if err != nil {
		return nil, err
	}
	return sumsOf(row, attempts, kept), nil
}

// sumsOf sums up attempts by call.
func sumsOf(row *store.Run, attempts []view.Attempt, kept []store.Attempt) (calls []view.CallAttempts) {
	latest := map[int64]store.Attempt{} // the last record of each call: they are in order
	for _, a := range kept {
		latest[a.Call] = a
	}
	for i, a := range attempts {
		if a.Ended == nil || i+1 < len(attempts) && attempts[i+1].Call == a.Call && attempts[i+1].Ended != nil {
			continue // not the last one that ended
		}
		entry, known := latest[a.Call]
		if !known {
			calls = append(calls, onlyAttempt(row, &a))
			continue
		}
		calls = append(calls, callSums(&store.LedgerEntry{Attempt: entry, WorkflowID: row.WorkflowID, Type: row.Type}))
	}
	return calls
}

// onlyAttempt sums up a call that has no record in the ledger: it ended with its first
// attempt, or it was kept from another run and a is its last one.
func onlyAttempt(row *store.Run, a *view.Attempt) view.CallAttempts {
	c := view.CallAttempts{
		WorkflowID: row.WorkflowID, RunID: cmp.Or(a.RunID, row.ID), Workflow: row.Type, Call: a.Call, Name: a.Name, Attempts: 1,
		Outcome: a.Outcome, Reason: a.Reason, ErrorType: a.ErrorType, Message: a.Message, First: a.Queued, Last: a.Ended,
	}
	switch a.Outcome {
	case string(core.Completed):
		c.Completed = 1
	case string(core.Failed): // in another run, which has a record of it
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
	if t := d.Totals; t != nil {
		c.Completed, c.Failed, c.TimedOut, c.Lost, c.Drained, c.Canceled = t.Completed, t.Failed, t.TimedOut, t.Lost, t.Drained, t.Canceled
		c.Attempts, c.Run, c.Backoff, c.Retrying, c.First = t.Attempts(), t.Run, t.Backoff, t.Retrying(), optional(t.First)
	}
	return c
}
