package perdure

import (
	"fmt"
	"strings"

	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
)

// RunError is the end of a run that did not complete. It tells a run that was
// canceled from a wait that was: for both, errors.Is finds context.Canceled. In one
// that timed out errors.Is finds retry.ErrTimeout, and errors.As a
// *retry.TimeoutError that says whether the time of the run or of its chain was up.
type RunError struct {
	WorkflowID string
	RunID      string
	Status     string // failed, canceled, terminated or timed-out
	Reason     string // given by whoever terminated the run
	Err        error  `json:"-"` // of the workflow's code; nil if the run was terminated
}

// The errors of this package can be returned by activities that use an engine, and
// reach workflows as themselves.
func init() {
	retry.RegisterErrorType[*RunError]("perdure.RunError")
	retry.RegisterErrorType[*IDInUseError]("perdure.IDInUseError")
	retry.RegisterErrorType[*InUseError]("perdure.InUseError")
	retry.RegisterErrorType[*UnavailableError]("perdure.UnavailableError")
	retry.RegisterErrorType[*RefusedError]("perdure.RefusedError")
	retry.RegisterError("perdure.ErrNotPending", ErrNotPending)
	retry.RegisterError("perdure.ErrNoAnswer", ErrNoAnswer)
	retry.RegisterError("perdure.ErrNotFound", ErrNotFound)
	retry.RegisterError("perdure.ErrClosed", ErrClosed)
	retry.RegisterError("perdure.ErrStopped", ErrStopped)
	retry.RegisterError("perdure.ErrStarted", ErrStarted)
	retry.RegisterError("perdure.ErrForeign", ErrForeign)
	retry.RegisterError("perdure.ErrNewer", ErrNewer)
	retry.RegisterError("perdure.ErrTx", ErrTx)
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

// Errors that callers may want to tell apart.
var (
	// ErrNotFound says that no run has the workflow ID.
	ErrNotFound = store.ErrNotFound
	// ErrClosed says that the run has ended: nobody would read the message.
	ErrClosed = store.ErrClosed
	// ErrInvalidToken says that the database has not signed a token.
	ErrInvalidToken = engine.ErrInvalidToken
	// ErrStaleToken says that nobody waits for the attempt of a token any more.
	ErrStaleToken = engine.ErrStaleToken
	// ErrStopped says that the engine was stopped.
	ErrStopped = engine.ErrStopped
	// ErrStarted says that Start was called twice.
	ErrStarted = engine.ErrStarted
	// ErrForeign says that the file is not a perdure database.
	ErrForeign = store.ErrForeign
	// ErrNewer says that the database was written by a later version.
	ErrNewer = store.ErrNewer
	// ErrTx says that what was given as a transaction is none in the engine's database,
	// or that this database has none to share.
	ErrTx = store.ErrTx
)

// IDInUseError says that a workflow ID belongs to a run of another workflow or
// with another input.
type IDInUseError = engine.IDInUseError

// InUseError says that another engine serves the database.
type InUseError = store.InUseError

// InputError says that an ID or a name cannot be accepted, and why.
type InputError = history.InputError

// LimitError says that a run has come to a limit of its engine: see MaxHistory,
// MaxPendingCalls and MaxSignalBacklog.
type LimitError = history.LimitError

// UnavailableError says that the database could not answer.
type UnavailableError = store.UnavailableError
