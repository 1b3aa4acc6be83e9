package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"reflect"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// sqlTransaction is a transaction of database/sql, by any driver for PostgreSQL with
// parameters $1, $2 and so on. It sends statements one by one, and arrays in the server's
// text form.
type sqlTransaction struct{ tx *sql.Tx }

func (t sqlTransaction) conn() *pgx.Conn { return nil }

func (t sqlTransaction) lost(err error) bool {
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

func (t sqlTransaction) script(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if _, err := t.tx.ExecContext(ctx, s); err != nil {
			return foreign(err)
		}
	}
	return nil
}

func (t sqlTransaction) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	return &sqlResults{ctx: ctx, tx: t.tx, queue: b.QueuedQueries}
}

// sqlResults runs the statements of a batch when their results are read. It implements the
// part of the interface that batches use.
type sqlResults struct {
	pgx.BatchResults
	ctx   context.Context
	tx    *sql.Tx
	queue []*pgx.QueuedQuery
	err   error
}

// Close runs the remaining statements, up to the first error.
func (r *sqlResults) Close() error {
	for len(r.queue) > 0 && r.err == nil {
		if f := r.queue[0].Fn; f != nil {
			r.err = f(r)
		} else {
			_, r.err = r.Exec()
		}
	}
	r.queue = nil
	return r.err
}

// next returns the next statement.
func (r *sqlResults) next() (statement string, args []any, err error) {
	if len(r.queue) == 0 {
		return "", nil, errors.New("the batch has no statement left")
	}
	q := r.queue[0]
	r.queue = r.queue[1:]
	args = make([]any, len(q.Arguments))
	for i, a := range q.Arguments {
		if args[i], err = portable(a); err != nil {
			return "", nil, err
		}
	}
	return q.SQL, args, nil
}

func (r *sqlResults) Exec() (pgconn.CommandTag, error) {
	statement, args, err := r.next()
	if err == nil {
		_, err = r.tx.ExecContext(r.ctx, statement, args...)
	}
	return pgconn.CommandTag{}, err
}

func (r *sqlResults) Query() (pgx.Rows, error) {
	statement, args, err := r.next()
	if err != nil {
		return &sqlRows{err: err}, err
	}
	rows, err := r.tx.QueryContext(r.ctx, statement, args...)
	return &sqlRows{rows: rows, err: err}, err
}

// types encodes arrays in the server's form.
var types = pgtype.NewMap()

// portable converts a parameter to a form that every driver accepts.
func portable(v any) (any, error) {
	if own, is := v.(pgtype.TextValuer); is {
		text, err := own.TextValue()
		return text.String, err
	}
	if reflect.TypeOf(v).Kind() != reflect.Slice {
		return v, nil
	}
	t, ok := types.TypeForValue(v)
	if !ok {
		return nil, errors.New("there is no array for " + reflect.TypeOf(v).String())
	}
	text, err := types.Encode(t.OID, pgx.TextFormatCode, v, nil)
	return string(text), err
}

// sqlRows adapts rows of database/sql to pgx, as far as this package needs.
type sqlRows struct {
	pgx.Rows
	rows *sql.Rows // nil if err is set
	err  error
}

func (r *sqlRows) Close() {
	if r.rows != nil {
		_ = r.rows.Close() // what was read is valid
	}
}

func (r *sqlRows) Err() error {
	if r.err != nil {
		return r.err
	}
	return r.rows.Err()
}

func (r *sqlRows) Next() bool { return r.rows != nil && r.rows.Next() }

// Scan supports the destinations that this package uses.
func (r *sqlRows) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	plain := make([]any, len(dest))
	var read []func() error
	for i, d := range dest {
		plain[i] = d
		switch o, ok := d.(pgtype.BytesScanner); {
		case d == nil:
			plain[i] = new(any)
		case ok:
			var column []byte
			plain[i] = &column
			read = append(read, func() error { return o.ScanBytes(column) })
		}
	}
	if err := r.rows.Scan(plain...); err != nil {
		return err
	}
	for _, f := range read {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}
