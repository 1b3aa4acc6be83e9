package postgres

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/storetest"
)

// anyServer is the server on which the suite runs besides: $PERDURE_TEST_URL. Is it the
// coordinator of a Citus cluster, the database is distributed.
func anyServer(t testing.TB) (url string, options []Option) {
	t.Helper()
	url = os.Getenv("PERDURE_TEST_URL")
	if url == "" {
		t.Skip("PERDURE_TEST_URL names no server.")
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var citus bool
	if err := conn.QueryRow(t.Context(), hasCitus).Scan(&citus); err != nil {
		t.Fatal(err)
	}
	if citus {
		options = []Option{Distributed()}
	}
	return url, options
}

// at is a schema of a server, which the suite empties and uses again.
func (r *recycled) at(t testing.TB, url string) (schema string) {
	t.Helper()
	if r.conn == nil {
		conn, err := pgx.Connect(context.Background(), url)
		if err != nil {
			t.Fatal(err)
		}
		r.conn, r.schema = conn, "conformance"
		if _, err := conn.Exec(context.Background(), `DROP SCHEMA IF EXISTS conformance CASCADE`); err != nil {
			t.Fatal(err)
		}
		return r.schema
	}
	return r.next(t)
}

// TestE133_ConformanceOnAnyServer: the suite passes on a server that somebody else runs.
func TestE133_ConformanceOnAnyServer(t *testing.T) {
	url, options := anyServer(t)
	var r recycled
	storetest.Run(t, func(t *testing.T) store.Opener {
		return URL(url, slices.Concat(options, []Option{Schema(r.at(t, url)), Partitions(3)})...)
	})
}

// TestE144_TheSuiteOnCitus: a sample of the suite passes on a cluster of Citus, with two
// workers, and what concerns one run is a transaction of one of them. TestE133 has all of it.
func TestE144_TheSuiteOnCitus(t *testing.T) {
	url := pgtest.Citus(t, 2)[0].DSN("postgres")
	const sampled = 8
	var r recycled
	n := 0
	t.Run("sample", func(t *testing.T) {
		storetest.Run(t, func(sub *testing.T) store.Opener {
			if n++; sub != t && (n%sampled != 0 || strings.Contains(sub.Name(), "/Race/")) { // those take minutes
				sub.SkipNow()
			}
			return URL(url, Distributed(), Schema(r.at(sub, url)), Partitions(3))
		})
	})
	t.Run("one worker", func(t *testing.T) { oneRunIsOneWorker(t, url) })
}

// distributedHere opens a schema of the server of this test binary, which has no Citus, as
// if it were distributed: the statements are those for Citus, and all tables are here.
func distributedHere(t testing.TB, schema string, partitions int) {
	t.Helper()
	s, err := URL(pgtest.Shared(t).DSN("postgres"), Schema(schema), Partitions(partitions)).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h := s.(*handle)
	err = h.hold(t.Context(), "a test", func(c *conn) error {
		return c.script(t.Context(), `CREATE TABLE IF NOT EXISTS perdure.places (partition bigint PRIMARY KEY);
			CREATE TABLE IF NOT EXISTS perdure.steps (partition bigint);
			INSERT INTO perdure.places SELECT DISTINCT id & 4294967295 FROM perdure.partitions ON CONFLICT DO NOTHING;
			INSERT INTO perdure.meta VALUES ('distributed', 'citus') ON CONFLICT DO NOTHING`)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// tableOfPartitions finds the tables that are distributed, in a statement.
var tableOfPartitions = regexp.MustCompile(`perdure\.(` + strings.Join(distributedTables, "|") + `|places)\b(?: (?:AS )?([a-z]\w*)\b)?`)

// ofPartition is a statement's word for the partitions that it is about. A row of places is
// a partition; what a run read by its partition has lies beside it.
var ofPartition = regexp.MustCompile(`\bpartition = (?:\$\d+|runs\.partition|ANY \(\$\d+(?:::bigint\[\])?\))|VALUES \(\$1|SELECT \$1, |SELECT p\.partition, |^INSERT INTO perdure\.places `)

// TestE134_StatementsNameTheirPartition: on a distributed database each statement that
// concerns a table of partitions names them, and each that writes to one names one. The
// whole suite runs, on a server that is none, and all it says is looked at; by day every fifth
// check, which between them say all that there is to say about each table.
func TestE134_StatementsNameTheirPartition(t *testing.T) {
	var r recycled
	ear := &eavesdropper{}
	config, err := pgxpool.ParseConfig(pgtest.Shared(t).DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	Tune(config)
	forCitus(config)
	config.MaxConns = 40 // several stores at a time
	config.ConnConfig.RuntimeParams["plan_cache_mode"] = "auto"
	config.ConnConfig.Tracer = ear
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	checks := 0
	var distribute sync.Once
	storetest.Run(t, func(t *testing.T) store.Opener {
		if checks++; t.Name() != "TestE134_StatementsNameTheirPartition" && checks%5 != 0 && !strings.Contains(t.Name(), "Tall") && !extent.Nightly() {
			t.Skip("by day every fifth check is played, and those of tallies, which are few")
		}
		schema := r.next(t)
		distribute.Do(func() { distributedHere(t, schema, 3) }) // it stays so when it is emptied
		return Pool(pool, Schema(schema))
	})
	seen := map[string]bool{}
	for _, said := range ear.said {
		said = strings.ReplaceAll(said, `"`+r.schema+`".`, "perdure.")
		tables := tableOfPartitions.FindAllStringSubmatch(said, -1)
		if len(tables) == 0 {
			continue
		}
		named := ofPartition.FindAllString(said, -1)
		for _, table := range tables {
			seen[table[1]] = true
		}
		if len(named) < len(tables) {
			t.Errorf("of its %d tables %d are named with their partition:\n%s", len(tables), len(named), said)
		}
		if strings.Contains(said, "LATERAL") && strings.Contains(said, "unnest") {
			t.Errorf("it reads for each row of an array:\n%s", said)
		}
		if writes.MatchString(said) && strings.Contains(said, "partition = ANY") {
			t.Errorf("it writes to several partitions:\n%s", said)
		}
	}
	for _, table := range distributedTables {
		if !seen[table] {
			t.Errorf("no statement about %s was heard", table)
		}
	}
	t.Logf("%d statements were heard", len(ear.said))
}

var writes = regexp.MustCompile(`\b(INSERT INTO|UPDATE|DELETE FROM) perdure\.`)
