package registry

import (
	"context"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/around"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
)

// Around is called in place of the body of an attempt, and gets the body, for tests. The context
// identifies the attempt.
type Around func(ctx context.Context, body seal.Body) (history.Payload, error)

// Surrounded wraps a body in Config.Around, interceptors and watchers, if there are any. Op says
// which attempt it is of.
func (r *Registry) Surrounded(body seal.Body, a *around.Attempts, op func() intercept.Op) seal.Body {
	if around := r.config.Around; around != nil && body != nil {
		inner := body
		body = func(ctx context.Context) (history.Payload, error) { return around(ctx, inner) }
	}
	if body == nil || !a.Any() {
		return body
	}
	i := &intercepted{op: op(), body: body}
	i.operation.Around(a)
	return i.attempt
}

// intercepted is one attempt inside interceptors or watchers. It is used once.
type intercepted struct {
	operation around.Operation
	op        intercept.Op
	body      seal.Body
	result    history.Payload
}

func (i *intercepted) attempt(ctx context.Context) (history.Payload, error) {
	i.operation.Op, i.operation.Inner = &i.op, i
	err := i.operation.Do(ctx)
	return i.result, err
}

// Next implements around.Inner.
func (i *intercepted) Next(ctx context.Context) (err error) {
	i.result, err = i.body(ctx)
	return err
}
