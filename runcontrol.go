package perdure

import (
	"context"
	"errors"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
)

// RunOperation is something a person can do to a run as a whole. Make one with
// CancelRun, TerminateRun, SignalRun, PauseRun, ResumeRun or ResetRun.
type RunOperation struct {
	control core.Control
	err     error
}

// CancelRun asks a run to end, as Engine.Cancel does.
func CancelRun() RunOperation {
	return RunOperation{control: core.Control{Operation: core.CancelTheRun}}
}

// TerminateRun ends a run at once, as Engine.Terminate does.
func TerminateRun() RunOperation {
	return RunOperation{control: core.Control{Operation: core.TerminateTheRun}}
}

// SignalRun sends a signal, whose ID is that of the request.
func SignalRun(name string, value any) RunOperation {
	payload, err := history.Encode(value)
	return RunOperation{core.Control{Operation: core.SignalTheRun, Signal: name, Value: payload}, err}
}

// PauseRun keeps a run where it is until it is resumed: its code does not go on and
// no attempt starts. What happens meanwhile is recorded and not lost: signals come,
// timers fire, attempts that were running end; the code sees all of it when it goes
// on. A backoff that ends meanwhile is over when the run is resumed, and the time in
// which a call may wait for a slot begins anew. Calls can be skipped or failed, and
// the run canceled and terminated; the code learns of a cancellation when it goes on.
// A pause outlives the process and sticks to the chain. Its status is paused; one
// that has no code besides keeps the status that says so.
func PauseRun() RunOperation { return RunOperation{control: core.Control{Operation: core.PauseTheRun}} }

// ResumeRun lets a paused run go on, and the calls that were paused with it. One that
// was paused by itself stays so.
func ResumeRun() RunOperation {
	return RunOperation{control: core.Control{Operation: core.ResumeTheRun}}
}

// request is an operation with its options.
func (op RunOperation) request(options []ControlOption) (controlSettings, error) {
	if op.control.Operation == "" {
		return controlSettings{}, errors.New("perdure: the operation is missing: make one with CancelRun, TerminateRun, SignalRun, PauseRun, ResumeRun or ResetRun")
	}
	return Operation(op).request(Calls{}, options)
}

// ControlRun carries an operation out on the latest run of a workflow ID, and returns
// what came of it when that is durable: applied, or unchanged if the run was that way
// already. With DryRun it only looks whether there is one.
//
// The error is ErrClosed if the run has ended, unless it is reset; a *RefusedError if it is
// not in a state for the operation; and ErrNoAnswer with the error of ctx if
// nobody serves the run in time: the request stands then, and the same RequestID asks
// for its answer.
func (e *Engine) ControlRun(ctx context.Context, id string, op RunOperation, options ...ControlOption) (ControlRecord, error) {
	s, err := op.request(options)
	if err != nil {
		return ControlRecord{}, err
	}
	records, err := e.control(ctx, id, s)
	if err != nil {
		return ControlRecord{}, err
	}
	return records[0], nil
}

// ControlRuns is ControlRun for all runs that pass the filter: for open ones, if it
// names no status. It works in small batches. If it ends with an error, the result
// says how far it came, and the same RequestID does the rest.
func (e *Engine) ControlRuns(ctx context.Context, runs Filter, op RunOperation, options ...ControlOption) (BulkResult, error) {
	s, err := op.request(options)
	if err != nil {
		return BulkResult{}, err
	}
	return e.controlAll(ctx, runs, s)
}

// onlyBy refuses options that mean nothing to a request that nobody answers.
func onlyBy(options []ControlOption) (by string, err error) {
	var s controlSettings
	for _, o := range options {
		o(&s)
	}
	if s.ID != "" || s.Reason != "" || s.dry {
		return "", errors.New("of the options only By has a meaning here; use ControlRun for the others")
	}
	return s.Control.By, nil
}
