package ops

import (
	"context"
	"errors"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/view"
)

// Search is perdure.Engine.List in bounded time, for interactive use. No index serves the
// name of the workflow, the beginning of the ID or the type of an error: Search looks at
// about the newest 100,000 candidates, and sets Searched if it stopped there, even if it
// found none.
func Search(ctx context.Context, e *perdure.Engine, filter view.Filter) (view.RunPage, error) {
	return inside(e).Search(ctx, filter)
}

// RunOperation is an operation on a run as a whole. CancelRun, TerminateRun, SignalRun,
// PauseRun, ResumeRun, ResetRun and MoveRun make one; the zero value is invalid.
type RunOperation struct {
	control core.Control
	err     error
}

// CancelRun asks a run to end, as perdure.Handle.Cancel does.
func CancelRun() RunOperation {
	return RunOperation{control: core.Control{Operation: core.CancelTheRun}}
}

// TerminateRun ends a run without running its code again.
func TerminateRun() RunOperation {
	return RunOperation{control: core.Control{Operation: core.TerminateTheRun}}
}

// SignalRun sends a signal whose idempotency key is the ID of the request.
func SignalRun(name string, value any) RunOperation {
	payload, err := history.EncodeArgument("value", value)
	return RunOperation{core.Control{Operation: core.SignalTheRun, Signal: name, Value: payload}, err}
}

// PauseRun pauses a run until it is resumed: its code does not continue and no attempt starts.
// Events are still recorded: signals arrive, timers fire, running attempts end. The code sees
// all of them when it continues. Backoffs continue during the pause; QueueTimeout starts again
// when the run is resumed. Calls can be skipped or failed, and the run canceled and terminated;
// the code learns of a cancellation when it continues. A pause outlives the process and applies
// to the whole chain. The status of the run is view.StatusPaused, unless it is
// view.StatusWaitingForCode.
func PauseRun() RunOperation { return RunOperation{control: core.Control{Operation: core.PauseTheRun}} }

// ResumeRun lets a paused run and its calls continue. A call that was paused by itself
// stays paused. A run that is parked because its code ended its process is tried again.
func ResumeRun() RunOperation {
	return RunOperation{control: core.Control{Operation: core.ResumeTheRun}}
}

// ResetRun sets a run back to a call, numbered from 1 as in histories: a new run of the
// same chain continues as if the code were about to make that call. Earlier calls keep
// their results and are not made again; the call and all later ones are made again, by
// the code as it is now and under other idempotency keys (activity.IdempotencyKey): what
// they have done is done twice; see ResetRunKeepingKeys. A dry run names those that have completed. An open run is closed as continued: its attempts are given up,
// and its children are treated as at any end. A closed run can be reset if it is the
// latest of its workflow ID; it keeps its status and result.
//
// Signals that came after that point follow in their order, and so do results of earlier
// calls. An earlier activity that is in flight begins again; a timer keeps its time.
// Later requests, for instance to cancel or pause the run, do not follow, nor do updates
// that were accepted later: sent again, they run again. The run timeout, the chain
// timeout and the attempts of the retry policy start again.
//
// It is refused if the run has not made such a call, and if an earlier child is still
// awaited, because no run would receive its result.
//
// In the kept part workflow.GetInfo returns the run ID, attempt and times of the old run.
// If the code makes other calls there than are on record, the run is parked with the
// difference, as after any change of code.
func ResetRun(call int64) RunOperation {
	return RunOperation{control: core.Control{Operation: core.ResetTheRun, Call: call}}
}

// ResetRunKeepingKeys is ResetRun, but the calls of activities and steps that are made again
// keep the idempotency keys that they had, at most 1,000 calls. What is behind them, if it knows
// the keys still, does not do again what it has done, and answers as before. A call of another
// activity than the one that had its number gets a key of its own.
func ResetRunKeepingKeys(call int64) RunOperation {
	return RunOperation{control: core.Control{Operation: core.ResetTheRun, Call: call, KeepKeys: true}}
}

// MoveRun moves a workflow.Pinned run from one build to another; an empty from means any
// build. Running attempts end where they are. The run continues at a node of the build
// to, if its code there fits the history; otherwise it is parked there, and moving it
// back undoes that. If there is no such node, the run is held until there is one. The
// next run of its chain may begin on any build.
//
// It is refused for a run that is not pinned, or is pinned to another build than from.
// The Note of a dry run says what would happen to the run. Only a program of the new
// build can tell whether its code fits the history: see CheckCode.
func MoveRun(from, to string) RunOperation {
	return RunOperation{control: core.Control{Operation: core.MoveTheRun, From: from, To: to}}
}

// ControlRun carries out an operation on the latest run of a workflow ID. It waits until the
// outcome is durable or ctx ends, and returns it: view.Applied, or view.Unchanged if the run
// was already in that state. With DryRun it only checks that there is a run.
//
// The error is perdure.ErrClosed if the run is closed and the operation is not ResetRun;
// a *view.RefusedError if the run is not in a state for the operation; and
// perdure.ErrNoAnswer with the error of ctx if no node serves the run in time: the
// request is still carried out later, and a call with the same RequestID returns its
// outcome.
func ControlRun(ctx context.Context, e *perdure.Engine, id string, op RunOperation, options ...ControlOption) (view.ControlRecord, error) {
	s := unselected(options)
	in, err := op.with(&s)
	if err != nil {
		return view.ControlRecord{}, err
	}
	records, err := control(ctx, e, id, in, s.dry)
	if err != nil {
		return view.ControlRecord{}, err
	}
	return records[0], nil
}

// ControlRuns is ControlRun for all runs that match the filter; if the filter names no
// status, for open ones. It works in small batches. If it returns an error, the result
// says how far it came, and a call with the same RequestID does the rest. Selected works
// as for ControlAll.
func ControlRuns(ctx context.Context, e *perdure.Engine, runs view.Filter, op RunOperation, options ...ControlOption) (view.BulkResult, error) {
	s := settingsOf(options)
	in, err := op.with(&s)
	if err != nil {
		return view.BulkResult{}, err
	}
	return controlAll(ctx, e, runs, in, &s)
}

// with is the operation with what the settings say.
func (op RunOperation) with(s *settings) (core.Control, error) {
	if op.control.Operation == "" {
		return core.Control{}, errors.New("perdure: the operation is missing: make one with CancelRun, TerminateRun, SignalRun, PauseRun, ResumeRun, ResetRun or MoveRun")
	}
	return Operation(op).on(view.CallFilter{}, s)
}

// Cancel is perdure.Handle.Cancel with options that record who asks and why. Unlike
// ControlRun with CancelRun, it returns when the request is durable and does not wait for
// the run.
func Cancel(ctx context.Context, e *perdure.Engine, id string, options ...Option) error {
	s := settingsOf(options)
	return failed(inside(e).Cancel(ctx, id, "", s.whom()), "cancel")
}

// Terminate is perdure.Handle.Terminate with options that record who asks and why. It
// returns when the request is durable and does not wait for the run.
func Terminate(ctx context.Context, e *perdure.Engine, id string, options ...Option) error {
	s := settingsOf(options)
	return failed(inside(e).Terminate(ctx, id, "", s.whom()), "terminate")
}
