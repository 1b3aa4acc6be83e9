package store

import (
	"errors"
	"fmt"
)

// Refusals that concern one turn, run or message, never the database.
var (
	// ErrFenced refuses a write under an epoch that is not the current one: the
	// partition has another owner, or none.
	ErrFenced = errors.New("the partition has another owner")
	// ErrStale refuses a turn whose number is taken by another one.
	ErrStale = errors.New("another turn of this number exists")
	// ErrClaimed refuses a turn that withdraws a task which a worker has claimed, or gives
	// one up which its worker has settled. The message that says so is in the inbox.
	ErrClaimed = errors.New("a worker has claimed or settled the task; read the inbox, which says so, and decide again")
	// ErrNotFound says that no such run exists.
	ErrNotFound = errors.New("no such run")
	// ErrClosed says that the run has ended.
	ErrClosed = errors.New("the run has ended")
	// ErrFull says that the run has as much to read as it may.
	ErrFull = errors.New("the run has as much to read as it may")
	// ErrReplaced says that a node is no member: it left, its name was taken over,
	// or another process uses its ID.
	ErrReplaced = errors.New("another process has taken this node's place, or it has left")
	// ErrForeign says that the database is not one of perdure's.
	ErrForeign = errors.New("the database is not a perdure database")
	// ErrNewer says that the database was written by a later version.
	ErrNewer = errors.New("the database is newer than this program")
	// ErrHookLeft is how a Hook says that it was left behind: something that it
	// began may still use its transaction.
	ErrHookLeft = errors.New("the step transaction did not end in time")
	// ErrTx says that a value is no transaction in this database that could be
	// written in.
	ErrTx = errors.New("this is no transaction in the engine's database")
	// ErrStoreClosed says that the store was used after Close.
	ErrStoreClosed = errors.New("the store is closed")
)

// ConflictError refuses a run whose workflow ID is taken.
type ConflictError struct {
	Existing Run // the latest run of the workflow ID
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("workflow ID %q is taken by run %s (%s)", e.Existing.WorkflowID, e.Existing.ID, e.Existing.Status)
}

// InUseError says that another engine serves a database that only one can serve.
type InUseError struct {
	Location string
	Holder   string // what is known of the other engine: host, process, since when
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("%s is served by another engine (%s); stop that one, or use the database without starting an engine", e.Location, e.Holder)
}

// HookError is the error of a turn's hook.
type HookError struct{ Err error }

func (e *HookError) Error() string { return "in the step transaction: " + e.Err.Error() }
func (e *HookError) Unwrap() error { return e.Err }

// UnavailableError says that the database could not answer now.
type UnavailableError struct {
	Op  string // the verb
	Err error  `json:"-"` // JSON could not read it back

	// Undone reports that the verb wrote nothing. Otherwise that is not known: the
	// answer was lost.
	Undone bool
}

func (e *UnavailableError) Error() string {
	return "the database is not available: " + e.Op + ": " + e.Err.Error()
}
func (e *UnavailableError) Unwrap() error { return e.Err }

// Unavailable reports whether the same call may work later.
func Unavailable(err error) bool {
	if err == nil {
		return false
	}
	var u *UnavailableError
	return errors.As(err, &u)
}

// Undone reports whether the database could not answer and has written nothing.
func Undone(err error) bool {
	var u *UnavailableError
	return errors.As(err, &u) && u.Undone
}
