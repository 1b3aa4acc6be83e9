package request

import (
	"cmp"
	"context"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/around"
	"github.com/perdure/perdure/internal/history"
)

// Interceptors decorate the verbs of a client. Each verb passes through Intercept or, if it
// starts runs, through interceptStart; its body knows nothing of them. Without interceptors and
// watchers of its kind a verb runs immediately, and a start allocates nothing for them.

// Intercepted reports whether verbs of this kind are intercepted or watched.
func (c *Client) Intercepted(k intercept.Kind) bool { return c.around.Has(k) }

// Intercept runs a verb inside the interceptors of its kind.
func Intercept[T any](ctx context.Context, c *Client, op intercept.Op, verb func(ctx context.Context) (T, error)) (T, error) {
	if !c.around.Has(op.Kind) {
		return verb(ctx)
	}
	if m := c.around.Watcher(op.Kind); m != nil {
		return around.Watched(ctx, m, op, func(ctx context.Context, _ around.Parent) (T, error) { return verb(ctx) })
	}
	return decorate(ctx, c, op, func(ctx context.Context, _ *intercept.Op) (T, error) { return verb(ctx) })
}

// none is the result of a verb without one.
type none struct{}

// intercept is Intercept for a verb without a result.
func (c *Client) intercept(ctx context.Context, op intercept.Op, verb func(ctx context.Context) error) error {
	if !c.around.Has(op.Kind) {
		return verb(ctx)
	}
	_, err := Intercept(ctx, c, op, func(ctx context.Context) (none, error) { return none{}, verb(ctx) })
	return err
}

// operate is an operation that changes something.
func operate(verb string) intercept.Op { return intercept.Op{Kind: intercept.Operate, Name: verb} }

// complete is an operation on an attempt from outside.
func complete(verb string) intercept.Op { return intercept.Op{Kind: intercept.Complete, Name: verb} }

// decorate runs a verb inside interceptors, which have left their headers in its Op.
func decorate[T any](ctx context.Context, c *Client, op intercept.Op, verb func(ctx context.Context, op *intercept.Op) (T, error)) (out T, err error) {
	if err := history.CheckContext(ctx); err != nil {
		return out, err
	}
	err = c.around.Do(ctx, &op, func(ctx context.Context) (err error) {
		out, err = verb(ctx, &op)
		return err
	})
	return out, err
}

// interceptStart runs a verb that starts runs inside its interceptors, which may set the headers
// of the runs.
func interceptStart[T any](ctx context.Context, c *Client, op intercept.Op, req Start, verb func(*Client, context.Context, Start) (T, error)) (T, error) {
	if !c.around.Has(op.Kind) {
		return verb(c, ctx, req)
	}
	return decorateStart(ctx, c, op, req, verb)
}

func decorateStart[T any](ctx context.Context, c *Client, op intercept.Op, req Start, verb func(*Client, context.Context, Start) (T, error)) (T, error) {
	if m := c.around.Watcher(op.Kind); m != nil && op.Kind == intercept.Start {
		req.Trace, op.Headers = cmp.Or(req.Trace, req.Headers[history.HeaderTrace]), req.Headers
		return around.Watched(ctx, m, op, func(ctx context.Context, p around.Parent) (T, error) {
			if req.Trace == "" && p.Trace != "" { // else the caller has set it
				req.Trace, req.Headers = p.Trace, p.Over(req.Headers)
			}
			return verb(c, ctx, req)
		})
	}
	if op.Headers = history.WithTrace(req.Headers, req.Trace); op.Headers == nil {
		op.Headers = map[string]string{}
	}
	return decorate(ctx, c, op, func(ctx context.Context, op *intercept.Op) (T, error) {
		req.Headers, req.Trace = history.CutTrace(op.Headers)
		return verb(c, ctx, req)
	})
}
