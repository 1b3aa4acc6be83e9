package postgres

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/storetest"
)

var schemas atomic.Int64

// freshSchema names a schema that no other test uses: where a test needs no
// database of its own, that is quicker.
func freshSchema() string { return fmt.Sprintf("schema_%d", schemas.Add(1)) }

// recycled is a schema that is emptied and used again: for suites of a hundred
// tests, that is quicker still.
type recycled struct {
	schema string
	conn   *pgx.Conn // nil before it was used
}

// next makes the schema as good as new.
func (r *recycled) next(t testing.TB) (schema string) {
	t.Helper()
	ctx := context.Background()
	if r.conn == nil {
		var err error
		if r.conn, err = pgx.Connect(ctx, pgtest.Shared(t).DSN("postgres")); err != nil {
			t.Fatal(err)
		}
		r.schema = freshSchema()
		return r.schema
	}
	h := &handle{schema: r.schema}
	if _, err := r.conn.Exec(ctx, h.sql(emptied), pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	return r.schema
}

// emptied leaves what populate made.
const emptied = `DROP FUNCTION IF EXISTS perdure.closed CASCADE; DELETE FROM perdure.runs; DELETE FROM perdure.attributes; DELETE FROM perdure.turns; DELETE FROM perdure.calls; DELETE FROM perdure.attempts; DELETE FROM perdure.tallies; DELETE FROM perdure.inbox; DELETE FROM perdure.tasks; DELETE FROM perdure.workers;
	DELETE FROM perdure.nodes; DELETE FROM perdure.meta WHERE key IN ('codecs', 'seal'); DELETE FROM perdure.owners; DELETE FROM perdure.switches; DELETE FROM perdure.node_groups WHERE name <> '';
	DELETE FROM perdure.partitions WHERE id >= (SELECT value::bigint FROM perdure.meta WHERE key = 'partitions');
	UPDATE perdure.partitions SET node = NULL, epoch = 0, clock = 0`

// lasting opens stores on the server of this test binary over connections that stay open when
// a store is closed: where tests open a thousand stores, connecting took most of their time.
func lasting(t testing.TB, options ...Option) store.Opener {
	t.Helper()
	server := pgtest.Shared(t)
	connect.Do(func() {
		config, err := pgxpool.ParseConfig(server.DSN("postgres"))
		if err != nil {
			t.Fatal(err)
		}
		config.MaxConns = 40 // enough for several stores at a time
		Tune(config)
		if connections, err = pgxpool.NewWithConfig(context.Background(), config); err != nil {
			t.Fatal(err)
		}
	})
	return Pool(connections, options...)
}

// connections end with this test binary.
var (
	connect     sync.Once
	connections *pgxpool.Pool
)

func TestConformance(t *testing.T) {
	var r recycled
	storetest.Run(t, func(t *testing.T) store.Opener { return lasting(t, Schema(r.next(t)), Partitions(3)) })
}

// TestE83_ConformanceAtSerializable: the suite passes where the default of the database is
// the strictest isolation, as on servers that know no other.
func TestE83_ConformanceAtSerializable(t *testing.T) {
	extent.OnlyAtNight(t, "the suite again; TestE83_ErrorsAtAnyStatementAndAtCommit plays at serializable")
	var r recycled
	storetest.Run(t, func(t *testing.T) store.Opener {
		return URL(pgtest.Shared(t).DSN("postgres")+"&default_transaction_isolation=serializable", Schema(r.next(t)), Partitions(3))
	})
}
