package request

import (
	"cmp"
	"context"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/around"
	"github.com/perdure/perdure/internal/history"
)

// Intercepted reports whether verbs of this kind are intercepted or watched.
func (c *Client) Intercepted(k intercept.Kind) bool { return c.around.Has(k) }

// Watcher returns the watcher of this kind of verbs if nothing else is around them, or nil.
func (c *Client) Watcher(k intercept.Kind) *around.Member { return c.around.Watcher(k) }

// Around runs a verb inside the interceptors of its kind.
func (c *Client) Around(ctx context.Context, op *intercept.Op, do intercept.Next) error {
	if err := history.CheckContext(ctx); err != nil {
		return err
	}
	return c.around.Do(ctx, op, do)
}

// answered runs a verb inside its interceptors and returns the verb's result.
func answered[T any](ctx context.Context, c *Client, op *intercept.Op, do func(ctx context.Context) (T, error)) (out T, err error) {
	err = c.Around(ctx, op, func(ctx context.Context) (err error) {
		out, err = do(ctx)
		return err
	})
	return out, err
}

// operate runs a verb that changes something, about one workflow or none.
func operate[T any](ctx context.Context, c *Client, verb, workflowID string, do func(ctx context.Context) (T, error)) (T, error) {
	if !c.around.Has(intercept.Operate) {
		return do(ctx)
	}
	return answered(ctx, c, &intercept.Op{Kind: intercept.Operate, Name: verb, WorkflowID: workflowID}, do)
}

// alter is operate for a verb without a result.
func alter(ctx context.Context, c *Client, verb string, do func(ctx context.Context) error) error {
	if !c.around.Has(intercept.Operate) {
		return do(ctx)
	}
	return c.Around(ctx, &intercept.Op{Kind: intercept.Operate, Name: verb}, do)
}

// complete runs a verb on an attempt that is completed from outside.
func (c *Client) complete(ctx context.Context, verb string, do func(ctx context.Context) error) error {
	if !c.around.Has(intercept.Complete) {
		return do(ctx)
	}
	return c.Around(ctx, &intercept.Op{Kind: intercept.Complete, Name: verb}, do)
}

// started is the result of a start.
type started struct {
	run      string
	attached bool
}

// startAround starts a run inside its interceptors, which may set the run's headers.
func (c *Client) startAround(ctx context.Context, req Start, start func(context.Context, Start) (string, bool, error)) (string, bool, error) {
	op := &intercept.Op{Kind: intercept.Start, Name: req.Type, Workflow: req.Type, WorkflowID: req.WorkflowID, Headers: req.headers()}
	out, err := answered(ctx, c, op, func(ctx context.Context) (s started, err error) {
		s.run, s.attached, err = start(ctx, req.withHeaders(op.Headers))
		return s, err
	})
	return out.run, out.attached, err
}

// startWatched starts a run with only a watcher around it.
func (c *Client) startWatched(ctx context.Context, m *around.Member, req Start) (string, bool, error) {
	req.Trace = cmp.Or(req.Trace, req.Headers[history.HeaderTrace])
	op := intercept.Op{Kind: intercept.Start, Name: req.Type, Workflow: req.Type, WorkflowID: req.WorkflowID, Headers: req.Headers}
	out, err := around.Watched(ctx, m, op, func(ctx context.Context, p around.Parent) (s started, err error) {
		if req.Trace == "" && p.Trace != "" { // else the caller has set it
			req.Trace, req.Headers = p.Trace, p.Over(req.Headers)
		}
		s.run, s.attached, err = c.createRun(ctx, req)
		return s, err
	})
	return out.run, out.attached, err
}

// headers returns the headers of a start as interceptors see them, never nil.
func (s *Start) headers() map[string]string {
	all := history.WithTrace(s.Headers, s.Trace)
	if all == nil {
		all = map[string]string{}
	}
	return all
}

// withHeaders returns the start with the headers that interceptors left.
func (s Start) withHeaders(all map[string]string) Start {
	s.Headers, s.Trace = history.CutTrace(all)
	return s
}
