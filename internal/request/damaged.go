package request

import (
	"cmp"
	"fmt"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/inspect"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

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
