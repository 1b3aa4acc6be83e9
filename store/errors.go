package store

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/see"
)

// Errors about one turn, run or message; the database works.
var (
	// ErrFenced refuses a write under an outdated epoch: the partition has another owner, or
	// none.
	ErrFenced = errors.New("the partition has another owner")
	// ErrStale refuses a turn whose number belongs to another turn.
	ErrStale = errors.New("another turn of this number exists")
	// ErrClaimed refuses a turn that withdraws a task which a worker has claimed, or gives up a
	// task which its worker has settled. The inbox has the message about it.
	ErrClaimed = errors.New("a worker has claimed or settled the task; read the inbox, which says so, and decide again")
	// ErrNotFound reports that no such run exists.
	ErrNotFound = errors.New("no such run")
	// ErrClosed reports that the run has ended.
	ErrClosed = errors.New("the run has ended")
	// ErrFull reports that the run has as many unread messages as it may have.
	ErrFull = errors.New("the run has as many unread messages as it may have")
	// ErrReplaced reports that a node is not a member: it left, another node took its name, or
	// another process uses its ID.
	ErrReplaced = errors.New("another process has taken this node's place, or it has left")
	// ErrForeign reports that the database does not belong to perdure.
	ErrForeign = errors.New("the database is not a perdure database")
	// ErrNewer reports that a later version wrote the database.
	ErrNewer = errors.New("the database is newer than this program")
	// ErrHookLeft is returned by a Hook that was abandoned: something that it started may still
	// use its transaction.
	ErrHookLeft = errors.New("the step transaction did not end in time")
	// ErrTx reports that a value is not a transaction in this database that can be used for
	// writing.
	ErrTx = errors.New("this is not a transaction of the engine's database " + see.Transaction)
	// ErrStoreClosed reports that the store was used after Close.
	ErrStoreClosed = errors.New("the store is closed")
)

// ConflictError refuses a run whose workflow ID is in use.
type ConflictError struct {
	Existing Run // the latest run of the workflow ID
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("workflow ID %q is taken by run %s (%s)", e.Existing.WorkflowID, e.Existing.ID, e.Existing.Status)
}

// InUseError reports that another engine serves a database that only one engine can serve.
type InUseError struct {
	Location string
	Holder   string // the other engine, as far as known: host, process, start time
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("%s is served by another engine (%s); stop that one, or use the database without starting an engine %s", e.Location, e.Holder, see.SQLite)
}

// HookError wraps the error of a turn's hook.
type HookError struct{ Err error }

func (e *HookError) Error() string { return "in the step transaction: " + e.Err.Error() }
func (e *HookError) Unwrap() error { return e.Err }

// UnavailableError reports that the database could not process a call now.
type UnavailableError struct {
	Op  string // the method
	Err error  `json:"-"` // JSON could not decode it

	// Undone reports that the call wrote nothing. Otherwise that is unknown, because the reply
	// was lost.
	Undone bool

	// Refused reports that the database works and refused a statement of the store: a right, a
	// table or a setting that the statement needs is missing, or the driver could not encode
	// what it was given. Waiting helps only once that is mended.
	Refused bool

	// Gone reports that what the store has open is no longer the database, so that no call of
	// it works again: the process has to be restarted.
	Gone bool
}

func (e *UnavailableError) Error() string {
	what := "the database is not available: "
	if e.Refused {
		what = "the database refused a statement of perdure: "
	}
	return what + e.Op + ": " + e.Err.Error()
}
func (e *UnavailableError) Unwrap() error { return e.Err }

// Unavailable reports whether err is transient: the same call may work later.
func Unavailable(err error) bool {
	if err == nil {
		return false
	}
	var u *UnavailableError
	return errors.As(err, &u)
}

// Refused reports whether err means that the database works and refused a statement of the
// store. See UnavailableError.
func Refused(err error) bool {
	var u *UnavailableError
	return errors.As(err, &u) && u.Refused
}

// Undone reports whether err means that the database did not answer and wrote nothing.
func Undone(err error) bool {
	var u *UnavailableError
	return errors.As(err, &u) && u.Undone
}
