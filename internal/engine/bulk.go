package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/inspect"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// Bounds of an operation on many runs.
const (
	bulkPage    = 100  // runs that are asked at a time
	bulkAtOnce  = 8    // of these, at one moment
	bulkRecords = 1000 // answers that are kept
)

// ControlAll carries an operation out on the selected calls of all runs that pass
// the filter, or on these runs; of open ones if it names no status. Dry says only to
// count them.
//
// It goes from run to run, in batches; each run is asked with the same request ID.
// If it fails in the middle, the same request again does the rest. An operation on
// runs also reaches those that went on meanwhile as the next run of their chain.
func (e *Engine) ControlAll(ctx context.Context, selected view.Filter, in core.Control, dry bool) (BulkResult, error) {
	result := BulkResult{DryRun: dry}
	if err := e.checkControl(&in); err != nil {
		return result, err
	}
	if !dry {
		result.Request = in.ID
	}
	filter := inspect.RunFilter(selected, e.group.All())
	narrow(&filter, in.Calls)
	seen, began := "", filter.Before
	for {
		newest, touched, err := e.controlPass(ctx, filter, in, seen, began, &result)
		if err != nil || dry || !in.Operation.OfRun() || touched == 0 {
			return result, err
		}
		if began == "" {
			began = newest
		}
		seen, filter.Before = max(seen, began, newest), ""
	}
}

// controlPass goes through the runs that pass the filter, the newest first. After
// the first pass these are only runs that are newer than all that were seen and
// follow, in a chain that had begun by then, a run that was not reached.
func (e *Engine) controlPass(ctx context.Context, filter store.Filter, in core.Control, seen, began string, result *BulkResult) (newest string, touched int, err error) {
	for {
		rows, err := e.db.List(ctx, filter)
		if err != nil || len(rows) == 0 {
			return newest, touched, err
		}
		last := rows[len(rows)-1].ID
		more := len(rows) == bulkPage && last > seen
		newest = max(newest, rows[0].ID)
		if seen != "" {
			rows = slices.DeleteFunc(rows, func(r store.Run) bool {
				return r.ID <= seen || r.Chain > began || wasAsked(&r, in.ID)
			})
		}
		touched += len(rows)
		if err := e.controlPage(ctx, rows, in, result); err != nil || !more {
			return newest, touched, err
		}
		filter.Before = last
	}
}

// wasAsked reports whether an earlier run of the chain has carried out a request.
func wasAsked(row *store.Run, request string) bool {
	start, err := history.DecodeStart(row.Start)
	return err == nil && start.Carried != nil && slices.Contains(start.Carried.Asked, request)
}

// narrow lets the database leave out runs that cannot be meant.
func narrow(filter *store.Filter, calls core.Selection) {
	filter.Limit = bulkPage
	if len(filter.Status) == 0 {
		filter.Status = []store.Status{store.Running, store.OnHold, store.WaitingForCode, store.Parked}
	}
	if filter.Call == "" && len(calls.States) == 1 && calls.States[0] != core.StateRunning {
		filter.Call = store.CallState(calls.States[0])
	}
}

// controlPage does one batch of runs.
func (e *Engine) controlPage(ctx context.Context, rows []store.Run, in core.Control, result *BulkResult) error {
	found := make([][]ControlRecord, len(rows))
	sent := make([]*sentControl, len(rows))
	failed := e.each(len(rows), func(i int) (err error) {
		found[i], err = e.selected(ctx, &rows[i], in)
		if err == nil && len(found[i]) > 0 && !result.DryRun {
			sent[i], err = e.sendControl(ctx, rows[i].WorkflowID, rows[i].ID, in)
		}
		return err
	})
	answered := e.each(len(rows), func(i int) (err error) {
		if sent[i] != nil && failed[i] == nil {
			_, err = e.awaitAnswer(ctx, sent[i])
		}
		return err
	})
	var errs []error
	for i := range rows {
		if err := addTo(result, found[i], sent[i], errors.Join(failed[i], answered[i])); err != nil {
			errs = append(errs, fmt.Errorf("workflow %q: %w", rows[i].WorkflowID, err))
		}
	}
	if len(errs) > 5 {
		errs = append(errs[:5], fmt.Errorf("and %d more", len(errs)-5))
	}
	return errors.Join(errs...)
}

// addTo counts what came of one run. An error about the run alone is part of the
// result and not one of the whole.
func addTo(b *BulkResult, found []ControlRecord, sent *sentControl, err error) error {
	if len(found) > 0 {
		b.Runs++
	}
	if len(found) > 0 && !core.Operation(found[0].Operation).OfRun() {
		b.Calls += len(found)
	}
	records := found
	if !b.DryRun {
		records = nil
		if sent != nil {
			records = sent.records
		}
	}
	for _, r := range records {
		switch r.Outcome {
		case core.Applied:
			b.Applied++
		case core.Unchanged:
			b.Unchanged++
		case core.Refused:
			b.Refused++
		case core.NotPending:
			b.NotPending++
		}
	}
	b.Records = append(b.Records, records[:min(len(records), bulkRecords-len(b.Records))]...)
	switch {
	case len(records) > 0:
		return nil
	case errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrNotFound):
		b.Ended++
		return nil
	case errors.Is(err, ErrNoAnswer):
		b.Unanswered++
	}
	return err
}

// each calls f for each number below n, some at a time.
func (e *Engine) each(n int, f func(i int) error) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for w := range min(n, bulkAtOnce) {
		wg.Go(func() {
			for i := w; i < n; i += bulkAtOnce {
				errs[i] = f(i)
			}
		})
	}
	wg.Wait()
	return errs
}

// selected lists the calls of a run that are selected now. What has a row needs no
// look at the history.
func (e *Engine) selected(ctx context.Context, row *store.Run, in core.Control) (out []ControlRecord, err error) {
	add := func(call int64, name, state, errorType string) {
		if in.Calls.Has(call, name, state, errorType) {
			out = append(out, ControlRecord{
				WorkflowID: row.WorkflowID, RunID: row.ID, Call: call, Name: name, Operation: string(in.Operation),
				By: in.By, Why: in.Reason, Outcome: outcomeSelected, Note: state, Time: time.Unix(0, e.clock.Now()).UTC(),
			})
		}
	}
	switch {
	case in.Operation == core.ResetTheRun:
		return e.previewReset(ctx, row, in)
	case in.Operation.OfRun():
		return e.selectedRun(row, in), nil
	}
	if in.Calls.ErrorType != "" || len(in.Calls.States) > 0 && !slices.Contains(in.Calls.States, core.StateRunning) {
		calls, err := e.db.Calls(ctx, row.Partition, row.ID)
		if err != nil {
			return nil, err
		}
		for _, c := range calls {
			errorType := ""
			if p, err := core.DecodeProgress(c.Data); err == nil && p.Last != nil {
				errorType = p.Last.TypeName()
			}
			add(c.Number, c.Name, core.ShownState(core.CallState(c.State)), errorType)
		}
		return out, nil
	}
	s, err := e.Read(ctx, row)
	if err != nil {
		return nil, err
	}
	for _, p := range s.Pending() {
		if p.Kind == "activity" || p.Kind == "step" {
			add(p.Call, p.Name, p.State, p.LastErrorType)
		}
	}
	return out, nil
}

// outcomeSelected is what a dry run says of a call.
const outcomeSelected = "selected"

// Preview lists the calls of a run on which an operation would be carried out, or
// the run.
func (e *Engine) Preview(ctx context.Context, workflowID string, in core.Control) ([]ControlRecord, error) {
	if err := e.checkControl(&in); err != nil {
		return nil, err
	}
	row, err := e.Find(ctx, workflowID, "")
	if err != nil {
		return nil, err
	}
	if !row.Status.Open() && in.Operation != core.ResetTheRun {
		return nil, fmt.Errorf("workflow %q: %w", workflowID, store.ErrClosed)
	}
	found, err := e.selected(ctx, row, in)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("workflow %q: %s: %w", workflowID, in.Operation, ErrNotPending)
	}
	return found, err
}
