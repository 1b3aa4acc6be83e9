package perdure

import (
	"fmt"
	"strings"

	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

// RunError is the error of a run that did not complete. It tells a canceled run from a
// canceled wait: errors.Is finds context.Canceled in the errors of both. In the error of
// a run that timed out errors.Is finds retry.ErrTimeout, and errors.As a
// *retry.TimeoutError, whose Kind tells the timeout of the run from that of its chain.
type RunError struct {
	WorkflowID string
	RunID      string
	Status     string // failed, canceled, terminated or timed-out
	Reason     string // given with the termination
	Err        error  `json:"-"` // of the workflow's code; nil if the run was terminated
}

// The errors of this package can be returned by activities that use an engine, and
// reach workflows as themselves.
func init() {
	retry.RegisterErrorType[*RunError]("perdure.RunError")
	retry.RegisterErrorType[*store.InUseError]("perdure.InUseError")
	retry.RegisterErrorType[*store.UnavailableError]("perdure.UnavailableError")
	retry.RegisterError("perdure.ErrNotPending", ErrNotPending)
	retry.RegisterError("perdure.ErrNoAnswer", ErrNoAnswer)
	retry.RegisterError("perdure.ErrNotFound", ErrNotFound)
	retry.RegisterError("perdure.ErrClosed", ErrClosed)
	retry.RegisterError("perdure.ErrStopped", ErrStopped)
	retry.RegisterError("perdure.ErrStarted", ErrStarted)
	retry.RegisterError("perdure.ErrForeign", ErrForeign)
	retry.RegisterError("perdure.ErrNewer", ErrNewer)
	retry.RegisterError("perdure.ErrOlder", ErrOlder)
	retry.RegisterErrorType[*store.SchemaError]("perdure.SchemaError")
	retry.RegisterError("perdure.ErrTx", ErrTx)
	retry.RegisterError("perdure.ErrNoHandler", ErrNoHandler)
	retry.RegisterError("perdure.ErrNoCode", ErrNoCode)
	retry.RegisterError("perdure.ErrParked", ErrParked)
	retry.RegisterError("perdure.ErrUnanswered", ErrUnanswered)
	retry.RegisterError("perdure.ErrUpdateUnfinished", ErrUpdateUnfinished)
}

func (e *RunError) Error() string {
	text := fmt.Sprintf("workflow %q %s", e.WorkflowID, strings.ReplaceAll(e.Status, "-", " "))
	if e.Reason != "" {
		text += " (" + e.Reason + ")"
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the error of the workflow's code.
func (e *RunError) Unwrap() error { return e.Err }

// Errors that callers may want to tell apart. There are also the types *RunError,
// *view.IDInUseError, *view.InputError, *view.LimitError, *view.RefusedError,
// *store.InUseError, *store.SchemaError and *store.UnavailableError.
var (
	// ErrNotFound means that there is no such run, gate or schedule.
	ErrNotFound = store.ErrNotFound
	// ErrClosed means that the run is closed: no code would read the message.
	ErrClosed = store.ErrClosed
	// ErrNotPending means that no open call matches the selection.
	ErrNotPending = request.ErrNotPending
	// ErrNoAnswer means that a request is durable but was not carried out before the
	// caller's context ended. A node carries it out when it serves the run.
	ErrNoAnswer = request.ErrNoAnswer
	// ErrUpdateUnfinished means that an update was accepted, and that its run closed, or
	// was continued as new or retried, before the handler returned. How far the handler
	// came is unknown, and it does not continue: a call with the same key always returns
	// this error.
	ErrUpdateUnfinished = request.ErrUpdateUnfinished

	// ErrUnanswered means that no engine answered a query in time: no engine serves the
	// run, or the one that does is very busy.
	ErrUnanswered = request.ErrUnanswered
	// ErrNoHandler means that the run has no handler for the query or the update: its
	// code has none of that name, or has not yet reached the point where it sets one.
	ErrNoHandler = workflow.ErrNoHandler
	// ErrNoCode means that the engine asked lacks the workflow's code.
	ErrNoCode = engine.ErrNoCode
	// ErrParked means that the run is parked and cannot answer until its code fits its
	// history.
	ErrParked = engine.ErrParked

	// ErrInvalidToken means that this database did not sign the token.
	ErrInvalidToken = request.ErrInvalidToken
	// ErrStaleToken means that the attempt of the token has ended.
	ErrStaleToken = request.ErrStaleToken

	// ErrStopped means that the engine was stopped.
	ErrStopped = request.ErrStopped
	// ErrStarted means that Start was called twice.
	ErrStarted = engine.ErrStarted
	// ErrForeign means that the file is not a perdure database.
	ErrForeign = store.ErrForeign
	// ErrNewer means that the database was written by a later version.
	ErrNewer = store.ErrNewer
	// ErrOlder means that the schema of the database is missing or of an earlier version,
	// and NoMigrate forbids changing it.
	ErrOlder = store.ErrOlder
	// ErrTx means that the value given as a transaction is not one of the engine's
	// database, or that this store cannot share transactions.
	ErrTx = store.ErrTx
)
