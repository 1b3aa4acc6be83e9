package ops

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// Nodes returns the nodes of all groups by the time they joined: live ones, those that
// left or died recently, and those that died and still own partitions. The work of the
// latter continues when another node takes it over.
func Nodes(ctx context.Context, e *perdure.Engine) ([]view.Node, error) {
	nodes, err := inside(e).Nodes(ctx)
	return nodes, failed(err, "nodes")
}

// Counts returns how many runs and calls are in which state. It stops counting a state at most,
// as [view.Counts] says. If most is 0 it counts all: about half a second for a million runs.
func Counts(ctx context.Context, e *perdure.Engine, most int) (view.Counts, error) {
	counts, err := inside(e).Counts(ctx, most)
	return counts, failed(err, "counts")
}

// Sweep deletes what perdure.Retain would delete, from all partitions of the group and
// immediately. It works beside engines, in small batches. If it returns an error, the
// result says how far it came.
func Sweep(ctx context.Context, e *perdure.Engine, keep view.Retention) (view.SweepResult, error) {
	result, err := inside(e).Sweep(ctx, keep, false)
	return result, failed(err, "sweep")
}

// PreviewSweep returns what Sweep would delete, and deletes nothing.
func PreviewSweep(ctx context.Context, e *perdure.Engine, keep view.Retention) (view.SweepResult, error) {
	result, err := inside(e).Sweep(ctx, keep, true)
	return result, failed(err, "sweep")
}
