package ops

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// Status returns an overview of the engine's group: the nodes that serve it, what calls
// wait for and since when, and what failed in the last hour. It reads a bounded number of
// rows of each kind. It reads committed state, so it works beside engines and without one.
func Status(ctx context.Context, e *perdure.Engine) (*view.Status, error) {
	s, err := inside(e).Status(ctx)
	return s, failed(err, "status")
}
