package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

var (
	// errEnded refuses statements that would end the transaction of a commit.
	errEnded = errors.New("a step transaction is committed by the engine, or undone if the hook returns an error: neither commit it nor roll it back")
	// errFailed is the error of a hook that ignored a failed statement.
	errFailed = errors.New("a statement failed in the step transaction, which then cannot be committed, but the hook returned no error")
	// errOpen is the error of a hook whose connection cannot be used any more.
	errOpen = errors.New("the hook left a result open: close its rows, or read them to the end")
	// errIdle is the error of a hook that took too long.
	errIdle = errors.New("the server ended the step transaction: the hook let it wait too long for the next statement")
)

// runHook calls the turn's hook, if it has one, with a transaction inside the transaction:
// if the hook ends it, nothing else ends, and that is detected. The hook's statements get
// the usual planner settings; see Tune.
func (k *resultWriter) runHook(ctx context.Context, t *store.Turn) error {
	if t.Hook == nil {
		return nil
	}
	role := "NONE"
	if err := k.c.send(ctx, func(b *batch) {
		b.query(`SELECT quote_ident(current_setting('role'))`, nil, func(r pgx.Rows) error { return r.Scan(&role) })
		for name, value := range defaults {
			b.do(`SELECT set_config($1, $2, true)`, name, value)
		}
		b.do(`SELECT set_config('statement_timeout', $1, true)`, milliseconds(store.HookLimit))
		b.do(`SET LOCAL lock_timeout TO DEFAULT`)
		b.bind()
	}); err != nil {
		return err
	}
	step, err := k.tx.Begin(ctx)
	if err != nil {
		return foreign(err)
	}
	k.h.lent.Store(k.c.raw, k.c)
	defer k.h.lent.Delete(k.c.raw)
	begun := time.Now()
	defer func() { k.took = time.Since(begun) }()
	lent := &lentTx{Tx: step, h: k.h}
	defer func() { // the hook may exit its goroutine
		lent.end()
		k.c.changed = k.c.changed || lent.left().changed
	}()
	err = t.RunHook(lent)
	if errors.Is(err, store.ErrHookLeft) {
		k.c.leave()
		return err
	}
	if ended := lent.end(); err == nil && ended {
		err = &store.HookError{Err: errEnded}
	}
	if err != nil {
		step.Rollback(ctx) // like the savepoint around it, whose errors count
		return err
	}
	if lent.left().role {
		err = k.c.script(ctx, `SET LOCAL ROLE `+role)
	}
	if err == nil {
		err = step.Commit(ctx)
	}
	switch {
	case errors.Is(err, pgx.ErrTxClosed):
		return &store.HookError{Err: errEnded}
	case code(err) == inFailedTransaction:
		return &store.HookError{Err: errFailed}
	}
	return foreign(err)
}

// ordinary ends the time limit of the hook's statements, because the following ones must
// not be interrupted, and restores the store's own lock timeout.
var ordinary = `SET LOCAL statement_timeout TO DEFAULT; SET LOCAL lock_timeout = ` + milliseconds(brief)

// spoiledError says that the transaction of a commit ended while a turn's hook ran.
type spoiledError struct {
	turn int // index in the batch
	err  error
}

func (e *spoiledError) Error() string { return e.err.Error() }

// blame finds out whether the turn's hook is the reason why its savepoint could not be
// left. err, if not nil, is why it was to be rolled back. The hook is not to blame if the
// server or the network failed meanwhile.
func (k *resultWriter) blame(i int, err, left error) error {
	conn := k.c.raw.PgConn()
	hook, said := errors.AsType[*store.HookError](err)
	switch {
	case conn.IsClosed() && k.took > k.h.idleness(): // the connection may have taken the server's reason with it
		hook = &store.HookError{Err: errIdle}
	case !conn.IsClosed() && conn.IsBusy():
		hook = &store.HookError{Err: errOpen}
	case !conn.IsClosed(): // the savepoint is gone, and the transaction with it
		hook = &store.HookError{Err: errEnded}
	case said && (errors.Is(hook, context.Canceled) || errors.Is(hook, context.DeadlineExceeded)):
		// The driver closes a connection when the context of a waiting call ends.
	default:
		return left
	}
	return &spoiledError{i, hook}
}
