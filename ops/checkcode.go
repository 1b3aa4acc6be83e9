package ops

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// CheckCode says which open runs would not go on with the workflows that are registered
// with the engine: it replays what is on record of them, all or a sample, and reports the
// first difference of each. Ask it before a deploy, in a test or in the new program itself,
// with an engine that is opened and not started:
//
//	eng, err := perdure.OpenURL(ctx, url, perdure.Register(app.Definitions()...))
//	...
//	check, err := ops.CheckCode(ctx, eng, view.CodeFilter{})
//	if err == nil {
//		err = check.Err()
//	}
//
// It writes nothing, owns nothing and runs no activity, so it works beside engines that
// serve the runs. It looks at what was committed; what the code will ask for next is
// not known. Code that ends its process ends the check with it. Definitions with no runs are
// not mentioned; runs whose workflow is not registered are.
func CheckCode(ctx context.Context, e *perdure.Engine, filter view.CodeFilter) (*view.CodeCheck, error) {
	check, err := inside(e).CheckCode(ctx, filter)
	return check, failed(err, "check code")
}
