package ops

import (
	"context"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// WorkflowStats returns the workflows of the engine's group by name: which builds have each, how
// many of its runs are open, and how those ended, and how long they took, that were started since
// a time. It reads the newest runs, at most view.MaxWorkflowRuns of the open ones and as many of
// those that were started since then.
func WorkflowStats(ctx context.Context, e *perdure.Engine, since time.Time) ([]view.WorkflowStats, error) {
	stats, err := inside(e).WorkflowStats(ctx, since)
	return stats, failed(err, "workflow stats")
}
