package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/perdure/perdure/store"
)

// hookSlack is how much longer than the hook itself its statements may take. A statement
// that follows the hook's context returns a clearer error.
const hookSlack = 100 * time.Millisecond

// runHook calls the hook of a turn with a real *sql.Tx on this connection. The caller holds
// a savepoint for the turn. runHook closes rows and statements that the hook leaves open.
// It takes the transaction away from an abandoned hook, as database/sql does when a context
// ends: it waits for the statement in progress, which has a deadline.
func (h *handle) runHook(c *conn, t *store.Turn) error {
	if t.Hook == nil {
		return nil
	}
	if c.hooks == nil {
		c.hooks = sql.OpenDB(lender{h, c})
		c.hooks.SetMaxOpenConns(1)
	}
	c.hookEnds = time.Now().Add(store.HookLimit + hookSlack)
	defer c.endQueries()
	tx, err := c.hooks.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	undo := true // even if the hook exits its goroutine
	defer func() {
		if undo {
			tx.Rollback()
		}
	}()
	if err := t.RunHook(tx); err != nil {
		return err
	}
	undo = false
	if err := tx.Commit(); err != nil { // the hook ended it
		return &store.HookError{Err: errEnded}
	}
	return nil
}

// lender is a driver.Connector that lends a connection owned by its caller.
type lender struct {
	h *handle
	c *conn
}

func (l lender) Connect(context.Context) (driver.Conn, error) {
	return &lent{h: l.h, c: l.c, raw: l.c.raw}, nil
}
func (l lender) Driver() driver.Driver { return nil }

// lent is the connection as database/sql sees it: always in a transaction, which ends when
// the hook does. Its statements end with the hook's time, whatever context they get.
type lent struct {
	h   *handle
	c   *conn
	raw driver.Conn
}

func (l *lent) Begin() (driver.Tx, error)                                    { return openTx{}, nil }
func (l *lent) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) { return openTx{}, nil }
func (l *lent) Close() error                                                 { return nil } // it is only lent
func (l *lent) Prepare(query string) (driver.Stmt, error) {
	return l.PrepareContext(context.Background(), query)
}

func (l *lent) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if err := stays(query); err != nil {
		return nil, err
	}
	s, err := l.raw.(driver.ConnPrepareContext).PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return lentStmt{s, l.c}, nil
}

// CheckNamedValue accepts the store's own verbs, which come as an argument.
func (l *lent) CheckNamedValue(v *driver.NamedValue) error {
	if _, ok := v.Value.(visit); ok {
		return nil
	}
	return driver.ErrSkip
}

func (l *lent) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if len(args) == 1 {
		if v, ok := args[0].Value.(visit); ok {
			return driver.RowsAffected(0), v(l.h, l.c)
		}
	}
	if err := stays(query); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithDeadline(ctx, l.c.hookEnds)
	defer cancel()
	return l.raw.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (l *lent) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := stays(query); err != nil {
		return nil, err
	}
	return l.raw.(driver.QueryerContext).QueryContext(l.c.queryContext(ctx), query, args)
}

// queryContext returns the context of a hook's query. The query's rows need it until they
// are closed.
func (c *conn) queryContext(ctx context.Context) context.Context {
	ctx, cancel := context.WithDeadline(ctx, c.hookEnds)
	c.queries = append(c.queries, cancel)
	return ctx
}

// endQueries cancels the contexts of a hook's queries.
func (c *conn) endQueries() {
	for _, cancel := range c.queries {
		cancel()
	}
	c.queries = nil
}

// lentStmt is a prepared statement of a lent connection.
type lentStmt struct {
	driver.Stmt
	c *conn
}

func (s lentStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	ctx, cancel := context.WithDeadline(ctx, s.c.hookEnds)
	defer cancel()
	return s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
}

func (s lentStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.Stmt.(driver.StmtQueryContext).QueryContext(s.c.queryContext(ctx), args)
}

// openTx is the driver transaction of a hook's *sql.Tx. It ends nothing: the savepoint
// around the hook does.
type openTx struct{}

func (openTx) Commit() error   { return nil }
func (openTx) Rollback() error { return nil }

// lostError says that the transaction of a whole commit ended while a turn was written.
// SQLite rolls back a transaction whose write is interrupted, such as when the context that
// a hook used ends.
type lostError struct {
	turn int // index in the batch
	err  error
}

func (e *lostError) Error() string {
	return fmt.Sprintf("the transaction ended while turn %d of the batch was written: %v", e.turn, e.err)
}

func (e *lostError) Unwrap() error { return e.err }
