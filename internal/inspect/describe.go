package inspect

import (
	"context"
	"errors"
	"slices"

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
	var s *Snapshot
	if row.Status.Open() {
		if s, err = in.Read(ctx, row); err != nil {
			return nil, err
		}
	}
	return in.describe(ctx, row, s)
}

// Overview returns what Describe, Attempts, Calls and Audit return, from a single read of
// the run.
func (in *Inspector) Overview(ctx context.Context, workflowID, run string) (*view.Overview, error) {
	row, err := in.Find(ctx, workflowID, run)
	if err != nil {
		return nil, err
	}
	made, done := closing{}, controls{row: row}
	s, _, err := in.begin(ctx, row, 0, made.add, done.add)
	if err != nil {
		return nil, err
	}
	d, err := in.describe(ctx, row, s)
	if err != nil {
		return nil, err
	}
	kept, err := in.db.Attempts(ctx, row.Partition, row.ID, store.AttemptRange{})
	if err != nil {
		return nil, err
	}
	kept = slices.DeleteFunc(kept, isTry)
	var inFlight []view.Attempt
	if row.Status.Open() {
		inFlight = s.inFlight(row.ID)
	}
	attempts := merged(kept, made.closed, inFlight)
	notKept(attempts, view.AttemptPlace{})
	o := &view.Overview{Description: d, Attempts: attempts, Calls: sums(row, kept, made.closed), Audit: done.all(&s.Start)}
	return o, in.tellOfWorkers(ctx, row.Partition, attempts)
}

// describe returns a run with what was read of it. A closed run needs no snapshot.
func (in *Inspector) describe(ctx context.Context, row *store.Run, s *Snapshot) (*view.Description, error) {
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
	var err error
	if d.Mismatch, err = mismatch(detail.Mismatch); err != nil {
		return nil, err
	}
	if d.Chain, err = in.chain(ctx, row, &start); err != nil || !row.Status.Open() {
		return d, err
	}
	return d, in.describeOpen(ctx, row, s, d, &detail, unread)
}

// describeOpen adds what only open runs have. unread says why the run's state cannot be
// read, or is nil.
func (in *Inspector) describeOpen(ctx context.Context, row *store.Run, s *Snapshot, d *view.Description, detail *core.Detail, unread error) (err error) {
	d.Damage, d.Wait = firstDamage(s, unread), unbegun(row, detail)
	if d.Needs, err = in.needs(ctx, row, detail, s); err != nil {
		return err
	}
	if d.Away, err = in.away(ctx, row); err != nil {
		return err
	}
	var signals int
	d.Pending, signals = s.pending()
	d.Updates = s.open.updates
	d.HistoryLength, d.Warnings = s.events, in.limits.warnings(s.events, len(d.Pending), signals)
	return errors.Join(in.addPlaces(ctx, row.ID, d.Pending), in.addChildren(ctx, d.Pending), in.addSwitches(ctx, row.Type, d.Pending), in.addQueues(ctx, d.Pending))
}

// addSwitches adds to the calls of paused activities who paused them.
func (in *Inspector) addSwitches(ctx context.Context, workflow string, calls []view.Call) error {
	paused, err := in.paused(ctx)
	if err != nil {
		return err
	}
	for i := range calls {
		c := &calls[i]
		if c.Kind != KindActivity && c.Kind != KindStep {
			continue
		}
		if w, off := paused[CodeName(workflow, c.Name, c.Kind == KindStep)]; off {
			c.ActivityPaused = &view.Pause{By: w.By, Why: w.Why, Since: at(w.Time), Until: optional(w.Ends())}
		}
	}
	return nil
}
