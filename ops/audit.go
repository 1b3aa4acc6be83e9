package ops

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// Audit returns who did what in the engine's group, when and why, latest first:
// operations on runs and calls, including those of the engine, pauses and resumptions of
// activities, and requests to gates and schedules, which remember their last hundred
// each. The log of a gate is deleted with the gate.
//
// It reads the histories of at most filter.Runs runs, the latest started first; Unread of
// the result says that there are more. perdure.Handle.Audit is about one run of any age.
func Audit(ctx context.Context, e *perdure.Engine, filter view.AuditFilter) (*view.Audit, error) {
	audit, err := inside(e).AuditGroup(ctx, filter)
	return audit, failed(err, "audit")
}
