package ops

import (
	"context"
	"errors"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/view"
)

// Search is perdure.Engine.List in a bounded time, for those who wait in front of a screen. By
// the name of the workflow, the beginning of the ID or the type of an error runs are found by
// looking at each: Search looks at about the newest 100,000 that the page may have, and says
// with Searched that it has stopped there, even if it has found none.
func Search(ctx context.Context, e *perdure.Engine, filter view.Filter) (view.RunPage, error) {
	return inside(e).Search(ctx, filter)
}

// RunOperation is an operation on a run as a whole. CancelRun, TerminateRun, SignalRun,
// PauseRun, ResumeRun, ResetRun and MoveRun make one; the zero value is refused.
type RunOperation struct {
	control core.Control
	err     error
}

// CancelRun asks a run to end, as perdure.Handle.Cancel does.
func CancelRun() RunOperation {
	return RunOperation{control: core.Control{Operation: core.CancelTheRun}}
}

// TerminateRun ends a run without asking its code.
func TerminateRun() RunOperation {
	return RunOperation{control: core.Control{Operation: core.TerminateTheRun}}
}

// SignalRun sends a signal, whose key is the ID of the request.
func SignalRun(name string, value any) RunOperation {
	payload, err := history.Encode(value)
	return RunOperation{core.Control{Operation: core.SignalTheRun, Signal: name, Value: payload}, err}
}

// PauseRun keeps a run where it is until it is resumed: its code does not continue and no
// attempt starts. What happens meanwhile is recorded and not lost: signals come, timers
// fire, attempts that were running end. The code sees all of it when it continues. A
// backoff that ends meanwhile has ended when the run is resumed, and the time in which a
// call may wait for a slot begins again. Calls can be skipped or failed, and the run
// canceled and terminated; the code learns of a cancellation when it continues. A pause
// outlives the process and holds for the chain. The status of the run is view.StatusPaused;
// a run that also has no code keeps the status that says so.
func PauseRun() RunOperation { return RunOperation{control: core.Control{Operation: core.PauseTheRun}} }

// ResumeRun lets a paused run continue, and the calls that were paused with it. A call
// that was paused by itself stays so.
func ResumeRun() RunOperation {
	return RunOperation{control: core.Control{Operation: core.ResumeTheRun}}
}

// ResetRun sends a run back to a call, counted from 1 as histories show it: a next run of
// the same chain continues as if the run had just come to where its code makes that call.
// Results of earlier calls are kept, and nothing of them is done again; the call and all
// later ones are made again, by the code as it is now. A run that is open is closed as
// continued, with its attempts given up and its children treated as at any end. A closed
// run can be reset if it is the latest of its workflow ID; it keeps its status and result.
//
// Signals that came since then follow in their order, and so do results of earlier calls.
// An earlier activity that is in flight begins again, a timer keeps its time. Requests made
// to the run since then, to cancel or pause it for instance, do not follow, nor do updates
// that were accepted since then: sent again, they are made again. Its run timeout, that of
// its chain and the attempts of its retry policy begin again.
//
// It is refused if the run has not made such a call, and if a child that was started
// earlier is still awaited: no run would hear of its end.
//
// In the part that is kept, code learns of the run that it was: workflow.GetInfo has the
// run ID, attempt and times of then. Code that does something else there than is on record
// is parked with the difference, as after any change of code.
func ResetRun(call int64) RunOperation {
	return RunOperation{control: core.Control{Operation: core.ResetTheRun, Call: call}}
}

// MoveRun lets a run that is workflow.Pinned stay on another build from now on: one that
// stays on the build from, or on any if from is empty. What runs of it ends where it is. It
// continues at a node of the build to, if its code there fits the history of the run; else it
// is parked there, and moving it back undoes that. If no such node lives, the run is held
// until one does. The next run of its chain may begin on any build.
//
// It is refused for a run that stays on no build, or on another one than from. The Note of a
// record of a dry run says what would become of the run. What its history would show is known
// to a program of that build: see CheckCode.
func MoveRun(from, to string) RunOperation {
	return RunOperation{control: core.Control{Operation: core.MoveTheRun, From: from, To: to}}
}

// ControlRun carries an operation out on the latest run of a workflow ID, and returns its
// outcome when that is durable: view.Applied, or view.Unchanged if the run was that way
// already. With DryRun it only looks whether there is a run.
//
// The error is perdure.ErrClosed if the run is closed, unless it is reset; a
// *view.RefusedError if it is not in a state for the operation; and perdure.ErrNoAnswer
// with the error of ctx if no node serves the run in time: the request stands then, and
// the same RequestID asks for its answer.
func ControlRun(ctx context.Context, e *perdure.Engine, id string, op RunOperation, options ...ControlOption) (view.ControlRecord, error) {
	s := settingsOf(options)
	s.unselected()
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

// ControlRuns is ControlRun for all runs that pass the filter: for open ones, if it names
// no status. It works in small batches. If it ends with an error, the result says how far
// it came, and the same RequestID does the rest. Selected is as for ControlAll.
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

// Cancel is perdure.Handle.Cancel with who asks and why. Unlike ControlRun with CancelRun,
// it returns when the request is durable and does not wait for the run.
func Cancel(ctx context.Context, e *perdure.Engine, id string, options ...Option) error {
	s := settingsOf(options)
	return failed(inside(e).Cancel(ctx, id, "", s.whom()), "cancel")
}

// Terminate is perdure.Handle.Terminate with who asks and why. It returns when the request
// is durable and does not wait for the run.
func Terminate(ctx context.Context, e *perdure.Engine, id string, options ...Option) error {
	s := settingsOf(options)
	return failed(inside(e).Terminate(ctx, id, "", s.whom()), "terminate")
}
