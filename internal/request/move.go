package request

import (
	"context"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// staysWhere returns why moving a run to another build would do nothing, or "".
func staysWhere(row *store.Run, in *core.Control) string {
	d, _ := core.DecodeDetail(row.Detail) // an unreadable detail names no build
	_, why := core.WouldMove(d.Pin, in)
	return why
}

// previewMove says what would happen to a run that moves to another build.
func (c *Client) previewMove(ctx context.Context, row *store.Run, in core.Control) ([]view.ControlRecord, error) {
	found, err := c.selected(ctx, row, in)
	if err == nil && len(found) == 0 {
		return nil, &RefusedError{Record: view.ControlRecord{
			WorkflowID: row.WorkflowID, RunID: row.ID, Name: in.To, Operation: string(in.Operation), Outcome: view.Refused, Note: staysWhere(row, &in),
		}}
	}
	if err != nil {
		return nil, err
	}
	b := bulk{client: c, in: in, result: view.BulkResult{DryRun: true}}
	err = b.foresee(ctx, []store.Run{*row}, [][]view.ControlRecord{found})
	return found, err
}

// foresee adds to the records of a dry run of moves what would happen to the runs, and to those
// of a dry run of retries which calls would wait at gates.
func (b *bulk) foresee(ctx context.Context, rows []store.Run, found [][]view.ControlRecord) error {
	if b.in.Operation == core.RetryNow && b.result.DryRun {
		if b.rooms == nil {
			b.rooms = &rooms{client: b.client}
		}
		for i := range rows {
			if err := b.rooms.foresee(ctx, &rows[i], &b.in, found[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if b.in.Operation != core.MoveTheRun || !b.result.DryRun {
		return nil
	}
	if b.ahead == nil {
		b.ahead = map[string]string{}
	}
	for i := range rows {
		d, _ := core.DecodeDetail(rows[i].Detail)
		key := rows[i].Type + "\x00" + d.Pin
		if _, known := b.ahead[key]; !known {
			says, err := b.client.read.WouldMove(ctx, &rows[i], d.Pin, b.in.To)
			if err != nil {
				return err
			}
			b.ahead[key] = says
		}
		for j := range found[i] {
			found[i][j].Note += "; " + b.ahead[key]
		}
	}
	return nil
}
