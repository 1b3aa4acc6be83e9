package perdure

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
)

// ResetRun sends a run back to a call, counted from 1 as histories show it: a next run
// of the same chain goes on as if the run had just come to where its code makes that
// call. What calls before it came to is kept, and nothing of them is done again; the
// call and all later ones are made anew, by the code as it is now. It works on a run that
// is open, which is closed as continued, with its attempts given up and its children
// treated as at any end, and on one that has ended, if it is the latest of its workflow ID;
// that one keeps its status and result.
//
// Signals that came since then follow in their order, and so do results of calls before
// it. An activity before it that is under way begins afresh, a timer keeps its time.
// What was asked of the run since then, to cancel or pause it for instance, does not follow,
// nor do updates that were accepted since then: asked for again, they are made anew.
// Its run timeout, that of its chain and the attempts of its retry policy begin anew.
//
// It is refused if the run has not made such a call, and if a child that was started before
// it is still waited for: nobody would hear of its end.
//
// In the part that is kept, code learns of the run that it was: workflow.GetInfo has the
// run ID, attempt and times of then. Code that does something else there than
// is on record is parked with the difference, as after any change of code.
func ResetRun(call int64) RunOperation {
	return RunOperation{control: core.Control{Operation: core.ResetTheRun, Call: call}}
}

// ForkOption is a setting of Fork.
type ForkOption func(*engine.ForkRequest)

// ForkOf names the run to fork, by its run ID: an earlier one of the chain, say. Without it
// that is the latest of the workflow ID.
func ForkOf(runID string) ForkOption { return func(r *engine.ForkRequest) { r.Run = runID } }

// ForkInput gives the new run another input. If its code does something else with it in the part
// that is kept, the run is parked with the difference.
func ForkInput(v any) ForkOption {
	return func(r *engine.ForkRequest) { r.Input = forkPayload(r, "input", v) }
}

// ForkCallInput gives the call from which the run goes on another input than its code asks
// for. It must be that of an activity or a child.
func ForkCallInput(v any) ForkOption {
	return func(r *engine.ForkRequest) { r.CallInput = forkPayload(r, "input of the call", v) }
}

func forkPayload(r *engine.ForkRequest, what string, v any) *history.Payload {
	payload, err := history.Encode(v)
	if err != nil && r.Fault == nil {
		r.Fault = fmt.Errorf("%s: %w", what, err)
	}
	return &payload
}

// ForkBy says who asks and why, for the audit.
func ForkBy(who, why string) ForkOption {
	return func(r *engine.ForkRequest) { r.By = request.By{Who: who, Why: why} }
}

// Fork starts a run under a new workflow ID that goes on from a call of another run, open or
// ended, as ResetRun says. That run is not touched. The new one is the first of a chain of its
// own, with the memo, attributes, retry policy and timeouts of the other; it has no parent.
//
// Asked for again it returns a handle to the same run; a new ID that belongs to any other run is
// an *IDInUseError.
func (e *Engine) Fork(ctx context.Context, id, newID string, call int64, options ...ForkOption) (Handle[json.RawMessage], error) {
	run, attached, err := e.inner.ForkRun(ctx, forkRequest(id, newID, call, options))
	if err != nil {
		return Handle[json.RawMessage]{}, fmt.Errorf("perdure: fork %q: %w", id, err)
	}
	return Handle[json.RawMessage]{engine: e, id: newID, run: run, attached: attached}, nil
}

// PreviewFork says in a sentence what Fork would keep, and does nothing.
func (e *Engine) PreviewFork(ctx context.Context, id, newID string, call int64, options ...ForkOption) (string, error) {
	text, err := e.inner.PreviewFork(ctx, forkRequest(id, newID, call, options))
	if err != nil {
		return "", fmt.Errorf("perdure: fork %q: %w", id, err)
	}
	return text, nil
}

func forkRequest(id, newID string, call int64, options []ForkOption) engine.ForkRequest {
	req := engine.ForkRequest{WorkflowID: id, NewID: newID, Call: call}
	for _, o := range options {
		o(&req)
	}
	return req
}
