package ops

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// CheckCode reports which open runs could not continue with the workflows that are
// registered with the engine. It replays the histories of all of them or of a sample, and
// reports the first difference of each. Call it before a deploy, in a test or in the new
// program itself, with an engine that is opened and not started:
//
//	eng, err := perdure.OpenURL(ctx, url, perdure.Register(app.Definitions()...))
//	...
//	check, err := ops.CheckCode(ctx, eng, view.CodeFilter{})
//	if err == nil {
//		err = check.Err()
//	}
//
// It writes nothing, owns nothing and runs no activity, so it works beside engines that
// serve the runs. It checks the committed history; it does not predict the next calls of
// the code. Code that ends its process ends the check, too. The result omits definitions
// without runs, and includes runs whose workflow is not registered.
func CheckCode(ctx context.Context, e *perdure.Engine, filter view.CodeFilter) (*view.CodeCheck, error) {
	check, err := inside(e).CheckCode(ctx, filter)
	return check, failed(err, "check code")
}
