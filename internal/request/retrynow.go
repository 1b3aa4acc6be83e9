package request

import (
	"context"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// foreseeRetries says in the records of a dry run of RetryNow which calls would not start an
// attempt: those that wait for one already, those that would be refused, and those whose
// activity is paused.
func (c *Client) foreseeRetries(ctx context.Context, row *store.Run, in *core.Control, found []view.ControlRecord) error {
	if in.Operation != core.RetryNow || len(found) == 0 {
		return nil
	}
	rows, err := c.db.Calls(ctx, row.Partition, row.ID)
	if err != nil {
		return err
	}
	paused, err := c.read.Switches(ctx, true)
	if err != nil {
		return err
	}
	by := map[int64]*store.Call{}
	for i := range rows {
		by[rows[i].Number] = &rows[i]
	}
	off := map[string]bool{}
	for _, s := range paused {
		off[s.Name] = s.Paused
	}
	for i := range found {
		r := &found[i]
		switch call := by[r.Call]; {
		case call != nil:
			foreseeRetry(call, in, off[call.Name], r)
		case r.Note == core.StateRunning: // a step or a block of code, which has no row
			r.Outcome, r.Note = view.Unchanged, core.Already(core.Dispatched)
		}
	}
	return nil
}

func foreseeRetry(call *store.Call, in *core.Control, paused bool, r *view.ControlRecord) {
	if note := core.Already(core.CallState(call.State)); note != "" {
		r.Outcome, r.Note = view.Unchanged, note
	}
	switch call.State {
	case store.InDoubt:
		r.Note = "an attempt may have had its effect: this repeats it all the same"
	case store.Quarantined:
		if p, err := core.DecodeProgress(call.Data); err == nil && core.CrashedEverywhere(in.Builds, p.CrashedOn) {
			r.Outcome, r.Note = view.Refused, core.CrashesAgain(len(p.CrashedOn))
		}
	}
	if paused && r.Outcome == view.Selected {
		r.Outcome, r.Note = view.WouldWait, r.Note+"; then it waits until its activity is resumed"
	}
}
