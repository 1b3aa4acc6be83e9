package postgres

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/store"
)

// refuses demands that a database cannot be opened, with an error that has all
// the words.
func refuses(t *testing.T, opener store.Opener, words ...string) error {
	t.Helper()
	s, err := opener.Open(t.Context())
	if err == nil {
		s.Close()
		t.Fatal("it was opened")
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
	return err
}

func TestManyOpenANewDatabaseAtOnce(t *testing.T) {
	for range 3 {
		opener := URL(pgtest.Shared(t).DSN("postgres"), Schema(freshSchema()), Partitions(4))
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				s, err := opener.Open(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				defer s.Close()
				if n := s.Info().Partitions; n != 4 {
					t.Errorf("%d partitions", n)
				}
			})
		}
		wg.Wait()
		w := &world{TB: t, opener: opener}
		w.handle = w.another()
		if got := w.value(`SELECT count(*) || ' ' || max(id) FROM perdure.partitions`); got != "4 3" {
			t.Errorf("partitions: %s", got)
		}
	}
}

func TestOthersDatabasesAreLeftAlone(t *testing.T) {
	for name, script := range map[string]string{
		"tables":               `CREATE TABLE perdure.accounts (id int)`,
		"a table meta":         `CREATE TABLE perdure.meta (id int)`,
		"an equal table meta":  `CREATE TABLE perdure.meta (key text, value text)`,
		"a meta of another":    `CREATE TABLE perdure.meta (key text, value text); INSERT INTO perdure.meta VALUES ('program', 'other'), ('version', '1')`,
		"a view":               `CREATE VIEW perdure.meta AS SELECT 1 AS key`,
		"a later version's":    `CREATE TABLE perdure.meta (key text, value text); INSERT INTO perdure.meta VALUES ('program', 'perdure'), ('version', '99'), ('partitions', '4')`,
		"a damaged meta":       `CREATE TABLE perdure.meta (key text, value text); INSERT INTO perdure.meta VALUES ('program', 'perdure'), ('version', '1')`,
		"an unreadable number": `CREATE TABLE perdure.meta (key text, value text); INSERT INTO perdure.meta VALUES ('program', 'perdure'), ('version', 'one'), ('partitions', '4')`,
	} {
		t.Run(name, func(t *testing.T) {
			dsn, schema := pgtest.Shared(t).DSN("postgres"), freshSchema()
			w := newWorld(t)
			w.exec(`CREATE SCHEMA ` + schema)
			other := &handle{schema: schema}
			for _, statement := range strings.Split(other.sql(script), ";") {
				w.exec(statement)
			}
			tables := func() string {
				return w.value(`SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = $1`, schema)
			}
			before := tables()
			err := refuses(t, URL(dsn, Schema(schema)), schema)
			want := store.ErrForeign
			switch name {
			case "a later version's":
				want = store.ErrNewer
			case "a damaged meta", "an unreadable number":
				want = nil
			}
			if want != nil && !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
			if after := tables(); after != before {
				t.Errorf("before: %s\nafter:  %s", before, after)
			}
		})
	}
}

func TestAnEmptySchemaIsTaken(t *testing.T) {
	w := newWorld(t)
	schema := freshSchema()
	w.exec(`CREATE SCHEMA ` + schema)
	newWorldAt(t, pgtest.Shared(t).DSN("postgres"), Schema(schema)).created()
}

func TestDatabasesThatCannotServe(t *testing.T) {
	c := pgtest.Shared(t)
	w := newWorld(t)
	w.exec(`DROP DATABASE IF EXISTS latin`)
	w.exec(`CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1'`)
	defer w.exec(`DROP DATABASE latin WITH (FORCE)`)
	refuses(t, URL(c.DSN("latin")), "UTF8", "LATIN1")
	refuses(t, URL(c.DSN("nowhere")), "create the database", "nowhere")
	refuses(t, URL(strings.Replace(c.DSN("postgres"), "user=postgres", "user=nobody", 1)), "user and password", "nobody")
	refuses(t, URL("postgres://secret:word@127.0.0.1:1/x?connect_timeout=1&sslmode=disable"), "127.0.0.1:1/x")
	refuses(t, URL("post gres"), "parse")
	if err := refuses(t, URL("postgres://secret:word@127.0.0.1:1/x?sslmode=disable")); !store.Unavailable(err) || strings.Contains(err.Error(), "word") {
		t.Errorf("a server that does not answer: %v", err)
	}
}

func TestSettingsThatMakeNoSense(t *testing.T) {
	dsn := pgtest.Shared(t).DSN("postgres")
	refuses(t, URL(dsn, Partitions(0)), "at least one")
	refuses(t, URL(dsn, Schema("")), "Schema")
	refuses(t, URL(dsn, Schema(`a"b`)), "Schema")
	refuses(t, URL(dsn, Schema("pg_mine")), "pg_")
	refuses(t, URL(dsn, Poll(-time.Second)), "Poll")
	w := newWorld(t) // with 4
	refuses(t, URL(dsn, Schema(w.schema), Partitions(5)), "created with 4 partitions")
	if n := newWorldAt(t, dsn, Schema(w.schema)).Info().Partitions; n != 4 {
		t.Errorf("%d partitions", n)
	}
	s, err := URL(dsn, Schema(freshSchema())).Open(t.Context())
	w.must(err)
	defer s.Close()
	if n := s.Info().Partitions; n != defaultPartitions {
		t.Errorf("%d partitions", n)
	}
}

// TestWhoUsesADatabaseNeedsNoRightToChangeIt opens it as a user who may only use
// the tables that there are.
func TestWhoUsesADatabaseNeedsNoRightToChangeIt(t *testing.T) {
	dsn := pgtest.Database(t)
	user := "user_of_" + freshSchema()
	as := URL(strings.Replace(dsn, "user=postgres", "user="+user, 1))
	owner := newWorldAt(t, pgtest.Shared(t).DSN("postgres"), Schema(freshSchema()))
	owner.exec(`CREATE ROLE ` + user + ` LOGIN`)
	refuses(t, as, "lacks the right to change it", "perdure migrate")
	w := newWorldAt(t, dsn)
	for _, grant := range []string{
		`GRANT USAGE ON SCHEMA perdure TO ` + user,
		`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA perdure TO ` + user,
		`GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA perdure TO ` + user,
	} {
		w.exec(grant)
	}
	s, err := as.Open(t.Context())
	w.must(err)
	defer s.Close()
	run := w.newRun()
	w.must(s.Create(t.Context(), run))
	w.must(s.Join(t.Context(), w.describe("theirs")))
	_, err = s.Renew(t.Context(), store.Renewal{Node: "theirs", Next: 1})
	w.must(err)
	heard := make(chan struct{}, 1)
	go s.Listen(t.Context(), func(store.News) {
		select {
		case heard <- struct{}{}:
		default:
		}
	})
	<-heard
}

func TestAPoolStaysOpen(t *testing.T) {
	config, err := pgxpool.ParseConfig(pgtest.Shared(t).DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	Tune(config)
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	s, err := Pool(pool, Schema(freshSchema())).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Nodes(t.Context()); !errors.Is(err, store.ErrStoreClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := pool.Ping(t.Context()); err != nil {
		t.Errorf("the pool was closed: %v", err)
	}
}

func TestWhereItIs(t *testing.T) {
	for url, want := range map[string]string{
		"postgres://me:secret@db.example:6543/shop":                         "db.example:6543/shop, schema perdure",
		"host=/run/pg dbname=shop password=secret":                          "/run/pg:5432/shop, schema perdure",
		"postgres://a,b:7777/x?target_session_attrs=read-write&password=no": "a:5432,b:7777/x, schema perdure",
	} {
		config, err := pgxpool.ParseConfig(url)
		if err != nil {
			t.Fatal(err)
		}
		if got := location(config.ConnConfig, "perdure"); got != want {
			t.Errorf("%s is said to be at %s", url, got)
		}
	}
}

// TestIDsCompareByteByByte whatever the collation of the database.
func TestIDsCompareByteByByte(t *testing.T) {
	w := newWorld(t)
	odd := w.value(`SELECT coalesce(string_agg(relname || '.' || attname, ', '), '') FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid JOIN pg_namespace n ON n.oid = relnamespace
		WHERE nspname = $1 AND relkind = 'r' AND attnum > 0 AND attcollation <> 0 AND attcollation <> 'pg_catalog."C"'::regcollation`, w.schema)
	if odd != "" {
		t.Errorf("these columns compare otherwise: %s", odd)
	}
}
