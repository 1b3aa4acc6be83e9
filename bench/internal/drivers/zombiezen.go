package drivers

import (
	"context"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/perdure/perdure/bench/internal/floor"
)

// zombiezen opens a file with zombiezen.com/go/sqlite, which drives the same C
// library in Go as modernc.org/sqlite does.
func zombiezen(_ context.Context, path string) (floor.Table, error) {
	conn, err := sqlite.OpenConn(path)
	if err != nil {
		return nil, err
	}
	return create(zombiezenConn{conn})
}

type zombiezenConn struct{ *sqlite.Conn }

func (c zombiezenConn) exec(statement string) error {
	return sqlitex.Execute(c.Conn, statement, nil)
}

func (c zombiezenConn) insert(r floor.Row) error {
	s, err := c.Prepare(floor.Insert) // from the connection's cache
	if err != nil {
		return err
	}
	s.BindText(1, r.Run)
	s.BindInt64(2, int64(r.Step))
	s.BindInt64(3, int64(r.Attempt))
	s.BindInt64(4, r.At)
	s.BindText(5, r.Result)
	if _, err := s.Step(); err != nil {
		return err
	}
	return s.Reset()
}

func (c zombiezenConn) each(query string, row func(columns)) error {
	return sqlitex.Execute(c.Conn, query, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		row(s)
		return nil
	}})
}
