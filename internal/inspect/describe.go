package inspect

import (
	"context"
	"errors"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// Describe returns a run with its pending calls.
func (in *Inspector) Describe(ctx context.Context, workflowID, run string) (*view.Description, error) {
	row, err := in.Find(ctx, workflowID, run)
	if err != nil {
		return nil, err
	}
	start, wrong := record.Start(row)
	detail, unread := core.DecodeDetail(row.Detail)
	d := &view.Description{
		Run: runOf(row), Input: payload(start.Input), Memo: payload(start.Memo), Trace: start.Trace, Headers: start.Headers,
		Result: optionalPayload(detail.Result), Failure: failure(detail.Failure), Stack: detail.Stack,
		After: start.After, Next: detail.Next, Parent: parentOf(start.Parent), Schedule: scheduledBy(start.Scheduled), Base: baseOf(&start),
		ChainDeadline: optional(start.ChainDeadline),
	}
	if deadline := core.RunDeadline(&start); deadline != core.Never {
		d.RunDeadline = optional(deadline)
	}
	d.Damage = firstDamage(nil, wrong, unread)
	if d.Mismatch, err = mismatch(detail.Mismatch); err != nil {
		return nil, err
	}
	if d.Chain, err = in.chain(ctx, row, &start); err != nil || !row.Status.Open() {
		return d, err
	}
	return d, in.describeOpen(ctx, row, d, &detail, unread)
}

// describeOpen adds what is known of an open run only. Unread is why its state cannot be
// read, nil if it can.
func (in *Inspector) describeOpen(ctx context.Context, row *store.Run, d *view.Description, detail *core.Detail, unread error) error {
	s, err := in.Read(ctx, row)
	if err != nil {
		return err
	}
	d.Damage = firstDamage(s, unread)
	if d.Needs, err = in.needs(ctx, row, detail, s); err != nil {
		return err
	}
	if d.Away, err = in.away(ctx, row); err != nil {
		return err
	}
	var signals int
	d.Pending, signals = s.pending()
	d.Updates = s.updates()
	d.HistoryLength, d.Warnings = len(s.Events), in.limits.warnings(len(s.Events), len(d.Pending), signals)
	return errors.Join(in.addPlaces(ctx, row.ID, d.Pending), in.addChildren(ctx, d.Pending), in.addSwitches(ctx, d.Pending), in.addQueues(ctx, d.Pending))
}

// addSwitches adds to the calls of paused activities who paused them.
func (in *Inspector) addSwitches(ctx context.Context, calls []view.Call) error {
	paused, err := in.paused(ctx)
	if err != nil {
		return err
	}
	for i := range calls {
		c := &calls[i]
		if w, off := paused[c.Name]; off && c.Kind == "activity" {
			c.ActivityPaused = &view.Pause{By: w.By, Why: w.Why, Since: at(w.Time)}
		}
	}
	return nil
}
