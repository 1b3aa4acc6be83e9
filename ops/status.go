package ops

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// Status returns an overview of the engine's group: who serves it, what waits for what and
// since when, and what failed in the last hour. It reads a bounded number of rows of each
// kind, so it may be asked for every few seconds, on a database with millions of closed
// runs too. It counts what is committed, and works beside engines and without one.
func Status(ctx context.Context, e *perdure.Engine) (*view.Status, error) {
	s, err := inside(e).Status(ctx)
	return s, failed(err, "status")
}
