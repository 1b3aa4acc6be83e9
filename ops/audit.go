package ops

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// Audit returns who did what in the engine's group, when and why, latest first: operations
// on runs and calls, those of the engine included, activities that were paused and resumed
// as a whole, and what was said to gates and schedules, which remember the last hundred
// requests each. The log of a gate is forgotten with the gate.
//
// It reads the history of at most filter.Runs runs, the latest started first, and says if
// there were more. Handle.Audit is about one run, however old.
func Audit(ctx context.Context, e *perdure.Engine, filter view.AuditFilter) (*view.Audit, error) {
	audit, err := inside(e).AuditGroup(ctx, filter)
	return audit, failed(err, "audit")
}
