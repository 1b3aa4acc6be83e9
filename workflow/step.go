package workflow

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
)

// Do runs an inline step: an activity written where it is used. It has the same policy,
// ledger and recovery as a registered activity. The closure may read variables of the
// workflow, but its only output is its result: what it writes to variables is lost when
// the run is resumed from history. Using the workflow context inside it panics.
func Do[T any](wf *Context, name string, fn func(ctx context.Context) (T, error), opts ...activity.Option) (T, error) {
	return DoAsync(wf, name, fn, opts...).Get(wf)
}

// DoAsync starts an inline step and does not wait for it.
func DoAsync[T any](wf *Context, name string, fn func(ctx context.Context) (T, error), opts ...activity.Option) Future[T] {
	wf.enter()
	p := wf.schedule(history.StepScheduled, name, history.Payload{}, seal.ActivityOptions{}, opts)
	if !p.ready() {
		if wf.instance.bodies == nil {
			wf.instance.bodies = map[int64]seal.Body{}
		}
		wf.instance.bodies[p.call.Number] = func(ctx context.Context) (history.Payload, error) {
			out, err := fn(ctx)
			return encoded(out, err, func(err error) error { return fmt.Errorf("the result of step %q: %w", name, err) })
		}
	}
	return typed[T](p)
}
