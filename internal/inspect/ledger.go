package inspect

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// FindAttempts returns attempts from the ledger of all runs, latest first, and the cursor
// of the next page, "" if there is none. The ledger has the attempts of all calls with one
// that failed, timed out, was lost or drained. A success at the first attempt is only in
// the history of its run.
func (in *Inspector) FindAttempts(ctx context.Context, filter view.AttemptFilter) ([]view.FoundAttempt, string, error) {
	entries, next, err := in.searchLedger(ctx, filter, false)
	if err != nil {
		return nil, "", err
	}
	found, names := make([]view.FoundAttempt, len(entries)), shownNames{in: in}
	for i := range entries {
		if found[i], err = names.attempt(ctx, &entries[i]); err != nil {
			return nil, "", err
		}
	}
	return found, next, nil
}

// shownNames finds the names under which the workflows of runs are shown.
type shownNames struct {
	in    *Inspector
	files map[string]string // by run ID
}

// of returns the name of the workflow of a run, which may be deleted meanwhile. Only runs of
// flow files are read.
func (n *shownNames) of(ctx context.Context, workflowID, run, definition string) (string, error) {
	if definition != view.FlowWorkflow {
		return definition, nil
	}
	name, known := n.files[run]
	if !known {
		row, err := n.in.Find(ctx, workflowID, run)
		switch {
		case errors.Is(err, store.ErrNotFound):
			name = definition
		case err != nil:
			return "", err
		default:
			name = nameOf(row)
		}
		if n.files == nil {
			n.files = map[string]string{}
		}
		n.files[run] = name
	}
	return name, nil
}

func (n *shownNames) attempt(ctx context.Context, e *store.LedgerEntry) (view.FoundAttempt, error) {
	name, err := n.of(ctx, e.WorkflowID, e.Run, e.Type)
	return view.FoundAttempt{WorkflowID: e.WorkflowID, RunID: e.Run, Workflow: name, Attempt: attemptOf(e.Attempt)}, err
}

// searchLedger returns a page of the ledger and the cursor of the next one. With calls, the
// page has only the latest attempt of each call.
func (in *Inspector) searchLedger(ctx context.Context, filter view.AttemptFilter, calls bool) (entries []store.LedgerEntry, next string, err error) {
	if err := in.check(ctx); err != nil {
		return nil, "", err
	}
	f, err := ledgerFilter(&filter)
	if err != nil {
		return nil, "", err
	}
	f.Partitions, f.Latest = in.group.All(), calls
	limit, page := f.Limit, f.Limit
	picks := calls && filter.MoreThan > 0 // not all that are read are wanted
	if picks {
		page = max(page, usualPage)
	}
	for f.Limit = page + 1; ; { // to see whether there are more
		read, err := in.db.Ledger(ctx, f)
		if err != nil {
			return nil, "", err
		}
		for i := range min(page, len(read)) {
			e := &read[i]
			if picks && callSums(e).Attempts <= filter.MoreThan {
				continue // the last number counts the questions, too
			}
			if entries = append(entries, *e); len(entries) == limit && i+1 < len(read) {
				return entries, cursor(e.Key()), nil
			}
		}
		if len(read) <= page {
			return entries, "", nil
		}
		last := read[page-1].Key()
		f.Before = &last
	}
}

// usualPage is how many records a page has that says nothing else.
const usualPage = 100

func ledgerFilter(f *view.AttemptFilter) (store.LedgerFilter, error) {
	out := store.LedgerFilter{
		Name: f.Activity, ErrorType: f.ErrorType, Outcome: f.Outcome, Reason: f.Reason,
		From: bound(f.Since), Until: bound(f.Until), Above: f.MoreThan, Limit: f.Limit,
	}
	out.Type, out.Attributes = ofWorkflow(f.Workflow, nil, "")
	if err := checkLimit(f.Limit); err != nil {
		return out, err
	}
	if f.MoreThan < 0 {
		return out, &history.InputError{What: "number of attempts", Problem: fmt.Sprintf("is %d, which is negative", f.MoreThan)}
	}
	out.Limit = cmp.Or(out.Limit, usualPage)
	if f.After != "" {
		key, err := parseCursor(f.After)
		if err == nil && key.Run != "" { // databases do not take every text
			err = history.CheckID("run of the place at which the page starts", key.Run)
		}
		if err != nil {
			return out, err
		}
		out.Before = &key
	}
	return out, nil
}

// bound returns a time for the store. The zero time and times before 1970 mean no bound.
func bound(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(0, t.UnixNano())
}

// cursor encodes the place of a record in a listing.
func cursor(k store.LedgerKey) string {
	text, _ := json.Marshal([]any{k.Ended, k.Run, k.Call, k.Number}) // numbers and a string: cannot fail
	return base64.RawURLEncoding.EncodeToString(text)
}

func parseCursor(s string) (k store.LedgerKey, err error) {
	text, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		parts := []any{&k.Ended, &k.Run, &k.Call, &k.Number}
		if err = json.Unmarshal(text, &parts); err == nil && (len(parts) != 4) {
			err = errors.New("it has another form")
		}
	}
	if err != nil {
		return k, &history.InputError{What: fmt.Sprintf("start of the page, %.100q,", s), Problem: "is no place in a listing of attempts; use that which came with the page before"}
	}
	return k, nil
}
