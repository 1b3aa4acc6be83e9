package inspect

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// FindAttempts returns attempts from the ledger of all runs, the latest first, and
// the cursor of the next page, "" if there is none. The ledger has the attempts of
// all calls of which one failed, timed out, was lost or given back: a success at
// the first try is in the history of its run only.
func (in *Inspector) FindAttempts(ctx context.Context, filter view.AttemptFilter) ([]view.FoundAttempt, string, error) {
	entries, next, err := in.searchLedger(ctx, filter, false)
	if err != nil {
		return nil, "", err
	}
	found := make([]view.FoundAttempt, len(entries))
	for i := range entries {
		if found[i], err = foundAttempt(&entries[i]); err != nil {
			return nil, "", err
		}
	}
	return found, next, nil
}

func foundAttempt(e *store.LedgerEntry) (view.FoundAttempt, error) {
	a, err := attemptOf(e.Attempt)
	return view.FoundAttempt{WorkflowID: e.WorkflowID, RunID: e.Run, Workflow: e.Type, Attempt: a}, err
}

// FindCalls returns calls that needed more than one attempt, or are about to, those
// with the latest attempt first. The conditions of the filter are about that
// attempt.
func (in *Inspector) FindCalls(ctx context.Context, filter view.AttemptFilter) ([]view.CallAttempts, string, error) {
	entries, next, err := in.searchLedger(ctx, filter, true)
	if err != nil {
		return nil, "", err
	}
	found := make([]view.CallAttempts, len(entries))
	for i := range entries {
		if found[i], err = callSums(&entries[i]); err != nil {
			return nil, "", err
		}
	}
	return found, next, nil
}

// searchLedger reads a page of the ledger, and the cursor of the next one.
func (in *Inspector) searchLedger(ctx context.Context, filter view.AttemptFilter, calls bool) ([]store.LedgerEntry, string, error) {
	f, err := ledgerFilter(&filter)
	if err != nil {
		return nil, "", err
	}
	f.Partitions, f.Latest = in.group.All(), calls
	f.Limit++ // to see whether there are more
	entries, err := in.db.Ledger(ctx, f)
	if err != nil || len(entries) < f.Limit {
		return entries, "", err
	}
	entries = entries[:f.Limit-1]
	return entries, cursor(entries[len(entries)-1].Key()), nil
}

func ledgerFilter(f *view.AttemptFilter) (store.LedgerFilter, error) {
	out := store.LedgerFilter{
		Type: f.Workflow, Name: f.Activity, ErrorType: f.ErrorType, Outcome: f.Outcome, Reason: f.Reason,
		From: bound(f.Since), Until: bound(f.Until), Above: f.MoreThan, Limit: f.Limit,
	}
	if f.Limit < 0 || f.MoreThan < 0 {
		return out, fmt.Errorf("the limit %d and the number of attempts %d must not be negative", f.Limit, f.MoreThan)
	}
	if out.Limit == 0 {
		out.Limit = 100
	}
	if f.After != "" {
		key, err := parseCursor(f.After)
		if err != nil {
			return out, err
		}
		out.Before = &key
	}
	return out, nil
}

// bound is a time for the store; the zero time and what was before 1970 are no
// bound.
func bound(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(0, t.UnixNano())
}

// cursor is the place of a record in a listing, for who asks for the next page.
func cursor(k store.LedgerKey) string {
	text, _ := json.Marshal([]any{k.Ended, k.Run, k.Call, k.Number}) // numbers and a string: cannot fail
	return base64.RawURLEncoding.EncodeToString(text)
}

func parseCursor(s string) (k store.LedgerKey, err error) {
	text, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		parts := []any{&k.Ended, &k.Run, &k.Call, &k.Number}
		if err = json.Unmarshal(text, &parts); err == nil && len(parts) != 4 {
			err = errors.New("it has another form")
		}
	}
	if err != nil {
		return k, fmt.Errorf("%q is no cursor of a listing of attempts: %w", s, err)
	}
	return k, nil
}

// viewCall makes the sums of a call from its latest record.
func callSums(e *store.LedgerEntry) (view.CallAttempts, error) {
	var d core.AttemptDetail
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return view.CallAttempts{}, unreadable(&e.Attempt, err)
	}
	c := view.CallAttempts{
		WorkflowID: e.WorkflowID, RunID: e.Run, Workflow: e.Type, Call: e.Call, Name: e.Name, Attempts: e.Number,
		Outcome: e.Outcome, Reason: e.Reason, ErrorType: e.ErrorType, Message: d.Message, Last: optional(e.Ended),
		NotKept: max(0, e.Number-core.FirstAttempts-core.LastAttempts),
	}
	if t := d.Totals; t != nil {
		c.Completed, c.Failed, c.TimedOut, c.Lost, c.Drained, c.Canceled = t.Completed, t.Failed, t.TimedOut, t.Lost, t.Drained, t.Canceled
		c.Attempts, c.Run, c.Backoff, c.Retrying, c.First = t.Attempts(), t.Run, t.Backoff, t.Retrying(), optional(t.First)
	}
	return c, nil
}

func unreadable(a *store.Attempt, err error) error {
	return fmt.Errorf("the ledger record of call %d, attempt %d cannot be read: %w", a.Call, a.Number, err)
}

// Calls sums up the attempts of each activity and step of a run, by number. Calls
// of which no attempt has ended yet are left out. Of those that a run which was reset
// or forked has kept, RunID is the run that made them, whose ledger has all attempts.
func (in *Inspector) Calls(ctx context.Context, workflowID, run string) ([]view.CallAttempts, error) {
	row, err := in.Find(ctx, workflowID, run)
	if err != nil {
		return nil, err
	}
	attempts, err := in.AttemptsOf(ctx, row, 0)
	if err != nil {
		return nil, err
	}
	kept, err := in.db.Attempts(ctx, row.Partition, row.ID, 0)
	if err != nil {
		return nil, err
	}
	latest := map[int64]store.Attempt{} // the last record of each call: they are in order
	for _, a := range kept {
		latest[a.Call] = a
	}
	var calls []view.CallAttempts
	for i, a := range attempts {
		if a.Ended == nil || i+1 < len(attempts) && attempts[i+1].Call == a.Call && attempts[i+1].Ended != nil {
			continue // not the last one that ended
		}
		entry, known := latest[a.Call]
		if !known {
			calls = append(calls, onlyAttempt(row, &a))
			continue
		}
		c, err := callSums(&store.LedgerEntry{Attempt: entry, WorkflowID: row.WorkflowID, Type: row.Type})
		if err != nil {
			return nil, err
		}
		calls = append(calls, c)
	}
	return calls, nil
}

// onlyAttempt sums up a call that ended with its first attempt: it has no record in
// the ledger. Of a call that was kept from another run it is the last attempt.
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
