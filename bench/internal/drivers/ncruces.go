package drivers

import (
	"context"
	"errors"

	"github.com/ncruces/go-sqlite3"
	_ "github.com/ncruces/go-sqlite3/embed" // SQLite as WebAssembly

	"github.com/perdure/perdure/bench/internal/floor"
)

// ncruces opens a file with github.com/ncruces/go-sqlite3, which runs SQLite as
// WebAssembly.
func ncruces(_ context.Context, path string) (floor.Table, error) {
	conn, err := sqlite3.Open(path)
	if err != nil {
		return nil, err
	}
	return create(&ncrucesConn{Conn: conn})
}

type ncrucesConn struct {
	*sqlite3.Conn
	prepared *sqlite3.Stmt
}

func (c *ncrucesConn) exec(statement string) error { return c.Exec(statement) }

func (c *ncrucesConn) insert(r floor.Row) (err error) {
	if c.prepared == nil {
		if c.prepared, _, err = c.PrepareFlags(floor.Insert, sqlite3.PREPARE_PERSISTENT); err != nil {
			return err
		}
	}
	s := c.prepared
	err = errors.Join(s.BindText(1, r.Run), s.BindInt(2, r.Step), s.BindInt(3, r.Attempt), s.BindInt64(4, r.At), s.BindText(5, r.Result))
	if err != nil {
		return err
	}
	return s.Exec()
}

func (c *ncrucesConn) each(query string, row func(columns)) error {
	s, _, err := c.Prepare(query)
	if err != nil {
		return err
	}
	for s.Step() {
		row(s)
	}
	return errors.Join(s.Err(), s.Close())
}

func (c *ncrucesConn) Close() error {
	if c.prepared != nil {
		return errors.Join(c.prepared.Close(), c.Conn.Close())
	}
	return c.Conn.Close()
}
