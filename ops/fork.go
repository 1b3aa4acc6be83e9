package ops

import (
	"context"
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
)

// ForkSpec says which run to fork, where and how. WorkflowID, NewID and Call are needed.
type ForkSpec struct {
	WorkflowID string // of the run to fork, open or closed
	RunID      string // one run of the workflow ID; empty for the latest
	NewID      string // workflow ID of the new run
	Call       int64  // the first call that the new run makes again, from 1 as histories show it

	// Input is another input for the new run; nil for that of the other one. If its code
	// does something else with it in the part that is kept, the run is parked with the
	// difference.
	Input any
	// CallInput is another input for the call than its code asks for; nil for none. The
	// call must be that of an activity or a child.
	CallInput any
}

// Forked is a run that was forked.
type Forked struct {
	WorkflowID string
	RunID      string
	Attached   bool // it was there already, from the same request
}

// Fork starts a run under a new workflow ID that continues from a call of another run, as
// ResetRun says. The other run is not touched. The new one is the first of a chain of its
// own, with the memo, attributes, retry policy and timeouts of the other; it has no parent.
//
// Asked for again, Fork returns the same run; a new ID that belongs to any other run is a
// *view.IDInUseError.
func Fork(ctx context.Context, e *perdure.Engine, spec ForkSpec, options ...Option) (Forked, error) {
	req, err := spec.request(settingsOf(options))
	if err != nil {
		return Forked{}, err
	}
	run, attached, err := inside(e).ForkRun(ctx, req)
	return Forked{spec.NewID, run, attached}, failed(err, "fork %q", spec.WorkflowID)
}

// PreviewFork says in a sentence what Fork would keep, and does nothing.
func PreviewFork(ctx context.Context, e *perdure.Engine, spec ForkSpec) (string, error) {
	req, err := spec.request(settings{})
	if err != nil {
		return "", err
	}
	text, err := inside(e).PreviewFork(ctx, req)
	return text, failed(err, "fork %q", spec.WorkflowID)
}

func (f *ForkSpec) request(s settings) (request.Fork, error) {
	req := request.Fork{WorkflowID: f.WorkflowID, Run: f.RunID, NewID: f.NewID, Call: f.Call, By: s.whom()}
	for _, input := range []struct {
		what string
		v    any
		to   **history.Payload
	}{{"input", f.Input, &req.Input}, {"input of the call", f.CallInput, &req.CallInput}} {
		if input.v == nil {
			continue
		}
		payload, err := history.Encode(input.v)
		if err != nil {
			return req, fmt.Errorf("perdure: fork %q: %s: %w", f.WorkflowID, input.what, err)
		}
		*input.to = &payload
	}
	return req, nil
}
