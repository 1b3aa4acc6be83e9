package request

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/inspect"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// Bounds of a bulk operation.
const (
	bulkListed  = 10_000   // runs that a dry run reads at a time: it names all, and a read is what costs
	bulkBytes   = 16 << 20 // of them, about, which inputs and results of runs bound
	bulkPage    = 100      // runs in a batch
	bulkWorkers = 8        // requests of a batch in parallel
	bulkRecords = 1000     // records in a result
)

// ControlAll carries out an operation on all runs that match the filter, or on their
// selected calls. If the filter names no status it applies to open runs. With dry it only
// counts them.
//
// It works in batches and sends each run the same request ID. If it fails midway, repeating
// the request does the rest. An operation on runs also reaches runs that have continued
// meanwhile.
func (c *Client) ControlAll(ctx context.Context, selected view.Filter, in core.Control, dry bool) (view.BulkResult, error) {
	return Intercept(ctx, c, operate(string(in.Operation)), func(ctx context.Context) (view.BulkResult, error) {
		return c.controlAllNow(ctx, selected, nil, in, dry, nil)
	})
}

// controlAllNow applies to the runs that match the filter, or to the latest runs of ids if
// there are any. With a selection it applies only to what the selection names.
func (c *Client) controlAllNow(ctx context.Context, selected view.Filter, ids []string, in core.Control, dry bool, only *selection) (view.BulkResult, error) {
	b := bulk{client: c, in: in, result: view.BulkResult{DryRun: dry}, only: only, ahead: foresight{client: c}}
	if err := c.checkControl(ctx, &b.in); err != nil {
		return b.result, err
	}
	b.found = &selection{Operation: in.Operation, Call: in.Call, From: in.From, To: in.To, Group: c.group.Name, Filter: selected, IDs: ids, Calls: in.Calls, chosen: map[uint64][]int64{}}
	var err error
	if len(ids) > 0 {
		err = b.these(ctx, ids)
	} else {
		err = b.all(ctx, selected)
	}
	switch {
	case only == nil:
	case err == nil:
		b.result.Gone = only.size() - b.found.size()
	default: // the rest is still to do
		b.result.Unanswered += len(only.chosen) - len(b.found.chosen)
	}
	if !dry {
		b.result.Request = b.in.ID
		return b.result, err
	}
	var unnamed error
	b.result.Selection, unnamed = b.found.text()
	return b.result, errors.Join(err, unnamed)
}

// all makes passes through the runs until each has been asked.
func (b *bulk) all(ctx context.Context, selected view.Filter) error {
	c, in := b.client, &b.in
	filter, err := inspect.RunFilter(selected, c.group.All())
	if err != nil {
		return err
	}
	narrow(&filter, in.Calls)
	filter.Limit = bulkPage
	for {
		newest, touched, err := b.pass(ctx, filter)
		// What follows runs before a cursor is not selected by it.
		if err != nil || b.result.DryRun || !in.Operation.OfRun() || touched == 0 || filter.Before != "" {
			return err
		}
		b.began, b.seen = cmp.Or(b.began, newest), max(b.seen, newest)
	}
}

// these goes through the latest runs of workflow IDs.
func (b *bulk) these(ctx context.Context, ids []string) error {
	for some := range slices.Chunk(ids, bulkPage) {
		found := make([]*store.Run, len(some))
		err := errors.Join(inParallel(len(some), bulkWorkers, func(i int) (err error) {
			found[i], err = ifFound(b.client.read.Find(ctx, some[i], ""))
			return err
		})...)
		if err != nil {
			return err
		}
		var rows []store.Run
		for i, r := range found {
			switch {
			case r == nil:
				b.result.Unknown = append(b.result.Unknown, some[i])
			case r.Status.Open() || b.in.Operation == core.ResetTheRun:
				if b.means(r) {
					rows = append(rows, *r)
				}
			case b.only == nil: // else it counts as gone, if it was selected
				b.result.Ended++
			}
		}
		if err := b.page(ctx, rows); err != nil {
			return err
		}
	}
	return nil
}

// means reports whether the operation may apply to the run or one of its calls.
func (b *bulk) means(r *store.Run) bool {
	if b.only == nil {
		return true
	}
	_, is := b.only.chosen[b.only.subject(r)]
	return is
}

// narrow restricts the database's filter to runs to which the operation may apply.
func narrow(filter *store.Filter, calls core.Selection) {
	if len(filter.Status) == 0 {
		filter.Status = []store.Status{store.Running, store.OnHold, store.WaitingForCode, store.Parked}
	}
	if filter.Call == "" && len(calls.States) == 1 && calls.States[0] != core.StateRunning {
		filter.Call = store.CallState(calls.States[0])
	}
}

// bulk is a bulk operation in progress.
type bulk struct {
	client *Client
	in     core.Control
	result view.BulkResult
	only   *selection // restricts what the operation applies to; nil: everything that matches
	found  *selection // what the operation applies to

	began string // run ID: the operation skips chains that began later; empty in the first pass
	seen  string // run ID: an earlier pass saw the runs up to here

	ahead foresight // for a dry run
}

// pass goes through the matching runs, newest first. After the first pass it only takes
// runs that are newer than all seen ones and follow a run that was not reached, in a chain
// that had begun by then.
func (b *bulk) pass(ctx context.Context, filter store.Filter) (newest string, touched int, err error) {
	for {
		rows, err := b.client.db.List(ctx, filter)
		if err != nil || len(rows) == 0 {
			return newest, touched, err
		}
		last := rows[len(rows)-1].ID
		more := len(rows) == filter.Limit && last > b.seen
		newest = max(newest, rows[0].ID)
		if b.result.DryRun {
			filter.Limit = pageLike(rows)
		}
		if b.seen != "" {
			rows = slices.DeleteFunc(rows, func(r store.Run) bool {
				return r.ID <= b.seen || r.Chain > b.began || wasAsked(&r, b.in.ID)
			})
		}
		if b.only != nil {
			rows = slices.DeleteFunc(rows, func(r store.Run) bool { return !b.means(&r) })
		}
		touched += len(rows)
		for some := range slices.Chunk(rows, bulkPage) {
			if err := b.page(ctx, some); err != nil {
				return newest, touched, err
			}
		}
		if !more {
			return newest, touched, nil
		}
		filter.Before = last
	}
}

// pageLike returns how many runs are read at a time if they are as large as some.
func pageLike(rows []store.Run) int {
	size := 0
	for i := range rows {
		size += len(rows[i].Start) + len(rows[i].Detail)
	}
	return min(max(bulkBytes/(size/len(rows)+1), bulkPage), bulkListed)
}

// page handles one batch of runs. It sends all requests before it waits for the first
// answer.
func (b *bulk) page(ctx context.Context, rows []store.Run) error {
	found := make([][]view.ControlRecord, len(rows))
	sent := make([]*operation, len(rows))
	failed := inParallel(len(rows), bulkWorkers, func(i int) (err error) {
		in := b.in
		found[i], err = b.client.selected(ctx, &rows[i], in)
		if b.only != nil {
			found[i] = b.only.only(&rows[i], found[i])
			in.Only, in.Chain = numbersOf(found[i]), rows[i].Chain
		}
		if err == nil && len(found[i]) > 0 && !b.result.DryRun {
			sent[i], err = b.client.sendControl(ctx, rows[i].WorkflowID, rows[i].ID, in)
		}
		return err
	})
	for i := range rows {
		if failed[i] == nil && b.result.DryRun {
			switch err := b.ahead.add(ctx, &rows[i], &b.in, found[i]); {
			case errors.Is(err, store.ErrNotFound): // it was deleted meanwhile
			case err != nil:
				return err // what is foreseen would not be true
			}
		}
		b.found.add(&rows[i], found[i])
		if refused := (*RefusedError)(nil); b.only != nil && errors.As(failed[i], &refused) {
			b.found.keep(&rows[i], b.only) // it is refused, not gone
		}
	}
	// All waits run in parallel: a waiting caller needs no connection of its own, and one
	// run without an engine must not use up the time of the others.
	waits := len(rows)
	if b.result.DryRun {
		waits = 1 // nothing was sent
	}
	answered := inParallel(len(rows), waits, func(i int) error {
		if sent[i] == nil || failed[i] != nil {
			return nil
		}
		return b.client.awaitControl(ctx, sent[i])
	})
	var errs, late []error
	for i := range rows {
		err := b.add(found[i], sent[i], errors.Join(failed[i], answered[i]))
		switch {
		case err == nil:
		case errors.Is(err, ErrNoAnswer):
			late = append(late, fmt.Errorf("workflow %q: %w", rows[i].WorkflowID, err))
		default:
			errs = append(errs, fmt.Errorf("workflow %q: %w", rows[i].WorkflowID, err))
		}
	}
	if len(errs) == 0 { // a missing answer is the error only if nothing else is wrong
		errs = late
	}
	if len(errs) > 5 {
		errs = append(errs[:5], fmt.Errorf("and %d more", len(errs)-5))
	}
	return errors.Join(errs...)
}

// numbersOf returns the numbers of the found calls.
func numbersOf(found []view.ControlRecord) (numbers []int64) {
	for _, f := range found {
		if f.Call != 0 {
			numbers = append(numbers, f.Call)
		}
	}
	return numbers
}

// add counts the result of one run. An error that concerns only that run becomes part of
// the result.
func (b *bulk) add(found []view.ControlRecord, sent *operation, err error) error {
	to := &b.result
	var damaged *RefusedError
	if sent == nil && errors.As(err, &damaged) { // nothing was sent to it
		found, err = []view.ControlRecord{damaged.Record}, nil
	}
	if len(found) > 0 {
		to.Runs++
		if !b.in.Operation.OfRun() && damaged == nil {
			to.Calls += len(found)
		}
	}
	records := found
	if !to.DryRun && damaged == nil {
		records = nil
		if sent != nil {
			records = sent.records
		}
	}
	for _, r := range records {
		switch r.Outcome {
		case view.Applied:
			to.Applied++
		case view.Unchanged:
			to.Unchanged++
		case view.Refused:
			to.Refused++
		case view.NotPending:
			to.NotPending++
		case view.WouldWait:
			to.Waiting++
		}
	}
	to.Records = append(to.Records, records[:min(len(records), bulkRecords-len(to.Records))]...)
	switch {
	case len(records) > 0:
		return nil
	case errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrNotFound):
		to.Ended++
		return nil
	case errors.Is(err, ErrNoAnswer):
		to.Unanswered++
	}
	return err
}

// inParallel calls f for each number below n, at most most of them at a time.
func inParallel(n, most int, f func(i int) error) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for w := range min(n, most) {
		wg.Go(func() {
			for i := w; i < n; i += most {
				errs[i] = f(i)
			}
		})
	}
	wg.Wait()
	return errs
}

// Preview returns the calls of a run to which an operation would apply, or the run.
func (c *Client) Preview(ctx context.Context, workflowID string, in core.Control) ([]view.ControlRecord, error) {
	if err := c.checkControl(ctx, &in); err != nil {
		return nil, err
	}
	row, err := c.read.Find(ctx, workflowID, "")
	if err != nil {
		return nil, err
	}
	if !row.Status.Open() && in.Operation != core.ResetTheRun {
		return nil, fmt.Errorf("workflow %q: %w", workflowID, store.ErrClosed)
	}
	found, err := c.selected(ctx, row, in)
	switch {
	case err != nil:
		return found, err
	case len(found) > 0:
		return found, (&foresight{client: c}).add(ctx, row, &in, found)
	case in.Operation == core.MoveTheRun:
		return nil, &RefusedError{Record: view.ControlRecord{
			WorkflowID: row.WorkflowID, RunID: row.ID, Name: in.To, Operation: string(in.Operation), Outcome: view.Refused, Note: staysWhere(row, &in),
		}}
	}
	return nil, fmt.Errorf("workflow %q: %w", workflowID, ErrNotPending)
}

// selected returns the calls of a run that are selected now, or the run. For calls with a
// row it need not read the history.
func (c *Client) selected(ctx context.Context, row *store.Run, in core.Control) (out []view.ControlRecord, err error) {
	record := view.ControlRecord{
		WorkflowID: row.WorkflowID, RunID: row.ID, Name: cmp.Or(in.Signal, in.To), Operation: string(in.Operation), By: in.By, Why: in.Reason,
		Outcome: view.Selected,
	}
	if refused := c.refuseDamaged(row, &in, nil); refused != nil {
		return nil, refused
	}
	switch {
	case in.Operation == core.ResetTheRun:
		return c.previewReset(ctx, row, in)
	case in.Operation.OfRun() && !row.Status.Open(), in.Operation == core.MoveTheRun && staysWhere(row, &in) != "":
		return nil, nil
	case in.Operation.OfRun():
		record.Note = fmt.Sprintf("%s, %s", row.Type, row.Status)
		return []view.ControlRecord{record}, nil
	}
	add := func(call int64, name, state, errorType string) {
		r := record
		r.Call, r.Name, r.Note = call, name, state
		if name == core.BlockName && !in.Operation.TakesBlocks() {
			if in.Calls.Call != call {
				return
			}
			r.Outcome, r.Note = view.Refused, core.RefusesBlocks
		}
		if in.Calls.Has(call, name, state, errorType) {
			out = append(out, r)
		}
	}
	if in.Calls.ErrorType != "" || len(in.Calls.States) > 0 && !slices.Contains(in.Calls.States, core.StateRunning) {
		calls, err := c.db.Calls(ctx, row.Partition, row.ID)
		if err != nil {
			return nil, err
		}
		for _, call := range store.Apart(calls) {
			errorType := ""
			if p, err := core.DecodeProgress(call.Data); err == nil && p.Last != nil {
				errorType = p.Last.TypeName()
			}
			add(call.Number, call.Name, core.ShownState(core.CallState(call.State)), errorType)
		}
		return out, nil
	}
	s, err := c.read.Read(ctx, row)
	if err != nil {
		return nil, err
	}
	for _, damage := range s.Damage { // found before its owner has found it
		if refused := c.refuseDamaged(row, &in, damage); refused != nil {
			return nil, refused
		}
	}
	for _, p := range s.Pending() {
		switch p.Kind {
		case inspect.KindActivity, inspect.KindStep, inspect.KindBlock:
			add(p.Call, p.Name, p.State, p.LastErrorType)
		}
	}
	return out, nil
}
