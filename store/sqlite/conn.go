package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/perdure/perdure/store"
	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// conn is a connection with its prepared statements. It uses the driver directly, because
// for the small statements of a commit database/sql would cost more than SQLite. It is not
// safe for concurrent use; a pool hands it to one caller at a time.
type conn struct {
	raw   driver.Conn
	stmts map[string]driver.Stmt
	args  []driver.NamedValue // reused between calls

	hooks    *sql.DB              // see hook.go
	hookEnds time.Time            // when the statements of the current hook are interrupted
	queries  []context.CancelFunc // of the hook's queries
	visited  bool                 // a verb was called within the transaction of a hook

	log *writeLog // set once the connection has written
}

func connect(ctx context.Context, dsn string) (*conn, error) {
	connector, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	raw, err := connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{raw: raw, stmts: map[string]driver.Stmt{}}, nil
}

func (c *conn) close() error {
	var errs []error
	if c.hooks != nil {
		errs = append(errs, c.hooks.Close())
	}
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	errs = append(errs, c.log.close()) // before the last connection deletes the file
	return errors.Join(append(errs, c.raw.Close())...)
}

// prepare returns the statement of a query, which is prepared once and kept: queries are
// constants, and there are few.
func (c *conn) prepare(ctx context.Context, query string) (driver.Stmt, error) {
	if s, ok := c.stmts[query]; ok {
		return s, nil
	}
	s, err := c.raw.(driver.ConnPrepareContext).PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	c.stmts[query] = s
	return s, nil
}

func (c *conn) bind(args []driver.Value) []driver.NamedValue {
	for len(c.args) < len(args) {
		c.args = append(c.args, driver.NamedValue{Ordinal: len(c.args) + 1})
	}
	for i, a := range args {
		c.args[i].Value = a
	}
	return c.args[:len(args)]
}

// unbind clears the values, which may be large, once a statement has them.
func unbind(args []driver.NamedValue) {
	for i := range args {
		args[i].Value = nil
	}
}

// exec runs a writing statement and returns how many rows it changed. It is never
// interrupted.
func (c *conn) exec(query string, args ...driver.Value) (int64, error) {
	s, err := c.prepare(context.Background(), query)
	if err != nil {
		return 0, err
	}
	bound := c.bind(args)
	result, err := s.(driver.StmtExecContext).ExecContext(context.Background(), bound)
	unbind(bound)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// script runs statements that are used once. It does not keep them prepared.
func (c *conn) script(statements string) error {
	_, err := c.raw.(driver.ExecerContext).ExecContext(context.Background(), statements, nil)
	return err
}

// query calls each for every row. It returns the first error of each.
func (c *conn) query(ctx context.Context, query string, each func(row) error, args ...driver.Value) error {
	s, err := c.prepare(ctx, query)
	if err != nil {
		return err
	}
	bound := c.bind(args)
	rows, err := s.(driver.StmtQueryContext).QueryContext(ctx, bound)
	unbind(bound)
	if err != nil {
		return err
	}
	defer rows.Close()
	values := make(row, len(rows.Columns()))
	for {
		if err := ctx.Err(); err != nil {
			return err // a long result is interrupted between rows too
		}
		err := rows.Next(values)
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = each(values)
		}
		if err != nil {
			return err
		}
	}
}

// collect returns the rows of a result, each as scan reads it.
func collect[T any](ctx context.Context, c *conn, scan func(row) T, query string, args ...driver.Value) (all []T, err error) {
	err = c.query(ctx, query, func(r row) error {
		all = append(all, scan(r))
		return nil
	}, args...)
	return all, err
}

// one reads the integers of the only row of a writing statement into dest and reports
// whether there is a row.
func (c *conn) one(query string, dest []*int64, args ...driver.Value) (found bool, err error) {
	err = c.query(context.Background(), query, func(r row) error {
		found = true
		for i, d := range dest {
			*d = r.int(i)
		}
		return nil
	}, args...)
	return found, err
}

// row is a row of a result, valid until the next one is read. Its strings and bytes may be
// kept.
type row []driver.Value

func (r row) int(i int) int64 {
	n, _ := r[i].(int64)
	return n
}

func (r row) text(i int) string {
	s, _ := r[i].(string)
	return s
}

// scan reads the first columns, one into each of the destinations. NULL is a zero value.
func (r row) scan(into ...any) {
	for i, to := range into {
		switch to := to.(type) {
		case *string:
			*to = r.text(i)
		case *store.Status:
			*to = store.Status(r.text(i))
		case *store.CallState:
			*to = store.CallState(r.text(i))
		case *int64:
			*to = r.int(i)
		case *int:
			*to = int(r.int(i))
		case *time.Duration:
			*to = time.Duration(r.int(i))
		case *bool:
			*to = r.int(i) != 0
		case *[]byte:
			*to = r.bytes(i)
		default:
			panic("a column is read into a type that scan does not know")
		}
	}
}

// bytes reads a column of type ANY that payload wrote.
func (r row) bytes(i int) []byte {
	switch v := r[i].(type) {
	case string:
		return []byte(v)
	case []byte:
		return v
	}
	return nil
}

// payload returns the value that stores opaque bytes: text if they are text, so that the
// tables can be read, otherwise a blob. It never returns NULL.
func payload(b []byte) driver.Value {
	if len(b) == 0 {
		return nil
	}
	s := unsafe.String(&b[0], len(b)) // the driver copies it before it returns
	if !utf8.ValidString(s) {
		return b
	}
	for i := range len(s) {
		if s[i] == 0 { // the shell would show only what precedes it
			return b
		}
	}
	return s
}

// transact runs f between BEGIN IMMEDIATE and COMMIT.
func transact(c *conn, f func(c *conn) error) error {
	if _, err := c.exec("BEGIN IMMEDIATE"); err != nil {
		if code(err) == lib.SQLITE_BUSY {
			return err
		}
		return &brokenError{err}
	}
	err := f(c)
	if err == nil {
		if _, err = c.exec("COMMIT"); err != nil {
			err = &commitError{err}
		}
	}
	if err != nil {
		if _, undo := c.exec("ROLLBACK"); undo != nil {
			// SQLite has rolled back by itself or cannot. Only a new connection is certain
			// to be clean.
			return &brokenError{err}
		}
	}
	return err
}
