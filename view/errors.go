package view

import (
	"fmt"

	"github.com/perdure/perdure/retry"
)

// The errors can be returned by activities that use an engine, and reach workflows as
// themselves.
func init() {
	retry.RegisterErrorType[*InputError]("perdure.InputError")
	retry.RegisterErrorType[*LimitError]("perdure.LimitError")
	retry.RegisterErrorType[*IDInUseError]("perdure.IDInUseError")
	retry.RegisterErrorType[*RefusedError]("perdure.RefusedError")
}

// InputError means that an argument, such as an ID or a name, cannot be accepted.
type InputError struct {
	What    string // "workflow ID", "signal name" and so on
	Problem string // "is empty" and so on
}

func (e *InputError) Error() string { return "the " + e.What + " " + e.Problem }

// LimitError means that a run has come to a limit of its engine: see perdure.MaxHistory,
// perdure.MaxPendingCalls and perdure.MaxSignalBacklog.
type LimitError struct {
	What  string // "events of history", "pending calls" or "unread signals"
	Limit int    // 0 if it is not known where the error was made
	Hint  string // what to do about it
}

func (e *LimitError) Error() string {
	if e.Limit == 0 {
		return fmt.Sprintf("the run has as many %s as it may: %s", e.What, e.Hint)
	}
	return fmt.Sprintf("the run has %d %s, which is the limit: %s", e.Limit, e.What, e.Hint)
}

// IDInUseError means that a workflow ID belongs to a run of another workflow, or with
// another input, than was to be started.
type IDInUseError struct {
	WorkflowID string
	Run        string // ID of the run that has it
	Status     string // of that run
	Difference string // what differs
}

func (e *IDInUseError) Error() string {
	return fmt.Sprintf("workflow ID %q belongs to run %s (%s), and %s; use another ID, or the same arguments to attach to that run", e.WorkflowID, e.Run, e.Status, e.Difference)
}

// RefusedError means that a call, or a run, is not in a state for an operation, or does
// not accept what came with it.
type RefusedError struct{ Record ControlRecord }

func (e *RefusedError) Error() string {
	switch r := &e.Record; r.Operation {
	case "cancel", "terminate", "signal", "pause-run", "resume-run", "reset", "fork":
		return fmt.Sprintf("%s is refused: %s", r.Operation, r.Note)
	default:
		return fmt.Sprintf("%s of call %d (%s) is refused: %s", r.Operation, r.Call, r.Name, r.Note)
	}
}
