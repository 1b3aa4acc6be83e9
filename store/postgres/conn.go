package postgres

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/perdure/perdure/store"
)

// rollbackTime limits a rollback. If it takes longer, the connection is closed, which rolls
// back too.
const rollbackTime = 5 * time.Second

// conn is a connection used by one verb. Its errors are driverErrors.
type conn struct {
	raw  *pgx.Conn
	h    *handle
	left bool // see leave

	changed bool // the session is not as it was; see session.go

	guests atomic.Bool // a verb was called within the transaction of a hook
}

// leave gives up a connection that another goroutine may be using: only the network
// connection below it can be closed safely. The server then undoes the transaction.
func (c *conn) leave() {
	c.left = true
	c.raw.PgConn().Conn().Close()
}

// reserved is how many connections of the pool are set aside: one for commits, and one for
// the verbs on which the ownership of partitions depends. Many reads, or waits for an
// unavailable server, must not cost a node its lease.
const reserved = 2

// share is hold for all verbs except Commit and those of ownership.
func (h *handle) share(ctx context.Context, op string, f func(c *conn) error) error {
	select {
	case h.shared <- struct{}{}:
		defer func() { <-h.shared }()
		return h.hold(ctx, op, f)
	case <-h.closed:
		return store.ErrStoreClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// turns is hold for commits. Several may be in progress: those with hooks, and those of
// other servers. One of them uses the reserved connection; the others share.
func (h *handle) turns(ctx context.Context, op string, f func(c *conn) error) error {
	select {
	case h.first <- struct{}{}:
		defer func() { <-h.first }()
		return h.hold(ctx, op, f)
	default:
	}
	select {
	case h.first <- struct{}{}:
		defer func() { <-h.first }()
	case h.shared <- struct{}{}:
		defer func() { <-h.shared }()
	case <-h.closed:
		return store.ErrStoreClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	return h.hold(ctx, op, f)
}

// hold runs f with a connection and converts its error to one of the store contract. It
// calls f again if the server undid the transaction in favour of another.
func (h *handle) hold(ctx context.Context, op string, f func(c *conn) error) error {
	h.calls.RLock()
	defer h.calls.RUnlock()
	if h.isClosed() {
		return store.ErrStoreClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	pooled, err := h.pool.Acquire(ctx)
	if err != nil {
		return h.fail(ctx, op, undone(foreign(err)))
	}
	c := &conn{raw: pooled.Conn(), h: h}
	defer func() {
		if c.left {
			pooled.Hijack()
			return
		}
		if c.changed {
			_ = c.raw.Close(context.WithoutCancel(ctx)) // the pool makes another one
		}
		pooled.Release() // closes it if a transaction is open: a hook may exit its goroutine
	}()
	err = again(conflicted, func() error { return f(c) })
	if code(err) == readOnly {
		h.pool.Reset() // the primary is elsewhere now
	}
	if d, ok := errors.AsType[*driverError](err); ok {
		d.refused = c.misfit(err)
	}
	return h.fail(ctx, op, err)
}

// exec runs a statement and returns how many rows it changed.
func (c *conn) exec(ctx context.Context, sql string, args ...any) (int64, error) {
	tag, err := c.raw.Exec(ctx, c.h.sql(sql), args...)
	return tag.RowsAffected(), foreign(err)
}

// script runs statements without parameters, any number of them.
func (c *conn) script(ctx context.Context, statements string) error {
	_, err := c.exec(ctx, statements, pgx.QueryExecModeSimpleProtocol)
	return err
}

// one reads the only row of a result into dest and reports whether there is one.
func (c *conn) one(ctx context.Context, sql string, args []any, dest ...any) (bool, error) {
	err := c.raw.QueryRow(ctx, c.h.sql(sql), args...).Scan(dest...)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, foreign(err)
}

// query calls each for every row.
func (c *conn) query(ctx context.Context, sql string, args []any, each func(r pgx.Rows) error) error {
	rows, err := c.raw.Query(ctx, c.h.sql(sql), args...)
	if err != nil {
		return foreign(err)
	}
	return foreign(scanAll(rows, each))
}

// into returns what reads each row of a result into a new element of a list. fields says into
// which of its fields.
func into[T any](list *[]T, fields func(*T) []any) func(r pgx.Rows) error {
	return func(r pgx.Rows) error {
		*list = append(*list, *new(T))
		return r.Scan(fields(&(*list)[len(*list)-1])...)
	}
}

// list returns the rows of a result, each read into what fields says.
func list[T any](ctx context.Context, c *conn, sql string, args []any, fields func(*T) []any) (all []T, err error) {
	err = c.query(ctx, sql, args, into(&all, fields))
	return all, err
}

// shared is share for a verb with a result.
func shared[T any](ctx context.Context, h *handle, op string, f func(c *conn) (T, error)) (result T, err error) {
	err = h.share(ctx, op, func(c *conn) (err error) {
		result, err = f(c)
		return err
	})
	if err != nil {
		return *new(T), err
	}
	return result, nil
}

// readRows is a verb that is one query, whose rows it returns.
func readRows[T any](ctx context.Context, h *handle, op, sql string, args []any, fields func(*T) []any) ([]T, error) {
	return shared(ctx, h, op, func(c *conn) ([]T, error) { return list(ctx, c, sql, args, fields) })
}

func scanAll(rows pgx.Rows, each func(r pgx.Rows) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Each statement of a transaction must see what was committed before it, whatever the
// database's default is, because the fence depends on it.
const begin = `BEGIN ISOLATION LEVEL READ COMMITTED`

// durable makes the commit of the transaction wait for the disk, if that is not the
// database's default.
const durable = `SET LOCAL synchronous_commit = on`

// transact runs f in a transaction and commits it if f returns nil.
func (c *conn) transact(ctx context.Context, f func(tx pgx.Tx) error) error {
	tx, err := c.raw.BeginTx(ctx, pgx.TxOptions{BeginQuery: begin})
	if err != nil {
		return undone(foreign(err))
	}
	done := false // f may exit its goroutine
	defer func() {
		if !done {
			c.rollback()
		}
	}()
	if c.h.lax {
		if _, err := c.exec(ctx, durable); err != nil {
			return undone(err)
		}
	}
	if err := f(tx); err != nil {
		return undone(err)
	}
	done = true
	if err := tx.Commit(ctx); err != nil {
		c.rollback()
		return foreign(err)
	}
	return nil
}

// rollback undoes the open transaction, if any.
func (c *conn) rollback() {
	if c.left || c.raw.IsClosed() || c.raw.PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), rollbackTime)
	defer cancel()
	if _, err := c.raw.Exec(ctx, "ROLLBACK", pgx.QueryExecModeSimpleProtocol); err != nil {
		c.raw.Close(ctx) // that undoes it too
	}
}

// batch is a list of statements that are sent together, in one round trip.
type batch struct {
	pgx.Batch
	h    *handle
	home int64 // the partition that a distributed database writes to
}

// do adds a statement.
func (b *batch) do(sql string, args ...any) *pgx.QueuedQuery { return b.Queue(b.h.sql(sql), args...) }

// query adds a statement and calls each for every row of its result.
func (b *batch) query(sql string, args []any, each func(r pgx.Rows) error) {
	b.do(sql, args...).Query(func(rows pgx.Rows) error { return scanAll(rows, each) })
}

// advance adds a query that advances a time to that of the database, if it is not later.
func (b *batch) advance(time *int64) {
	b.query(`SELECT perdure.now()`, nil, func(r pgx.Rows) error {
		var now int64
		err := r.Scan(&now)
		*time = max(*time, now)
		return err
	})
}

// send sends the statements that fill adds. The first error ends the batch.
func (c *conn) send(ctx context.Context, fill func(b *batch)) error {
	if b, p := buffersOf(c.raw), c.raw.PgConn(); b != nil && !p.IsClosed() && !p.IsBusy() {
		b.lend(p.Frontend())
		defer b.takeBack()
	}
	return c.h.send(ctx, c.raw, fill)
}

// sender sends statements together.
type sender interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

func (h *handle) send(ctx context.Context, to sender, fill func(b *batch)) error {
	b := &batch{h: h}
	fill(b)
	return foreign(to.SendBatch(ctx, &b.Batch).Close())
}

// begin begins a transaction that finish ends.
func (b *batch) begin() {
	b.do(begin)
	if b.h.lax {
		b.do(durable)
	}
}

// transaction sends the statements that fill adds as one transaction. Statements that after
// adds, if any, follow its end in the same round trip; their errors are dropped.
func (c *conn) transaction(ctx context.Context, fill, after func(b *batch)) error {
	return c.finish(ctx, func(b *batch) {
		b.begin()
		fill(b)
	}, after)
}

// inTwo is transaction in two round trips: the second may depend on the results of the
// first.
func (c *conn) inTwo(ctx context.Context, first, second, after func(b *batch)) error {
	if err := c.send(ctx, func(b *batch) {
		b.begin()
		first(b)
	}); err != nil {
		c.rollback()
		return undone(err)
	}
	return c.finish(ctx, second, after)
}

// finish sends the statements that fill adds, and the end of the transaction. See
// transaction.
func (c *conn) finish(ctx context.Context, fill, after func(b *batch)) error {
	committed := false
	err := c.send(ctx, func(b *batch) {
		fill(b)
		b.do("COMMIT").Exec(func(pgconn.CommandTag) error {
			committed = true
			return nil
		})
		if after != nil {
			after(b)
		}
	})
	if err != nil {
		c.rollback()
	}
	if committed {
		return nil
	}
	return err
}
