package pgbubble

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/store/postgres"
)

// Schema is a schema on the server of this test binary that Databases use, one
// at a time.
type Schema struct {
	dsn, name string
	deletes   string // the statements that empty its tables
}

// schemas are those of this test binary: how many were made, and, by the number
// of their partitions, those that nobody uses.
var schemas = struct {
	sync.Mutex
	made int
	idle map[int][]*Schema
}{idle: map[int][]*Schema{}}

// Borrow lends a schema whose groups have so many partitions to the test, until
// that ends. It must be called outside of bubbles.
func Borrow(tb testing.TB, partitions int) *Schema {
	tb.Helper()
	s := take(partitions)
	if s == nil {
		var err error
		if s, err = create(tb, partitions); err != nil {
			tb.Fatal(err)
		}
	}
	tb.Cleanup(func() {
		schemas.Lock()
		defer schemas.Unlock()
		schemas.idle[partitions] = append(schemas.idle[partitions], s)
	})
	return s
}

// Empty returns an empty database with this clock, which answers nanoseconds
// since 1970. The databases that were here before must be closed.
func (s *Schema) Empty(clock func() int64) *Database { return &Database{home: s, clock: clock} }

// take returns a schema that nobody uses, nil if there is none.
func take(partitions int) *Schema {
	schemas.Lock()
	defer schemas.Unlock()
	idle := schemas.idle[partitions]
	if len(idle) == 0 {
		return nil
	}
	last := len(idle) - 1
	schemas.idle[partitions] = idle[:last]
	return idle[last]
}

// create lets the store make a schema and takes over its clock.
func create(tb testing.TB, partitions int) (*Schema, error) {
	dsn := pgtest.Shared(tb).DSN("postgres") // may end the test, so it comes before the lock
	schemas.Lock()
	schemas.made++
	s := &Schema{dsn: dsn, name: fmt.Sprintf("bubble_%d", schemas.made)}
	schemas.Unlock()
	ctx := tb.Context()
	made, err := postgres.URL(s.dsn, postgres.Schema(s.name), postgres.Partitions(partitions)).Open(ctx)
	if err != nil {
		return nil, err
	}
	if err := made.Close(); err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, s.dsn)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, `CREATE OR REPLACE FUNCTION `+s.name+`.now() RETURNS bigint LANGUAGE sql VOLATILE
		AS 'SELECT current_setting(''`+setting+`'')::bigint'`); err != nil {
		return nil, err
	}
	if err := makeEffects(ctx, conn); err != nil {
		return nil, err
	}
	return s, s.learn(ctx, conn)
}

// learn finds out which tables there are.
func (s *Schema) learn(ctx context.Context, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, `SELECT tablename FROM pg_tables WHERE schemaname = $1 AND tablename <> 'meta'`, s.name)
	if err != nil {
		return err
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	var deletes strings.Builder
	for _, table := range tables {
		fmt.Fprintf(&deletes, "DELETE FROM %s.%s;", s.name, table)
	}
	fmt.Fprintf(&deletes, "DELETE FROM %s.meta WHERE key = 'codecs';", s.name) // a mark of a node that joined
	s.deletes = deletes.String()
	return err
}
