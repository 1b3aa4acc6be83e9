package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/perdure/perdure/store"
)

// SQLSTATEs that mean something particular here; see appendix A of PostgreSQL's
// manual. Those that begin with "PD" are ours, raised by perdure.refuse.
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
	unheardOf            = "PD001" // a partition or a run is not as the batch expects
	noMember             = "PD002"
	otherDatabase        = "PD003"
	engineRuns           = "PD005"
	lockNotAvailable     = "55P03"
)

// stateError is an error of the server, in whichever driver's words.
type stateError interface {
	error
	SQLState() string
}

// code is the SQLSTATE of an error, "" if it has none.
func code(err error) string {
	if e, ok := errors.AsType[stateError](err); ok {
		return e.SQLState()
	}
	return ""
}

// conflicted reports whether the transaction was undone in favour of another:
// the same one may work immediately.
func conflicted(err error) bool {
	return code(err) == serializationFailure || code(err) == deadlock
}

// locked reports whether a statement waited in vain for a lock. On a busy server our own
// transactions may hold one for that long.
func locked(err error) bool { return code(err) == lockNotAvailable }

// createdMeanwhile reports whether another client was faster to create something.
func createdMeanwhile(err error) bool {
	switch code(err) {
	case uniqueViolation, duplicateSchema, duplicateTable:
		return true
	}
	return conflicted(err)
}

// retries is how often a transaction is begun again that lost against others.
const retries = 5

// again calls f until it returns nil or an error for which the condition does
// not hold, but not for ever.
func again(condition func(error) bool, f func() error) error {
	err := f()
	for n := 0; n < retries && err != nil && condition(err); n++ {
		err = f()
	}
	return err
}

// definite reports whether the server judged the data of a statement, so that it
// would judge the same again. Everything else may have to do with the state of
// the server, the network or its configuration.
func definite(err error) bool {
	c := code(err)
	return strings.HasPrefix(c, "22") || strings.HasPrefix(c, "23") || strings.HasPrefix(c, "54") // data, constraints, limits
}

// driverError marks an error that came from the driver or the server, as
// opposed to those that say what the contract wants said.
type driverError struct {
	err    error
	undone bool // the transaction was not committed, whatever the error
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

// undone marks an error of the driver that came before the end of a transaction: the
// server undoes it, if it has not.
func undone(err error) error {
	if d, ok := errors.AsType[*driverError](err); ok {
		d.undone = true
	}
	return err
}

// refused reports whether nothing was written although the end of the transaction may
// have been sent: the server says so, or the driver has sent nothing. A server that
// shuts down (class 57) may have committed before.
func refused(err error) bool {
	c := code(err)
	return pgconn.SafeToRetry(err) || c != "" && !strings.HasPrefix(c, "57") && !strings.HasPrefix(c, "08")
}

// fail puts an error into the terms of the contract.
func (h *handle) fail(ctx context.Context, op string, err error) error {
	d, ok := errors.AsType[*driverError](err)
	if !ok {
		return err // nil, a refusal, or ErrStoreClosed
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
	return &store.UnavailableError{Op: op, Err: err, Undone: d.undone || refused(d.err)}
}

// explain puts an error of Open into words for the person who can act, where
// waiting would not help.
func (h *handle) explain(err error) error {
	u, ok := errors.AsType[*store.UnavailableError](err)
	if !ok {
		return err
	}
	switch c := code(err); {
	case c == engineRuns:
		return fmt.Errorf("%s: %w: stop all engines that use the database, and distribute it then", h.info.Location, errEngineRuns)
	case c == "08P01" || c == "26000" || c == "42P05": // a setting or a prepared statement that the other side does not know
		return fmt.Errorf("is a pooler in transaction mode in between? then say postgres.Pooled(): %w", u.Err)
	case strings.HasPrefix(c, "28"): // invalid authorization
		return fmt.Errorf("the server does not let this user in; check user and password: %w", u.Err)
	case c == "3D000": // no such database
		return fmt.Errorf("create the database first: %w", u.Err)
	case c == insufficientRights:
		return fmt.Errorf("the user lacks a right on the schema %s; let its owner run perdure migrate --grant USER: %w", h.schema, u.Err)
	case strings.HasPrefix(c, "42") || strings.HasPrefix(c, "0A"): // something does not exist or is not supported
		return fmt.Errorf("the server does not understand perdure's statements; is it PostgreSQL, and was nothing in the schema %s changed by hand? %w", h.schema, u.Err)
	}
	return err
}
