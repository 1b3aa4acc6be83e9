package request

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/inspect"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// The owner of an open run resets it, in the turn that closes the run. A closed run is
// reset here, by the process that asks. In both cases the database copies the history.

// wasReset reports whether the same request created the run that was found. That run is
// then the result.
func (o *operation) wasReset() (done bool, err error) {
	start, err := record.Start(o.row)
	if err != nil {
		return false, err
	}
	b := start.Base
	if b == nil || start.Initiator != history.ResetOfRun || b.Request != o.ID {
		return false, nil
	}
	o.records = inspect.BaseRecord(o.row, &start)
	o.records[0].RunID = b.Run
	return true, nil
}

// resetLatest resets a closed run if it is the latest of its workflow ID.
func (c *Client) resetLatest(ctx context.Context, o *operation) error {
	latest, err := c.db.Find(ctx, o.row.Partition, o.row.WorkflowID, "")
	if err != nil {
		return err
	}
	if latest.ID == o.row.ID {
		o.row = latest
		r, err := c.resetClosed(ctx, latest, o.Control)
		if err == nil {
			o.records = append(o.records, r)
		}
		return err
	}
	r := c.controlRecord(o.row, o.Control)
	r.Outcome, r.Note = view.Refused, fmt.Sprintf("run %s has followed it; fork a run from it, or reset the latest one", latest.ID)
	if wasAsked(latest, o.ID) {
		r.Outcome, r.Note = view.Unchanged, "it was carried out already"
	}
	o.records = append(o.records, r)
	return nil
}

// resetClosed creates the run that follows a closed one. Of several such requests only one
// succeeds.
func (c *Client) resetClosed(ctx context.Context, row *store.Run, in core.Control) (view.ControlRecord, error) {
	r := c.controlRecord(row, in)
	if wasAsked(row, in.ID) {
		r.Outcome, r.Note = view.Unchanged, "it was carried out on an earlier run of the chain"
		return r, nil
	}
	cut, start, err := c.cutAt(ctx, row, in.Call, in.KeepKeys)
	if refusal := (*inspect.CutError)(nil); errors.As(err, &refusal) {
		r.Outcome, r.Note = view.Refused, refusal.Error()
		return r, nil
	} else if err != nil {
		return r, err
	}
	now := c.now()
	next := cut.Reset(start, ident.NewRun(core.RunTimeAfter(row.ID, now)), now, in)
	err = c.createBased(ctx, row, cut, next, row.ID)
	r.Outcome, r.Note = view.Applied, cut.String()
	if conflict := (*store.ConflictError)(nil); errors.As(err, &conflict) {
		r.Outcome, r.Note = view.Refused, fmt.Sprintf("run %s has the workflow ID", conflict.Existing.ID)
		if wasAsked(&conflict.Existing, in.ID) {
			r.Outcome, r.Note = view.Unchanged, "it was carried out already"
		}
		err = nil
	}
	return r, err
}

// previewReset returns what a reset of a run would keep.
func (c *Client) previewReset(ctx context.Context, row *store.Run, in core.Control) ([]view.ControlRecord, error) {
	r := c.controlRecord(row, in)
	r.Request, r.Time = "", time.Time{}
	cut, _, err := c.cutAt(ctx, row, in.Call, in.KeepKeys)
	refusal := (*inspect.CutError)(nil)
	switch {
	case errors.As(err, &refusal):
		r.Outcome, r.Note = view.Refused, refusal.Error()
	case err != nil:
		return nil, err
	default:
		again, err := c.again(ctx, row, in.Call, in.KeepKeys)
		if err != nil {
			return nil, err
		}
		r.Outcome, r.Note = view.Selected, cut.String()+again
	}
	return []view.ControlRecord{r}, nil
}

// controlRecord returns the record of an operation that this process carries out.
func (c *Client) controlRecord(row *store.Run, in core.Control) view.ControlRecord {
	return view.ControlRecord{
		WorkflowID: row.WorkflowID, RunID: row.ID, Call: in.Call, Name: in.Signal, Operation: string(in.Operation),
		Request: in.ID, By: in.By, Why: in.Reason, Time: time.Unix(0, c.now()).UTC(),
	}
}

// wasAsked reports whether an earlier run of the chain has carried out a request.
func wasAsked(row *store.Run, request string) bool {
	start, err := record.Start(row)
	return err == nil && start.Carried != nil && slices.Contains(start.Carried.Asked, request)
}

// cutAt reads the history of a run and cuts it at a call.
func (c *Client) cutAt(ctx context.Context, row *store.Run, call int64, keys bool) (*core.Cut, *history.Start, error) {
	start, err := record.Start(row)
	if err != nil {
		return nil, nil, &inspect.CutError{Err: err}
	}
	cut, err := c.read.CutAt(ctx, row.Partition, &start, call, keys)
	return cut, &start, err
}

// createBased creates a run that begins with the history of another one.
func (c *Client) createBased(ctx context.Context, source *store.Run, cut *core.Cut, start *history.Start, after string) error {
	row, err := record.NewRun(c.place(start.WorkflowID), start)
	if err != nil {
		return err
	}
	row.After = after
	if row.Base, err = record.StoreBase(start.Run, store.RunRef{Partition: source.Partition, Run: source.ID}, cut); err != nil {
		return err
	}
	err = c.db.Create(ctx, *row)
	c.local.Posted()
	return err
}
