package ops

import (
	"context"
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
)

// ForkSpec says which run to fork, where and how. WorkflowID, NewID and Call are
// required.
type ForkSpec struct {
	WorkflowID string // of the run to fork, open or closed
	RunID      string // one run of the workflow ID; empty for the latest
	NewID      string // workflow ID of the new run
	Call       int64  // the first call that the new run makes again, from 1 as histories show it

	// Input is the input of the new run; nil keeps that of the forked one. If the code
	// then makes other calls in the kept part, the run is parked with the difference.
	Input any
	// CallInput replaces the input that the code passes to the call; nil keeps it. The
	// call must be that of an activity or a child.
	CallInput any

	// KeepKeys lets the calls that are made again keep their idempotency keys, as
	// ResetRunKeepingKeys does. The forked run may use them, too.
	KeepKeys bool
}

// Forked is the run that Fork started.
type Forked struct {
	WorkflowID string
	RunID      string
	Attached   bool // it was there already, from the same request
}

// Fork starts a run under a new workflow ID that continues from a call of another run, in
// the way that ResetRun describes. The other run is not changed. The new run begins a new
// chain, with the memo, attributes, retry policy and timeouts of the other; it has no
// parent.
//
// A repeated Fork returns the same run. If NewID belongs to any other run, the error is a
// *view.IDInUseError.
func Fork(ctx context.Context, e *perdure.Engine, spec ForkSpec, options ...Option) (Forked, error) {
	req, err := spec.request(settingsOf(options))
	if err != nil {
		return Forked{}, err
	}
	run, attached, err := inside(e).ForkRun(ctx, req)
	return Forked{spec.NewID, run, attached}, failed(err, "fork %q", spec.WorkflowID)
}

// PreviewFork returns a sentence that says what Fork would keep, and changes nothing.
func PreviewFork(ctx context.Context, e *perdure.Engine, spec ForkSpec) (string, error) {
	req, err := spec.request(settings{})
	if err != nil {
		return "", err
	}
	text, err := inside(e).PreviewFork(ctx, req)
	return text, failed(err, "fork %q", spec.WorkflowID)
}

func (f *ForkSpec) request(s settings) (request.Fork, error) {
	req := request.Fork{WorkflowID: f.WorkflowID, Run: f.RunID, NewID: f.NewID, Call: f.Call, KeepKeys: f.KeepKeys, By: s.whom()}
	for _, input := range []struct {
		what string
		v    any
		to   **history.Payload
	}{{"input", f.Input, &req.Input}, {"input of the call", f.CallInput, &req.CallInput}} {
		if input.v == nil {
			continue
		}
		payload, err := history.EncodeArgument(input.what, input.v)
		if err != nil {
			return req, fmt.Errorf("perdure: fork %q: %w", f.WorkflowID, err)
		}
		*input.to = &payload
	}
	return req, nil
}
