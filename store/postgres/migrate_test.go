package postgres

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/migration"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/internal/upgradetest"
	"github.com/perdure/perdure/store"
)

// later makes the program one of the next version, whose schema has one script more.
func later() Option {
	return func(s *settings) {
		s.scripts = append(slices.Clone(s.scripts), migration.Script{Name: "a later one", SQL: `
			ALTER TABLE perdure.runs ADD COLUMN later text NOT NULL DEFAULT 'a;b';
			ALTER TABLE perdure.runs ALTER COLUMN later DROP DEFAULT;
			ALTER TABLE perdure.runs ALTER COLUMN later SET DEFAULT 'c';
			ALTER TABLE perdure.calls ADD COLUMN later bigint NOT NULL DEFAULT 7;
			CREATE INDEX runs_later ON perdure.runs (partition, later) WHERE later <> '';
			CREATE TABLE perdure.later (id bigint PRIMARY KEY);`})
	}
}

// written makes a schema as a version of it was written: the first one, or none for 0.
func written(t *testing.T, w *world, version int) string {
	t.Helper()
	schema := freshSchema()
	if version > 0 {
		db, err := URL(pgtest.Shared(t).DSN("postgres"), Schema(schema), Partitions(4)).Open(t.Context())
		w.must(err)
		w.must(db.Close())
	}
	return schema
}

// runScript runs statements as psql runs a file.
func runScript(w *world, script string) {
	w.Helper()
	w.must(w.hold(w.Context(), "a test", func(c *conn) error {
		_, err := c.raw.PgConn().Exec(w.Context(), script).ReadAll()
		return err
	}))
}

// shape is all that the catalogue says of a schema, except its name.
func shape(w *world, schema string) string {
	w.Helper()
	all := w.value(`SELECT string_agg(line, E'\n' ORDER BY line) FROM (
		SELECT c.relkind::text || ' ' || c.relname || ' ' || coalesce(c.reloptions::text, '') || ' ' || coalesce(pg_get_indexdef(i.indexrelid), '') AS line
		FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid WHERE c.relnamespace = $1::text::regnamespace
		UNION ALL SELECT c.relname || '.' || a.attname || ' ' || format_type(atttypid, atttypmod) || ' ' || attnotnull || ' ' || coalesce(pg_get_expr(adbin, adrelid), '')
		FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid LEFT JOIN pg_attrdef d ON adrelid = attrelid AND adnum = attnum
		WHERE c.relnamespace = $1::text::regnamespace AND attnum > 0
		UNION ALL SELECT 'function ' || proname || ' ' || prosrc FROM pg_proc WHERE pronamespace = $1::text::regnamespace
	) x`, schema)
	return strings.ReplaceAll(all, schema, "perdure")
}

// TestE124_OpenWorkIsMigrated: a database of an earlier version is brought up to date with
// all that it holds, and its runs continue.
func TestE124_OpenWorkIsMigrated(t *testing.T) {
	dsn, schema := pgtest.Shared(t).DSN("postgres"), freshSchema()
	upgradetest.Open(t, URL(dsn, Schema(schema), Partitions(4)), URL(dsn, Schema(schema), later()))
}

// TestE124_WhatIsPrintedIsWhatOpenDoes: the statements that are due, run by somebody,
// leave the schema that Open leaves, in an empty database and in one of an earlier version.
// Looking changes nothing.
func TestE124_WhatIsPrintedIsWhatOpenDoes(t *testing.T) {
	w := newWorld(t, later())
	want := shape(w, w.schema)
	for version := range len(migrations) + 1 {
		schema := written(t, w, version)
		opener := URL(pgtest.Shared(t).DSN("postgres"), Schema(schema), Partitions(4), later()).(store.Migrator)
		for range 2 {
			s, err := opener.Schema(t.Context())
			w.must(err)
			if s.Version != version || s.Wanted != len(migrations)+1 || len(s.Due) == 0 || !strings.HasSuffix(s.Location, "schema "+schema) {
				t.Fatalf("from version %d: %+v", version, s)
			}
		}
		s, err := opener.Schema(t.Context())
		w.must(err)
		script := "BEGIN;\n"
		for _, step := range s.Due {
			script += step.SQL + "\n"
		}
		runScript(w, script+"COMMIT;\n")
		if got := shape(w, schema); got != want {
			t.Errorf("from version %d: the schema is\n%s\nwant\n%s", version, got, want)
		}
		if s, err = opener.Schema(t.Context()); err != nil || len(s.Due) != 0 || s.Version != s.Wanted {
			t.Errorf("from version %d: afterwards %+v is due, %v", version, s, err)
		}
		db, err := opener.AsIs().Open(t.Context())
		w.must(err)
		secret, err := db.Secret(t.Context())
		if err != nil || len(secret) < 32 || db.Info().Partitions != 4 {
			t.Errorf("the database has %d partitions and a secret of %d bytes, %v", db.Info().Partitions, len(secret), err)
		}
		w.must(db.Close())
	}
}

// TestE124_AProgramThatMayNotMigrateSaysWhatToDo: it was told so, or its user lacks the
// right; the schema is missing or older. It stays as it is.
func TestE124_AProgramThatMayNotMigrateSaysWhatToDo(t *testing.T) {
	w := newWorld(t)
	user := "user_of_" + freshSchema()
	w.exec(`CREATE ROLE ` + user + ` LOGIN`)
	dsn := pgtest.Shared(t).DSN("postgres")
	for _, version := range []int{0, len(migrations)} {
		schema := written(t, w, version)
		says := "no schema of perdure"
		if version > 0 {
			says = "needs version"
			w.exec(`GRANT USAGE ON SCHEMA ` + schema + ` TO ` + user)
			w.exec(`GRANT ALL ON ALL TABLES IN SCHEMA ` + schema + ` TO ` + user)
		}
		for name, opener := range map[string]store.Opener{
			"told so":        store.AsIs(URL(dsn, Schema(schema), later())),
			"without rights": URL(strings.Replace(dsn, "user=postgres", "user="+user, 1), Schema(schema), later()),
		} {
			err := refuses(t, opener, schema, says, "perdure migrate")
			outdated, ok := errors.AsType[*store.SchemaError](err)
			if !ok || !errors.Is(err, store.ErrOlder) || outdated.Version != version || outdated.Wanted != len(migrations)+1 {
				t.Errorf("%s, version %d: %v", name, version, err)
			}
			if lacks := outdated.Err != nil; lacks != (name == "without rights") {
				t.Errorf("%s, version %d: %v", name, version, err)
			}
		}
		opener := URL(dsn, Schema(schema)).(store.Migrator)
		if s, err := opener.Schema(t.Context()); err != nil || s.Version != version {
			t.Errorf("afterwards the version is %d, %v; want %d", s.Version, err, version)
		}
	}
	newer := newWorld(t)
	newer.exec(`UPDATE perdure.meta SET value = '99' WHERE key = 'version'`)
	err := refuses(t, store.AsIs(newer.opener), "version 99", "later program")
	if _, inspect := newer.opener.(store.Migrator).Schema(t.Context()); !errors.Is(err, store.ErrNewer) || !errors.Is(inspect, store.ErrNewer) {
		t.Errorf("a newer schema: %v; looked at: %v", err, inspect)
	}
}
