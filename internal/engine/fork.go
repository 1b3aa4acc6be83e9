package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/store"
)

// ForkRequest asks for a run under a new workflow ID that goes on from a call of another
// run.
type ForkRequest struct {
	WorkflowID, Run string // whose history; of the latest run if Run is empty
	NewID           string
	Call            int64            // the first that is made anew
	Input           *history.Payload // of the new run, nil for that of the other
	CallInput       *history.Payload // of the call, nil for what the code asks for
	By, Reason      string
	// Fault is what is wrong with what the request was made of.
	Fault error
}

// Fork makes sure that there is such a run and returns its run ID. Asked for again it
// returns the same, and attached is true; if the new workflow ID belongs to any other
// run, the error is an *IDInUseError. The other run is not touched.
func (e *Engine) Fork(ctx context.Context, req ForkRequest) (run string, attached bool, err error) {
	source, err := e.Find(ctx, req.WorkflowID, req.Run)
	if err != nil {
		return "", false, err
	}
	cut, start, err := e.cutFor(ctx, source, &req)
	if err != nil {
		return "", false, err
	}
	now := e.clock.Now()
	next := cut.Fork(&start, req.NewID, ident.NewRun(now), now, core.Control{By: cmp.Or(req.By, e.config.Node), Reason: req.Reason})
	if req.Input != nil {
		next.Input = *req.Input
	}
	err = e.createBased(ctx, source, cut, next, "")
	if conflict := (*store.ConflictError)(nil); errors.As(err, &conflict) {
		return attachToFork(&conflict.Existing, next)
	}
	return next.Run, false, err
}

// PreviewFork says what a fork would keep.
func (e *Engine) PreviewFork(ctx context.Context, req ForkRequest) (string, error) {
	source, err := e.Find(ctx, req.WorkflowID, req.Run)
	if err != nil {
		return "", err
	}
	cut, _, err := e.cutFor(ctx, source, &req)
	if err != nil {
		return "", err
	}
	return cut.String(), nil
}

// cutFor cuts the history of a run as a fork wants it.
func (e *Engine) cutFor(ctx context.Context, source *store.Run, req *ForkRequest) (*core.Cut, history.Start, error) {
	if err := errors.Join(req.Fault, e.usable(req.NewID)); err != nil {
		return nil, history.Start{}, err
	}
	if req.Call < 1 {
		return nil, history.Start{}, noCall(req.Call)
	}
	cut, start, err := e.cutAt(ctx, source, req.Call)
	if err == nil && req.CallInput != nil {
		err = cut.WithInput(*req.CallInput)
	}
	return cut, start, err
}

// attachToFork answers a fork whose workflow ID is taken: by itself, if it was asked for
// before.
func attachToFork(existing *store.Run, want *history.Start) (string, bool, error) {
	is, err := history.DecodeStart(existing.Start)
	if err != nil {
		return "", false, err
	}
	refusal := &IDInUseError{WorkflowID: want.WorkflowID, Run: existing.ID, Status: existing.Status}
	switch is, want := is.Base, want.Base; {
	case is == nil || is.Run != want.Run || is.Call != want.Call:
		refusal.Difference = fmt.Sprintf("it does not go on from call %d of run %s", want.Call, want.Run)
		return "", false, refusal
	case !is.Inputs[want.Call].Equal(want.Inputs[want.Call]):
		refusal.Difference = fmt.Sprintf("its input of call %d is another one", want.Call)
		return "", false, refusal
	}
	if !is.Input.Equal(want.Input) {
		refusal.Difference = "its input is another one"
		return "", false, refusal
	}
	return existing.ID, true, nil
}

func noCall(call int64) error {
	return &history.InputError{What: fmt.Sprintf("call number %d", call), Problem: "does not exist; calls count from 1, as histories show them"}
}
