package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/store"
)

// SQLSTATEs with a special meaning here; see appendix A of PostgreSQL's manual. Those that
// begin with "PD" are perdure's own, raised by perdure.refuse.
const (
	uniqueViolation      = "23505"
	readOnly             = "25006"
	inFailedTransaction  = "25P02"
	serializationFailure = "40001"
	deadlock             = "40P01"
	noTransaction        = "25P01"
	noSavepoint          = "3B001"
	undefinedSchema      = "3F000"
	insufficientRights   = "42501"
	undefinedTable       = "42P01"
	undefinedColumn      = "42703"
	duplicateSchema      = "42P06"
	duplicateTable       = "42P07"
	duplicateStatement   = "42P05" // of another client, behind a pooler
	unheardOf            = "PD001" // a partition or a run is not as the batch expects
	noMember             = "PD002"
	otherDatabase        = "PD003"
	engineRuns           = "PD005"
	lockNotAvailable     = "55P03"
)

// stateError is an error of the server, from any driver.
type stateError interface {
	error
	SQLState() string
}

// code returns the SQLSTATE of an error, "" if it has none.
func code(err error) string {
	if e, ok := errors.AsType[stateError](err); ok {
		return e.SQLState()
	}
	return ""
}

// conflicted reports whether the transaction was undone in favour of another. The same one
// may succeed immediately.
func conflicted(err error) bool {
	return code(err) == serializationFailure || code(err) == deadlock
}

// locked reports whether a statement timed out waiting for a lock. On a busy server the
// store's own transactions may hold one for that long.
func locked(err error) bool { return code(err) == lockNotAvailable }

// createdMeanwhile reports whether another client created something first.
func createdMeanwhile(err error) bool {
	switch code(err) {
	case uniqueViolation, duplicateSchema, duplicateTable:
		return true
	}
	return conflicted(err)
}

// retries is how often a transaction that lost against others is retried. Each time one of the
// others has succeeded; eight rivals lose up to seven times.
const retries = 20

// again calls f until it returns nil or an error for which condition is false, but at most
// retries times more.
func again(condition func(error) bool, f func() error) error {
	err := f()
	for n := 0; n < retries && err != nil && condition(err); n++ {
		err = f()
	}
	return err
}

// definite reports whether the server rejected the data of a statement, so that it would do
// so again. All other errors may depend on the state of the server, the network or its
// configuration.
func definite(err error) bool {
	c := code(err)
	return strings.HasPrefix(c, "22") || strings.HasPrefix(c, "23") || strings.HasPrefix(c, "54") // data, constraints, limits
}

// misfit reports whether the server refused a statement itself rather than its data (a right
// or a table is missing), or the driver could not encode or decode a value. The connection
// works.
func (c *conn) misfit(err error) bool {
	if _, ok := errors.AsType[*driverError](err); !ok {
		return false
	}
	if state := code(err); state != "" {
		return strings.HasPrefix(state, "42") && state != duplicateStatement
	}
	return !c.raw.IsClosed() && !pgconn.SafeToRetry(err) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// driverError marks an error of the driver or the server, as opposed to the errors of the
// store contract.
type driverError struct {
	err     error
	undone  bool // the transaction was not committed, whatever the error
	refused bool // see misfit
}

func (e *driverError) Error() string { return e.err.Error() }
func (e *driverError) Unwrap() error { return e.err }

// foreign marks an error of the driver.
func foreign(err error) error {
	if err == nil {
		return nil
	}
	return &driverError{err: err}
}

// undone marks an error of the driver that occurred before the end of a transaction, which
// the server therefore undoes.
func undone(err error) error {
	if d, ok := errors.AsType[*driverError](err); ok {
		d.undone = true
	}
	return err
}

// refused reports whether nothing was written although the end of the transaction may have
// been sent: the server says so, or the driver sent nothing. A server that shuts down
// (class 57) may have committed first.
func refused(err error) bool {
	c := code(err)
	return pgconn.SafeToRetry(err) || c != "" && !strings.HasPrefix(c, "57") && !strings.HasPrefix(c, "08")
}

// fail converts an error to one of the store contract.
func (h *handle) fail(ctx context.Context, op string, err error) error {
	d, ok := errors.AsType[*driverError](err)
	if !ok {
		return err // nil, a refusal, or ErrStoreClosed
	}
	if code(err) == closedState {
		return h.closedError(err)
	}
	if h.isClosed() {
		return store.ErrStoreClosed
	}
	if ctx.Err() != nil && d.undone {
		return ctx.Err()
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", op, context.Cause(ctx))
	}
	err = fmt.Errorf("%s: %w", h.info.Location, d.err)
	if definite(err) {
		return fmt.Errorf("%s: %w", op, err)
	}
	return &store.UnavailableError{Op: op, Err: err, Undone: d.undone || d.refused || refused(d.err), Refused: d.refused}
}

// explain adds to an error of Open what the user can do, where waiting would not help.
func (h *handle) explain(err error) error {
	u, ok := errors.AsType[*store.UnavailableError](err)
	if !ok {
		return err
	}
	switch c := code(err); {
	case c == "08P01" && h.pooled:
		return fmt.Errorf("the pooler refuses a setting of the connection: leave it out, or name it in the pooler's ignore_startup_parameters: %w", u.Err)
	case c == engineRuns:
		return fmt.Errorf("%s: %w: stop all engines that use the database, and distribute it then %s", h.info.Location, errEngineRuns, see.Citus)
	case c == "08P01" || c == "26000" || c == duplicateStatement: // the other side does not know a setting or a prepared statement
		return fmt.Errorf("is a pooler in transaction mode in between? then use postgres.Pooled(), or add pooled=true to the parameters of the URL %s: %w", see.Nodes, u.Err)
	case strings.HasPrefix(c, "28"): // invalid authorization
		return fmt.Errorf("the server does not let this user in; check user and password: %w", u.Err)
	case c == "3D000": // no such database
		return fmt.Errorf("create the database first: %w", u.Err)
	case c == insufficientRights:
		return fmt.Errorf("the user lacks a right on the schema %s; let its owner run perdure migrate --grant USER %s: %w", h.schema, see.Schema, u.Err)
	case strings.HasPrefix(c, "42") || strings.HasPrefix(c, "0A"): // something does not exist or is not supported
		return fmt.Errorf("the server does not understand perdure's statements; is it PostgreSQL, and was nothing in the schema %s changed by hand? %s: %w", h.schema, see.PostgreSQL, u.Err)
	}
	return err
}
