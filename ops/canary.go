package ops

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// SetCanary gives a share of the runs that begin, in percent, to nodes of a build
// (perdure.Build), and all others to nodes of other builds, in the engine's whole group. Which
// runs these are follows from their workflow IDs; a greater share of one build has all runs of
// a smaller one. It replaces the canary that was in force. When SetCanary returns it is
// durable; nodes follow within about a second.
//
// It decides where the first run of a chain begins, whoever starts it: a caller, a schedule or
// another run. A workflow that is workflow.Pinned stays there. Runs that have begun stay
// where they are, and so do the later runs of their chains. If no live node of the right
// builds has the workflow, a run begins where it would without a canary: none waits for one.
//
// A database whose runs do not move among nodes, such as a SQLite file, refuses it. With
// DryRun it returns what it would write, without a time.
func SetCanary(ctx context.Context, e *perdure.Engine, build string, percent float64, options ...ControlOption) (view.Canary, error) {
	s := unselected(options)
	c, err := inside(e).SetCanary(ctx, build, percent, s.dry, s.whom())
	return c, failed(err, "canary of build %q", build)
}

// EndCanary ends the canary of the engine's group: new runs begin where their workflow IDs put
// them, at nodes of whatever build. Runs that have begun stay where they are. To let none
// begin at nodes of a build while others live, set its share to 0 instead.
func EndCanary(ctx context.Context, e *perdure.Engine, options ...ControlOption) (view.Canary, error) {
	s := unselected(options)
	c, err := inside(e).EndCanary(ctx, s.dry, s.whom())
	return c, failed(err, "end of the canary")
}

// Canary returns the canary that is in force in the engine's group, nil if none is.
func Canary(ctx context.Context, e *perdure.Engine) (*view.Canary, error) {
	c, err := inside(e).CurrentCanary(ctx)
	return c, failed(err, "canary")
}
