package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"reflect"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// lentTx is the transaction of a hook: a pgx.Tx, and by As a *sql.Tx on the same connection,
// with which a hook runs on other databases, too.
type lentTx struct {
	pgx.Tx
	h *handle

	mu   sync.Mutex // an abandoned hook may still ask
	over bool
	db   *sql.DB
	std  *sql.Tx // nil until it is asked for

	session aftermath // what the hook did to it
}

// As sets what target points to to the *sql.Tx, if that has the type, and reports whether it
// did.
func (t *lentTx) As(target any) bool {
	into := reflect.ValueOf(target).Elem()
	if !reflect.TypeFor[*sql.Tx]().AssignableTo(into.Type()) {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return false
	}
	if t.std == nil {
		db := sql.OpenDB(sqlLender{t})
		db.SetMaxOpenConns(1)
		std, err := db.BeginTx(context.Background(), nil)
		if err != nil {
			db.Close()
			return false
		}
		t.db, t.std = db, std
		t.h.lent.Store(std, t.Tx)
	}
	into.Set(reflect.ValueOf(t.std))
	return true
}

// end takes the *sql.Tx away from the hook and closes its rows. It reports whether the hook
// has ended it.
func (t *lentTx) end() (ended bool) {
	t.mu.Lock()
	std, db := t.std, t.db
	t.over, t.std, t.db = true, nil, nil
	t.mu.Unlock() // the rollback waits for a statement of an abandoned hook, which wants the lock
	if std == nil {
		return false
	}
	t.h.lent.Delete(std)
	ended = errors.Is(std.Rollback(), sql.ErrTxDone)
	db.Close()
	return ended
}

// sqlLender is a driver.Connector that lends the connection of a transaction.
type sqlLender struct{ tx pgx.Tx }

func (l sqlLender) Connect(context.Context) (driver.Conn, error) { return sqlConn(l), nil }
func (l sqlLender) Driver() driver.Driver                        { return nil }

// sqlConn is a lent connection as database/sql sees it: always in a transaction, which the
// store ends. Its parameters are those of pgx.
type sqlConn struct{ tx pgx.Tx }

func (c sqlConn) Begin() (driver.Tx, error)                                    { return openTx{}, nil }
func (c sqlConn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) { return openTx{}, nil }
func (c sqlConn) Close() error                                                 { return nil } // it is only lent
func (c sqlConn) CheckNamedValue(*driver.NamedValue) error                     { return nil } // pgx converts
func (c sqlConn) Prepare(query string) (driver.Stmt, error)                    { return sqlStmt{c, query}, nil }

func (c sqlConn) ExecContext(ctx context.Context, query string, named []driver.NamedValue) (driver.Result, error) {
	args, err := positional(named)
	if err != nil {
		return nil, err
	}
	tag, err := c.tx.Exec(ctx, query, args...)
	return driver.RowsAffected(tag.RowsAffected()), err
}

func (c sqlConn) QueryContext(ctx context.Context, query string, named []driver.NamedValue) (driver.Rows, error) {
	args, err := positional(named)
	if err != nil {
		return nil, err
	}
	rows, err := c.tx.Query(ctx, query, append([]any{binaries}, args...)...)
	if err != nil {
		return nil, err
	}
	r := &lentRows{rows: rows, types: c.tx.Conn().TypeMap()}
	if r.ahead = rows.Next(); !r.ahead && rows.Err() != nil { // the server refused the statement
		return nil, rows.Err()
	}
	return r, nil
}

// positional returns parameters without names, which the server does not have.
func positional(named []driver.NamedValue) ([]any, error) {
	args := make([]any, len(named))
	for i, v := range named {
		if v.Name != "" {
			return nil, errors.New("PostgreSQL has no named parameters: write $1, $2 and so on, which SQLite takes, too")
		}
		args[i] = v.Value
	}
	return args, nil
}

// openTx is the driver transaction of a hook's *sql.Tx. It ends nothing.
type openTx struct{}

func (openTx) Commit() error   { return nil }
func (openTx) Rollback() error { return nil }

// sqlStmt is a statement that pgx prepares, or not, by its own rules.
type sqlStmt struct {
	c     sqlConn
	query string
}

func (s sqlStmt) Close() error                               { return nil }
func (s sqlStmt) NumInput() int                              { return -1 }
func (s sqlStmt) Exec([]driver.Value) (driver.Result, error) { return nil, driver.ErrSkip }
func (s sqlStmt) Query([]driver.Value) (driver.Rows, error)  { return nil, driver.ErrSkip }

func (s sqlStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.c.ExecContext(ctx, s.query, args)
}

func (s sqlStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.c.QueryContext(ctx, s.query, args)
}

// binaries are the types that become values of Go other than text; see value.
var binaries = pgx.QueryResultFormatsByOID{
	pgtype.BoolOID: pgx.BinaryFormatCode, pgtype.ByteaOID: pgx.BinaryFormatCode,
	pgtype.Int2OID: pgx.BinaryFormatCode, pgtype.Int4OID: pgx.BinaryFormatCode, pgtype.Int8OID: pgx.BinaryFormatCode,
	pgtype.Float4OID: pgx.BinaryFormatCode, pgtype.Float8OID: pgx.BinaryFormatCode,
	pgtype.DateOID: pgx.BinaryFormatCode, pgtype.TimestampOID: pgx.BinaryFormatCode, pgtype.TimestamptzOID: pgx.BinaryFormatCode,
}

// lentRows adapts rows of pgx to database/sql.
type lentRows struct {
	rows  pgx.Rows
	types *pgtype.Map
	ahead bool // Next has been called for the coming row
}

func (r *lentRows) Columns() []string {
	fields := r.rows.FieldDescriptions()
	names := make([]string, len(fields))
	for i := range fields {
		names[i] = fields[i].Name
	}
	return names
}

func (r *lentRows) Close() error {
	r.rows.Close()
	return r.rows.Err()
}

func (r *lentRows) Next(dest []driver.Value) error {
	if !r.ahead && !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return io.EOF
	}
	r.ahead = false
	fields := r.rows.FieldDescriptions()
	for i, raw := range r.rows.RawValues() {
		var err error
		if dest[i], err = r.value(fields[i].DataTypeOID, fields[i].Format, raw); err != nil {
			return err
		}
	}
	return nil
}

// value converts a column as drivers for database/sql do: types without a value of their own
// are text.
func (r *lentRows) value(oid uint32, format int16, raw []byte) (driver.Value, error) {
	if raw == nil {
		return nil, nil
	}
	var v driver.Valuer
	switch oid {
	case pgtype.BoolOID:
		v = new(pgtype.Bool)
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID:
		v = new(pgtype.Int8)
	case pgtype.Float4OID, pgtype.Float8OID:
		v = new(pgtype.Float8)
	case pgtype.DateOID:
		v = new(pgtype.Date)
	case pgtype.TimestampOID:
		v = new(pgtype.Timestamp)
	case pgtype.TimestamptzOID:
		v = new(pgtype.Timestamptz)
	case pgtype.ByteaOID:
		var b []byte
		err := r.types.Scan(oid, format, raw, &b)
		return b, err
	default:
		return string(raw), nil
	}
	if err := r.types.Scan(oid, format, raw, v); err != nil {
		return nil, err
	}
	return v.Value()
}
