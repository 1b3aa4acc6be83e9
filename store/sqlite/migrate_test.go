package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/migration"
	"github.com/perdure/perdure/internal/upgradetest"
	"github.com/perdure/perdure/store"
)

// later makes the program one of the next version, whose schema has one script more: it
// writes a table again, with all its rows, and adds a column to another.
func later() Option {
	return func(f *file) {
		f.scripts = append(slices.Clone(f.scripts), migration.Script{Name: "a later one", SQL: `
			PRAGMA defer_foreign_keys = ON;
			CREATE TABLE calls_before AS SELECT * FROM calls;
			DROP TABLE calls;
			CREATE TABLE calls (
				partition INTEGER NOT NULL,
				run       TEXT    NOT NULL,
				number    INTEGER NOT NULL,
				first     INTEGER NOT NULL,
				state     TEXT    NOT NULL,
				name      TEXT    NOT NULL,
				queue     TEXT    NOT NULL,
				attempt   INTEGER NOT NULL,
				due       INTEGER NOT NULL,
				data      ANY,
				later     INTEGER NOT NULL DEFAULT 7,
				PRIMARY KEY (partition, run, number),
				FOREIGN KEY (partition, run) REFERENCES runs (partition, id)
			) STRICT, WITHOUT ROWID;
			INSERT INTO calls SELECT *, 8 FROM calls_before;
			DROP TABLE calls_before;
			CREATE INDEX calls_state ON calls (partition, state, due);
			CREATE INDEX calls_shared ON calls (partition, state) WHERE first <> 0;
			ALTER TABLE runs ADD COLUMN later TEXT NOT NULL DEFAULT 'a;b';`})
	}
}

// TestE124_OpenWorkIsMigrated: a database of an earlier version is brought up to date with
// all that it holds, and its runs continue.
func TestE124_OpenWorkIsMigrated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	upgradetest.Open(t, File(path), File(path, later()))
	db, err := File(path, later()).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, query := range []string{"PRAGMA foreign_key_check", "SELECT * FROM pragma_integrity_check WHERE integrity_check <> 'ok'"} {
		rowsOf(t, db, query, func(r row) { t.Errorf("%s: %v", query, r) })
	}
}

func rowsOf(t *testing.T, db store.Store, query string, each func(row)) {
	t.Helper()
	err := db.(*handle).read(t.Context(), "test", func(c *conn) error {
		return c.query(t.Context(), query, func(r row) error { each(r); return nil })
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestE124_WhatIsPrintedIsWhatOpenDoes: the statements that are due, run by somebody,
// leave the schema that Open leaves, with the same facts. Looking makes no file.
func TestE124_WhatIsPrintedIsWhatOpenDoes(t *testing.T) {
	schemas := map[string][]string{}
	for _, way := range []string{"opened", "new", "empty", "earlier", "earlier, opened"} {
		path := filepath.Join(t.TempDir(), "test.db")
		opener := File(path, later()).(store.Migrator)
		version := 0
		switch way {
		case "empty":
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		case "earlier", "earlier, opened":
			db, err := File(path).Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			version = len(migrations)
		}
		s, err := opener.Schema(t.Context())
		if err != nil || s.Version != version || s.Wanted != len(migrations)+1 || len(s.Due) == 0 {
			t.Fatalf("%s: %+v, %v", way, s, err)
		}
		if !strings.HasSuffix(way, "opened") {
			_, err = opener.AsIs().Open(t.Context())
			outdated, ok := errors.AsType[*store.SchemaError](err)
			if !ok || outdated.Version != version || !strings.Contains(err.Error(), "perdure migrate") || !errors.Is(err, store.ErrOlder) {
				t.Errorf("%s: as it is, it opens with %v", way, err)
			}
			if _, err := os.Stat(path); way == "new" && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("looking made the file: %v", err)
			}
			runDue(t, path, s.Due)
			opener = opener.AsIs().(store.Migrator)
		}
		db, err := opener.Open(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", way, err)
		}
		defer db.Close()
		if secret, err := db.Secret(t.Context()); err != nil || len(secret) < 32 {
			t.Errorf("%s: a secret of %d bytes, %v", way, len(secret), err)
		}
		rowsOf(t, db, "SELECT type || ' ' || name || ': ' || ifnull(sql, '') FROM sqlite_schema UNION ALL SELECT key FROM meta ORDER BY 1", func(r row) {
			schemas[way] = append(schemas[way], r.text(0))
		})
		if !slices.Equal(schemas[way], schemas["opened"]) {
			t.Errorf("%s: %s\nopened: %s", way, schemas[way], schemas["opened"])
		}
		s, err = File(path, later()).(store.Migrator).Schema(t.Context())
		if err != nil || len(s.Due) != 0 || s.Version != s.Wanted {
			t.Errorf("%s: afterwards %+v is due, %v", way, s, err)
		}
		_, err = File(path).Open(t.Context())
		_, inspect := File(path).(store.Migrator).Schema(t.Context())
		if !errors.Is(err, store.ErrNewer) || !errors.Is(inspect, store.ErrNewer) || !strings.Contains(err.Error(), fmt.Sprintf("version %d ", len(migrations)+1)) {
			t.Errorf("%s: an earlier program opens it with %v, and looks at it with %v", way, err, inspect)
		}
	}
}

// runDue runs statements as the shell of SQLite runs a file.
func runDue(t *testing.T, path string, due []store.Script) {
	t.Helper()
	c, err := connect(t.Context(), dsn(path, "rwc", "foreign_keys(on)"))
	if err != nil {
		t.Fatal(err)
	}
	script := "BEGIN;\n"
	for _, step := range due {
		script += step.SQL + "\n"
	}
	if err := errors.Join(c.script(script+"COMMIT;"), c.close()); err != nil {
		t.Fatal(err)
	}
}
