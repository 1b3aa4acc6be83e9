package pgbubble

import (
	"context"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// Stranger is an open transaction of a program with a connection of its own: for tests
// of what such programs do. What it does is heard of by nobody.
type Stranger struct{ pgx.Tx }

// Stranger connects a program to the database and begins its transaction. Close ends
// both.
func (d *Database) Stranger(ctx context.Context) (Stranger, error) {
	conn, err := pgx.Connect(ctx, d.home.dsn)
	if err != nil {
		return Stranger{}, err
	}
	if _, err := conn.Exec(ctx, `SELECT set_config($1, $2, false)`, setting, strconv.FormatInt(d.clock(), 10)); err != nil {
		conn.Close(ctx)
		return Stranger{}, err
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		conn.Close(ctx)
	}
	return Stranger{tx}, err
}

// Close closes the connection.
func (s Stranger) Close(ctx context.Context) error { return s.Conn().Close(ctx) }
