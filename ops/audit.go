package ops

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// Audit returns who did what in the engine's group, when and why, latest first: operations
// on runs and calls, those of the engine included, and activities that were paused and
// resumed as a whole. Gates and schedules keep no log: of them it has the pauses in force,
// and the fires by hand that a schedule remembers.
//
// It reads the history of at most filter.Runs runs, the latest started first, and says if
// there were more. Handle.Audit is about one run, however old.
func Audit(ctx context.Context, e *perdure.Engine, filter view.AuditFilter) (*view.Audit, error) {
	audit, err := inside(e).AuditGroup(ctx, filter)
	return audit, failed(err, "audit")
}
