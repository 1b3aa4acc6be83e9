package sqlite

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/store"
	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// brokenError is an error after which the connection must not be used.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

// commitError is an error of COMMIT. The transaction may still be durable.
type commitError struct{ err error }

func (e *commitError) Error() string { return e.err.Error() }
func (e *commitError) Unwrap() error { return e.err }

// code returns SQLite's primary result code of an error, 0 if it has none.
func code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// isConstraint reports whether a statement violated a constraint.
func isConstraint(err error) bool { return code(err) == lib.SQLITE_CONSTRAINT && !isClosed(err) }

// breaks reports whether a connection should be reopened after an error.
func breaks(err error) bool {
	if _, broken := errors.AsType[*brokenError](err); broken {
		return true
	}
	switch code(err) {
	case lib.SQLITE_IOERR, lib.SQLITE_CANTOPEN, lib.SQLITE_READONLY, lib.SQLITE_NOMEM,
		lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_INTERRUPT, lib.SQLITE_MISUSE:
		return true
	}
	return false
}

// fail converts an error to one of the store contract.
func (h *handle) fail(op string, err error) error {
	if broken, ok := errors.AsType[*brokenError](err); ok {
		err = broken.err
	}
	ending, committing := errors.AsType[*commitError](err)
	if committing {
		err = ending.err
	}
	switch {
	case code(err) == 0:
		return err // nil, a refusal, an error of the context, or ErrStoreClosed
	case isClosed(err):
		return h.closedError(err)
	case unavailable(err), misfit(err):
		return &store.UnavailableError{Op: op, Err: fmt.Errorf("%s: %w", h.path, full(err)), Undone: !committing || code(err) == lib.SQLITE_BUSY, Refused: misfit(err)}
	}
	return fmt.Errorf("%s: %s: %w", op, h.path, err)
}

// unavailable reports whether the same call may succeed later.
func unavailable(err error) bool {
	switch code(err) {
	case lib.SQLITE_FULL, lib.SQLITE_IOERR, lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_READONLY,
		lib.SQLITE_CANTOPEN, lib.SQLITE_INTERRUPT, lib.SQLITE_NOMEM, lib.SQLITE_PROTOCOL:
		return true
	}
	return false
}

// full says of an error that the disk is full, where SQLite does not: its index of the
// write-ahead log could not grow.
func full(err error) error {
	if e, ok := errors.AsType[*sqlite.Error](err); ok && e.Code() == lib.SQLITE_IOERR_SHMSIZE {
		return fmt.Errorf("the disk is full, or the file beside it that ends in -shm may not grow: %w", err)
	}
	return err
}

// misfit reports whether SQLite refused a statement of the store itself: it does not know a
// table or a column. What a hook does is not the store's.
func misfit(err error) bool {
	_, hook := errors.AsType[*store.HookError](err)
	return !hook && code(err) == lib.SQLITE_ERROR
}

// explain adds to an error of Open what the user can do.
func explain(path string, err error) error {
	switch code(err) {
	case lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM:
		return unwritable(path, cause(err))
	case lib.SQLITE_NOTADB:
		return fmt.Errorf("%s: %w: it is not an SQLite file", path, store.ErrForeign)
	case lib.SQLITE_CORRUPT:
		return fmt.Errorf("%s is damaged: restore it from a backup; to see what is wrong: sqlite3 FILE 'PRAGMA integrity_check' %s: %w", path, see.Damage, cause(err))
	case lib.SQLITE_IOERR:
		return fmt.Errorf("%s cannot be read or written: %w", path, cause(err))
	case lib.SQLITE_ERROR:
		return fmt.Errorf("SQLite does not understand perdure's statements; was anything in the file changed by hand? %w", cause(err))
	}
	return err
}

// unwritableError says that a file may not be written by this user. Its records may be read.
type unwritableError struct {
	path  string
	cause error
}

func unwritable(path string, err error) error { return &unwritableError{path, err} }

func (e *unwritableError) Error() string {
	return fmt.Sprintf("%s cannot be written: check that the file and its directory are writable by this user (%v)", e.path, e.cause)
}

func (e *unwritableError) Unwrap() error { return e.cause }

// cause removes the UnavailableError wrapper: waiting does not make a file writable.
func cause(err error) error {
	if u, ok := errors.AsType[*store.UnavailableError](err); ok {
		return u.Err
	}
	return err
}
