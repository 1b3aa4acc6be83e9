package request

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/inspect"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// ErrNotPending says that an operation found no call: none is selected, or the call is
// closed.
var ErrNotPending = errors.New("no such call is pending; to see the pending calls: perdure show ID")

// RefusedError says that a call or a run refused an operation.
type RefusedError = view.RefusedError

// Control carries out an operation on a run, or on calls of it. An empty run means the
// latest run of the workflow ID. It returns what was done to each call once that is
// durable. Repeating a request ID does nothing and returns the same; reusing the ID of
// another operation on the run is refused.
//
// The error is ErrNotPending if no call was found, a *RefusedError if all found calls
// refused, ErrNoAnswer together with the error of ctx if no node carried it out in time,
// and store.ErrClosed if the run has ended. A run that is parked as damaged refuses all but
// what ends it.
func (c *Client) Control(ctx context.Context, workflowID, run string, in core.Control) ([]view.ControlRecord, error) {
	op := operate(string(in.Operation))
	op.WorkflowID = workflowID
	return Intercept(ctx, c, op, func(ctx context.Context) ([]view.ControlRecord, error) {
		if err := c.checkControl(ctx, &in); err != nil {
			return nil, err
		}
		defer c.waiters.begin(workflowID, run).end()
		o, err := c.sendControl(ctx, workflowID, run, in)
		if err != nil {
			return nil, err
		}
		if err := c.awaitControl(ctx, o); err != nil {
			return o.records, err
		}
		return o.records, nil
	})
}

// operation is a sent request for an operation.
type operation struct {
	core.Control
	row     *store.Run
	at      place // where to look for the result
	records []view.ControlRecord
}

// on moves the search for the result to a run.
func (o *operation) on(row *store.Run) { o.row, o.at = row, place{row.WorkflowID, row.ID, 0} }

// read looks for the result in a turn.
func (o *operation) read(t *core.StoredTurn) (done bool, err error) {
	for i := range t.Events {
		if ev := &t.Events[i]; inspect.IsAnswer(ev) && ev.ID == o.ID {
			if ev.Operation != string(o.Operation) || (o.Operation == core.SignalTheRun || o.Operation == core.MoveTheRun) && ev.Name != cmp.Or(o.Signal, o.To) {
				return false, &history.InputError{What: "request ID", Problem: fmt.Sprintf("%q was used for %s on workflow %q, so nothing is done; use another one", o.ID, strings.TrimSpace(ev.Operation+" "+ev.Name), o.at.workflowID)}
			}
			o.records = append(o.records, inspect.ControlRecord(o.row, ev, t.Time))
		}
	}
	return len(o.records) > 0, nil
}

// sendControl makes an operation durable, unless its result is already on record.
func (c *Client) sendControl(ctx context.Context, workflowID, run string, in core.Control) (*operation, error) {
	row, err := c.read.Find(ctx, workflowID, run)
	if err != nil {
		return nil, err
	}
	o := &operation{Control: in}
	o.on(row)
	if done, err := c.readTurns(ctx, &o.at, o.read); done || err != nil {
		return o, err
	}
	if refused := c.refuseDamaged(row, &in, nil); refused != nil {
		o.records = []view.ControlRecord{refused.Record}
		return o, nil
	}
	reader := row.ID
	if in.Operation == core.ResetTheRun {
		if done, err := o.wasReset(); done || err != nil {
			return o, err
		}
		if !row.Status.Open() {
			return o, c.resetLatest(ctx, o)
		}
	}
	if in.Operation.OfRun() {
		reader = "" // the latest run of the chain when the message arrives
	}
	m, err := message.Request(c.group, workflowID, reader, &in)
	if err != nil {
		return nil, err
	}
	err = c.post(ctx, m)
	if errors.Is(err, store.ErrClosed) { // this very request may have ended the run
		if done, late := c.readTurns(ctx, &o.at, o.read); done && late == nil {
			return o, nil
		}
		if in.Operation == core.ResetTheRun {
			return o, c.resetLatest(ctx, o)
		}
	}
	return o, err
}

// awaitControl waits until the owner of the run has carried out the operation.
func (c *Client) awaitControl(ctx context.Context, o *operation) error {
	for len(o.records) == 0 {
		closed, err := c.awaitTurn(ctx, &o.at, shortPause, o.over, o.read)
		switch {
		case err != nil && ctx.Err() != nil:
			return fmt.Errorf("workflow %q: %w: %w", o.at.workflowID, ErrNoAnswer, ctx.Err())
		case err != nil:
			return err
		case closed == nil:
		case closed.Status.Open(): // the operation, or what preceded it, found the damage
			refused := c.refuseDamaged(closed, &o.Control, nil)
			refused.Record.Note += ". The request stays on record, and is carried out if the run can be read again"
			o.records = append(o.records, refused.Record)
		case closed.Status == store.Continued && o.Operation.OfRun():
			next, err := c.db.Find(ctx, closed.Partition, closed.WorkflowID, "")
			if err != nil {
				return err
			}
			o.on(next)
		case o.Operation == core.ResetTheRun:
			if err := c.resetLatest(ctx, o); err != nil {
				return err
			}
		default:
			return fmt.Errorf("workflow %q: %w", o.at.workflowID, store.ErrClosed)
		}
	}
	return verdict(o.records)
}

// verdict returns the error of an operation that had no effect.
func verdict(records []view.ControlRecord) error {
	var refused *RefusedError
	for _, r := range records {
		switch r.Outcome {
		case view.Applied, view.Unchanged:
			return nil
		case view.Refused:
			refused = &RefusedError{Record: r}
		}
	}
	if refused != nil {
		return refused
	}
	return fmt.Errorf("workflow %q: %w", records[0].WorkflowID, ErrNotPending)
}

// A run that is parked as damaged takes only what ends it: it is terminated or reset. Any
// other operation would wait for its answer until the record of the run is restored, perhaps
// for ever, so the process that asks refuses it.

// takenByDamaged reports whether a damaged run takes an operation.
func takenByDamaged(op core.Operation) bool {
	return op == core.TerminateTheRun || op == core.ResetTheRun
}

// damageOf returns why a run is parked as damaged, and false if it is not.
func damageOf(row *store.Run) (why string, is bool) {
	if row.Status != store.Parked {
		return "", false
	}
	d, err := core.DecodeDetail(row.Detail)
	return d.Reason, err == nil && d.Damaged
}

// refuseDamaged returns the refusal of an operation on a run that is parked as damaged, or of
// which this process has found the damage; that may be nil. What only this process cannot read,
// for lack of a key or because a newer version wrote it, is no damage. It returns nil for other
// runs, and for an operation that a damaged run takes.
func (c *Client) refuseDamaged(row *store.Run, in *core.Control, found *history.DamageError) *RefusedError {
	why, is := damageOf(row)
	state := "is parked as damaged"
	if !is && found != nil && !found.Coded && !found.Newer {
		why, is, state = found.Error(), true, "is damaged"
	}
	if !is || takenByDamaged(in.Operation) {
		return nil
	}
	r := c.controlRecord(row, *in)
	r.Name, r.Outcome = cmp.Or(in.Signal, in.To), view.Refused
	if in.Operation.OfRun() {
		r.Call = 0
	}
	r.Note = fmt.Sprintf("run %s of workflow %q %s: %s; %s", row.ID, row.WorkflowID, state, why, inspect.Mend)
	return &RefusedError{Record: r}
}

// over reports whether the search for the result ends at a run: it has ended, or it is parked
// as damaged and does not take the operation.
func (o *operation) over(row *store.Run) bool {
	_, damaged := damageOf(row)
	return !row.Status.Open() || damaged && !takenByDamaged(o.Operation)
}
