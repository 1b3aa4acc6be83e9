package ops

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// Nodes returns the nodes of all groups by the time they joined: those that are live,
// those that left or died lately, and those that died and still own partitions. The work
// of these continues when another node takes it over.
func Nodes(ctx context.Context, e *perdure.Engine) ([]view.Node, error) {
	nodes, err := inside(e).Nodes(ctx)
	return nodes, failed(err, "nodes")
}

// Counts returns how many runs and calls are in which state.
func Counts(ctx context.Context, e *perdure.Engine) (view.Counts, error) {
	counts, err := inside(e).Counts(ctx)
	return counts, failed(err, "counts")
}

// Sweep deletes what a retention does not keep from all partitions of the group, without
// waiting for perdure.Retain. It works beside engines, in small batches. If it ends with an
// error, the result says how far it came.
func Sweep(ctx context.Context, e *perdure.Engine, keep view.Retention) (view.SweepResult, error) {
	result, err := inside(e).Sweep(ctx, keep, false)
	return result, failed(err, "sweep")
}

// PreviewSweep returns what Sweep would delete, and deletes nothing.
func PreviewSweep(ctx context.Context, e *perdure.Engine, keep view.Retention) (view.SweepResult, error) {
	result, err := inside(e).Sweep(ctx, keep, true)
	return result, failed(err, "sweep")
}
