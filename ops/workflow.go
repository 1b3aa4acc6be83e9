package ops

import (
	"context"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// WorkflowStats returns the workflows of the engine's group by name: which builds have each, how
// many of its runs are open, and how many began and ended since a time, how, and how long they
// took. Runs are counted by the hour: that of since counts whole.
func WorkflowStats(ctx context.Context, e *perdure.Engine, since time.Time) ([]view.WorkflowStats, error) {
	stats, err := inside(e).WorkflowStats(ctx, since)
	return stats, failed(err, "workflow stats")
}

// HourStats returns how runs, or the calls of an activity or step, began and ended in each hour of
// a span, oldest first. Hours in which nothing happened are among them. The numbers of an hour
// survive any crash; see ActivityStats for what is not counted yet.
func HourStats(ctx context.Context, e *perdure.Engine, filter view.HourFilter) ([]view.HourStats, error) {
	stats, err := inside(e).HourStats(ctx, filter)
	return stats, failed(err, "hour stats")
}
