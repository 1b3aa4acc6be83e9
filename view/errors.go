package view

import (
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view/bounds"
)

// The errors can be returned by activities that use an engine, and reach workflows as
// themselves.
func init() {
	retry.RegisterErrorType[*IDInUseError]("perdure.IDInUseError")
	retry.RegisterErrorType[*RefusedError]("perdure.RefusedError")
	retry.RegisterErrorType[*ChangedError]("perdure.ChangedError")
}

// InputError means that an argument, such as an ID or a name, is invalid.
type InputError = bounds.InputError

// LimitError means that a run has reached a limit of its engine: see perdure.MaxHistory,
// perdure.MaxPendingCalls and perdure.MaxSignalBacklog.
type LimitError = bounds.LimitError

// IDInUseError means that a workflow ID belongs to a run of another workflow or with
// another input.
type IDInUseError struct {
	WorkflowID string
	Run        string // ID of the run that has it
	Status     string // of that run
	Difference string // what differs
}

func (e *IDInUseError) Error() string {
	return fmt.Sprintf("workflow ID %q belongs to run %s (%s), and %s; use another ID, or the same arguments to attach to that run", e.WorkflowID, e.Run, e.Status, e.Difference)
}

// ChangedError means that what was to be changed is not as it was when the change was made up:
// somebody else has changed it. Nothing was done.
type ChangedError struct {
	Kind, Name string    // "schedule", and which
	At         time.Time // of the other change
	By, Why    string    // empty if that is not known, or no reason was given
}

func (e *ChangedError) Error() string {
	by := e.By
	if e.Why != "" {
		by += ": " + e.Why
	}
	if by != "" {
		by = " (" + by + ")"
	}
	return fmt.Sprintf("%s %q was changed meanwhile, %s%s, and that is not overwritten; read it again, and change it as it is now", e.Kind, e.Name, e.At.UTC().Format(time.RFC3339), by)
}

// RefusedError means that a call or a run is not in a state for an operation, or does not
// accept its arguments.
type RefusedError struct{ Record ControlRecord }

func (e *RefusedError) Error() string {
	r := &e.Record
	ofRun := []string{"cancel", "terminate", "signal", "pause-run", "resume-run", "reset", "move-runs", "fork"}
	if r.Call == 0 || slices.Contains(ofRun, r.Operation) { // the run refuses it, whatever it is for
		return fmt.Sprintf("%s is refused: %s", r.Operation, r.Note)
	}
	return fmt.Sprintf("%s of call %d (%s) is refused: %s", r.Operation, r.Call, r.Name, r.Note)
}
