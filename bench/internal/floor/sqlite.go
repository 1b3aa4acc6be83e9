package floor

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	_ "modernc.org/sqlite" // driver "sqlite"
)

// The statements of the floor on SQLite, the same for all drivers.
const (
	Schema = `CREATE TABLE IF NOT EXISTS steps (run TEXT NOT NULL, step INTEGER NOT NULL, attempt INTEGER NOT NULL, at INTEGER NOT NULL, result TEXT NOT NULL,
		PRIMARY KEY (run, step, attempt)) STRICT, WITHOUT ROWID`
	Insert      = `INSERT INTO steps (run, step, attempt, at, result) VALUES (?, ?, ?, ?, ?)`
	SelectDone  = `SELECT run, max(step) + 1 FROM steps GROUP BY run`
	SelectCount = `SELECT count(*), count(DISTINCT run) FROM steps`
)

// Setup makes a connection as durable as perdure's store is, with as much cache,
// and creates the table.
var Setup = []string{
	"PRAGMA journal_mode = wal",
	"PRAGMA synchronous = full",
	"PRAGMA cache_size = -16000",
	"PRAGMA journal_size_limit = 67108864",
	"PRAGMA temp_store = memory",
	Schema,
}

// Modernc opens a file with modernc.org/sqlite, the driver of perdure's store.
func Modernc(ctx context.Context, path string) (Table, error) { return OpenSQL(ctx, "sqlite", path) }

// sqlTable is a file through a driver of database/sql. The statement of a row
// goes to the driver directly: database/sql would cost more than some drivers do.
type sqlTable struct {
	db     *sql.DB
	conn   *sql.Conn // the only one
	insert driver.Stmt
	args   []driver.NamedValue
}

// OpenSQL opens a file with a driver of database/sql.
func OpenSQL(ctx context.Context, name, path string) (Table, error) {
	db, err := sql.Open(name, path)
	if err != nil {
		return nil, err
	}
	t := &sqlTable{db: db, args: make([]driver.NamedValue, 5)}
	for i := range t.args {
		t.args[i].Ordinal = i + 1
	}
	if err := t.begin(ctx); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

func (t *sqlTable) begin(ctx context.Context) (err error) {
	if t.conn, err = t.db.Conn(ctx); err != nil {
		return err
	}
	for _, s := range Setup {
		if _, err := t.conn.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return t.conn.Raw(func(raw any) (err error) {
		t.insert, err = raw.(driver.Conn).Prepare(Insert)
		return err
	})
}

func (t *sqlTable) Insert(ctx context.Context, rows []Row) error {
	if _, err := t.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for _, r := range rows {
		for i, v := range [...]driver.Value{r.Run, int64(r.Step), int64(r.Attempt), r.At, r.Result} {
			t.args[i].Value = v
		}
		if _, err := t.insert.(driver.StmtExecContext).ExecContext(ctx, t.args); err != nil {
			_, undo := t.conn.ExecContext(ctx, "ROLLBACK")
			return errors.Join(err, undo)
		}
	}
	_, err := t.conn.ExecContext(ctx, "COMMIT")
	return err
}

func (t *sqlTable) Done(ctx context.Context) (map[string]int, error) {
	rows, err := t.conn.QueryContext(ctx, SelectDone)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	done := map[string]int{}
	for rows.Next() {
		var run string
		var n int
		if err := rows.Scan(&run, &n); err != nil {
			return nil, err
		}
		done[run] = n
	}
	return done, rows.Err()
}

func (t *sqlTable) Count(ctx context.Context) (rows, runs int, err error) {
	err = t.conn.QueryRowContext(ctx, SelectCount).Scan(&rows, &runs)
	return rows, runs, err
}

func (t *sqlTable) Close() error {
	var errs []error
	if t.insert != nil {
		errs = append(errs, t.insert.Close())
	}
	if t.conn != nil {
		errs = append(errs, t.conn.Close())
	}
	return errors.Join(append(errs, t.db.Close())...)
}
