package request

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/inspect"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
)

// Fork asks for a run under a new workflow ID that continues from a call of another run.
type Fork struct {
	WorkflowID, Run string // run whose history is used; the latest run if Run is empty
	NewID           string
	Call            int64            // the first call that is made again
	Input           *history.Payload // of the new run, nil for that of the other run
	CallInput       *history.Payload // of the call, nil for what the code passes
	By              By
	KeepKeys        bool // calls that are made again keep their idempotency keys
	// Fault is the error of an option of the request. It refuses the request.
	Fault error
}

// ForkRun makes sure that the run exists and returns its run ID. Repeating the request
// returns the same run, and attached is true. If another run has the new workflow ID, the
// error is an *IDInUseError. The forked run does not change.
func (c *Client) ForkRun(ctx context.Context, req Fork) (run string, attached bool, err error) {
	op := operate("fork")
	op.WorkflowID = req.WorkflowID
	s, err := Intercept(ctx, c, op, func(ctx context.Context) (started, error) {
		source, cut, start, err := c.cutFor(ctx, &req)
		if err != nil {
			return started{}, err
		}
		now := c.now()
		by := core.Control{By: cmp.Or(req.By.Who, c.node), Reason: req.By.Why}
		next := cut.Fork(start, req.NewID, ident.NewRun(now), now, by)
		if req.Input != nil {
			next.Input = *req.Input
		}
		err = c.createBased(ctx, source, cut, next, "")
		if conflict := (*store.ConflictError)(nil); errors.As(err, &conflict) {
			return attachToFork(&conflict.Existing, next)
		}
		return started{run: next.Run}, err
	})
	return s.run, s.attached, err
}

// PreviewFork describes in a sentence what a fork would keep.
func (c *Client) PreviewFork(ctx context.Context, req Fork) (string, error) {
	source, cut, _, err := c.cutFor(ctx, &req)
	if err != nil {
		return "", err
	}
	again, err := c.again(ctx, source, req.Call, req.KeepKeys)
	return cut.String() + again, err
}

// cutFor cuts the history of a run for a fork.
func (c *Client) cutFor(ctx context.Context, req *Fork) (*store.Run, *core.Cut, *history.Start, error) {
	source, err := c.read.Find(ctx, req.WorkflowID, req.Run)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := c.check(ctx, req.check(), c.lacks); err != nil {
		return nil, nil, nil, err
	}
	cut, start, err := c.cutAt(ctx, source, req.Call, req.KeepKeys)
	if err == nil && req.CallInput != nil {
		if err = cut.WithInput(*req.CallInput); err != nil {
			err = &inspect.CutError{Err: err}
		}
	}
	return source, cut, start, err
}

// attachToFork handles a fork whose workflow ID is taken. It returns the existing run if
// the same request created it.
func attachToFork(existing *store.Run, want *history.Start) (started, error) {
	is, err := record.Start(existing)
	if err != nil {
		return started{}, err
	}
	refusal := &IDInUseError{WorkflowID: want.WorkflowID, Run: existing.ID, Status: string(existing.Status)}
	switch has, wants := is.Base, want.Base; {
	case has == nil || has.Run != wants.Run || has.Call != wants.Call:
		refusal.Difference = fmt.Sprintf("it does not continue from call %d of run %s", wants.Call, wants.Run)
	case !has.Inputs[wants.Call].Equal(wants.Inputs[wants.Call]):
		refusal.Difference = fmt.Sprintf("its input of call %d differs", wants.Call)
	case has.KeepKeys != wants.KeepKeys:
		refusal.Difference = "one keeps the idempotency keys of the calls that it makes again, the other does not"
	case !is.Input.Equal(want.Input):
		refusal.Difference = "its input differs"
	default:
		return started{existing.ID, true}, nil
	}
	return started{}, refusal
}
