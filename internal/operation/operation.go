package operation

import (
	"cmp"
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// Kind is a row of the table of operations.
type Kind struct {
	Name    string // as the audit has it
	Did     string // what was done, as in "7 retried"
	OnCalls bool   // it is about calls, not about runs as a whole
	Named   bool   // of one run, the call or the activity must be named

	// Plain is the operation if it needs nothing more than what it is done to.
	Plain Operation
}

// The table.
var (
	RetryNow   = Kind{Name: "retry-now", Did: "retried", OnCalls: true, Plain: OnCalls(ops.RetryNow())}
	Pause      = Kind{Name: "pause", Did: "paused", OnCalls: true, Plain: OnCalls(ops.Pause())}
	Resume     = Kind{Name: "resume", Did: "resumed", OnCalls: true, Plain: OnCalls(ops.Resume())}
	EditPolicy = Kind{Name: "edit-policy", Did: "given the policy", OnCalls: true, Named: true}
	Skip       = Kind{Name: "skip", Did: "skipped", OnCalls: true, Named: true}
	Fail       = Kind{Name: "fail", Did: "failed", OnCalls: true, Named: true}
	Ask        = Kind{Name: "ask", Did: "asked about", OnCalls: true, Plain: OnCalls(ops.Ask())}
	PauseRun   = Kind{Name: "pause-run", Did: "paused", Plain: OnRuns(ops.PauseRun())}
	ResumeRun  = Kind{Name: "resume-run", Did: "resumed", Plain: OnRuns(ops.ResumeRun())}
	Reset      = Kind{Name: "reset", Did: "reset"}
	MoveRuns   = Kind{Name: "move-runs", Did: "moved"}
	Cancel     = Kind{Name: "cancel", Did: "canceled", Plain: OnRuns(ops.CancelRun())}
	Terminate  = Kind{Name: "terminate", Did: "terminated", Plain: OnRuns(ops.TerminateRun())}
	Signal     = Kind{Name: "signal", Did: "signaled"}
)

// Operation is an operation with all that it needs to know. Its zero value does nothing
// useful.
type Operation struct {
	calls *ops.Operation // nil: it is about runs
	runs  ops.RunOperation
}

// OnCalls makes an Operation on calls.
func OnCalls(op ops.Operation) Operation { return Operation{calls: &op} }

// OnRuns makes an Operation on runs as a whole.
func OnRuns(op ops.RunOperation) Operation { return Operation{runs: op} }

// One carries it out on the latest run of a workflow ID, or on those of its calls that a
// filter selects.
func (o Operation) One(ctx context.Context, e *perdure.Engine, id string, calls view.CallFilter, options ...ops.ControlOption) ([]view.ControlRecord, error) {
	if o.calls != nil {
		return ops.Control(ctx, e, id, calls, *o.calls, options...)
	}
	record, err := ops.ControlRun(ctx, e, id, o.runs, options...)
	if err != nil {
		return nil, err
	}
	return []view.ControlRecord{record}, nil
}

// All carries it out on all runs that a filter selects, or on those of their calls that
// another one selects.
func (o Operation) All(ctx context.Context, e *perdure.Engine, runs view.Filter, calls view.CallFilter, options ...ops.ControlOption) (view.BulkResult, error) {
	if o.calls != nil {
		return ops.ControlAll(ctx, e, runs, calls, *o.calls, options...)
	}
	return ops.ControlRuns(ctx, e, runs, o.runs, options...)
}

// Error is an error that a person or another program reports. Code and policies recognize it
// by its type.
type Error struct{ kind, message string }

// NewError returns the error of a type. An empty type is that of errors without one.
func NewError(kind, message string) *Error { return &Error{cmp.Or(kind, retry.TypeError), message} }

func (e *Error) Error() string { return e.message }

// ErrorType returns the type.
func (e *Error) ErrorType() string { return e.kind }
