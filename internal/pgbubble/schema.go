package pgbubble

import (
	"context"
	"fmt"
	"os"
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

// anyServer is a variable that names the server of a user, on which the tests run instead.
const anyServer = "PERDURE_TEST_URL"

// create lets the store make a schema and takes over its clock.
func create(tb testing.TB, partitions int) (*Schema, error) {
	dsn, theirs := os.LookupEnv(anyServer)
	if !theirs {
		dsn = pgtest.Shared(tb).DSN("postgres") // may end the test, so it comes before the lock
	}
	schemas.Lock()
	schemas.made++
	s := &Schema{dsn: dsn, name: fmt.Sprintf("bubble_%d", schemas.made)}
	schemas.Unlock()
	ctx := tb.Context()
	conn, err := pgx.Connect(ctx, s.dsn)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	options := []postgres.Option{postgres.Schema(s.name), postgres.Partitions(partitions)}
	clock := `current_setting(''` + setting + `'')`
	if theirs {
		var citus bool
		if err := conn.QueryRow(ctx, `SELECT count(*) > 0 FROM pg_extension WHERE extname = 'citus'`).Scan(&citus); err != nil {
			return nil, err
		}
		if citus {
			// The workers of the cluster are not told the time: a message is as old there as
			// what its sender has seen last.
			clock = `coalesce(nullif(current_setting(''` + setting + `'', true), ''''), ''0'')`
			options = append(options, postgres.Distributed())
			s.dsn += "&plan_cache_mode=auto&citus.propagate_set_commands=local"
		}
		if _, err := conn.Exec(ctx, `DROP SCHEMA IF EXISTS `+s.name+` CASCADE`); err != nil {
			return nil, err
		}
	}
	made, err := postgres.URL(s.dsn, options...).Open(ctx)
	if err != nil {
		return nil, err
	}
	if err := made.Close(); err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, `CREATE OR REPLACE FUNCTION `+s.name+`.now() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT `+clock+`::bigint'`); err != nil {
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
	fmt.Fprintf(&deletes, "DROP FUNCTION IF EXISTS %s.closed CASCADE;", s.name) // with the triggers of a closed database
	for _, table := range tables {
		fmt.Fprintf(&deletes, "DELETE FROM %s.%s;", s.name, table)
	}
	fmt.Fprintf(&deletes, "DELETE FROM %s.meta WHERE key IN ('codecs', 'seal');", s.name) // marks of a node that joined, and of a copy
	s.deletes = deletes.String()
	return err
}
