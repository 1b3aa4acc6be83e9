package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/store"
)

// old is a database as version 6 of the schema wrote it: 300 runs of three turns, every
// third of which is over, with all that can hang on a run. Some rows are gone, so that
// what is left has no consecutive numbers.
var old = []string{
	`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
	INSERT INTO runs (partition, id, workflow_id, latest, type, node_group, chain, attempt, created, status, wake, closed, start, detail, priority, is_full)
	SELECT 0, 'run-' || i, 'flow-' || i, 1, 'flow', '', 'run-' || i, 1, i, iif(i % 3, 'running', 'completed'), iif(i % 3, 0, NULL), iif(i % 3, 0, 7), '5', x'00ff', i, i % 2 FROM n`,
	`INSERT INTO turns SELECT partition, id, n.column1, 70 + n.column1, 1, 17, 'turn ' || n.column1 || ' of ' || id FROM runs CROSS JOIN (VALUES (1), (2), (3)) n`,
	`INSERT INTO calls SELECT partition, id, 1, 'backoff', 'charge', 'q', 2, 99, NULL FROM runs WHERE status = 'running'`,
	`INSERT INTO attempts SELECT partition, id, 1, 1, 'charge', 'failed', 'E', '', 1, 2, '{}' FROM runs`,
	`INSERT INTO attributes SELECT partition, 'customer', 'ann', id FROM runs`,
	`DELETE FROM turns WHERE run = 'run-2'`, `DELETE FROM calls WHERE run = 'run-2'`, `DELETE FROM attempts WHERE run = 'run-2'`,
	`DELETE FROM attributes WHERE run = 'run-2'`, `DELETE FROM runs WHERE id = 'run-2'`,
}

func TestADatabaseOfAnOlderVersionIsBroughtUpToDate(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "old.db")
	writeOld(t, path)
	db, err := File(path).Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, query := range []string{"PRAGMA foreign_key_check", "SELECT * FROM pragma_integrity_check WHERE integrity_check <> 'ok'"} {
		rowsOf(t, db, query, func(r row) { t.Errorf("%s: %v", query, r) })
	}
	rec, err := db.Load(ctx, 0, "run-4")
	if err != nil {
		t.Fatal(err)
	}
	want := store.Run{
		ID: "run-4", WorkflowID: "flow-4", Type: "flow", Chain: "run-4", Attempt: 1, Created: 4, Start: []byte("5"), Priority: 4, Latest: true,
		Attributes: []store.Attribute{{Name: "customer", Value: "ann"}},
		RunState:   store.RunState{Status: store.Running, Detail: []byte{0, 0xff}},
	}
	if !reflect.DeepEqual(rec.Run, want) {
		t.Errorf("the run is  %+v\nwant %+v", rec.Run, want)
	}
	var turns []string
	for _, t := range rec.Turns {
		turns = append(turns, fmt.Sprintf("%d %d %d %d %s", t.Number, t.CommitID, t.Epoch, t.Time, t.Events))
	}
	if !slices.Equal(turns, []string{"1 71 1 17 turn 1 of run-4", "2 72 1 17 turn 2 of run-4", "3 73 1 17 turn 3 of run-4"}) || len(rec.Calls) != 1 {
		t.Errorf("it has the turns %q and the calls %v", turns, rec.Calls)
	}
	counts, err := db.Counts(ctx, nil)
	if err != nil || counts.Runs[store.Running] != 199 || counts.Runs[store.Completed] != 100 || counts.Calls[store.Backoff] != 199 {
		t.Errorf("counted %v, %v", counts, err)
	}
	ended, err := db.List(ctx, store.Filter{Status: []store.Status{store.Completed}, Limit: 1000})
	if err != nil || len(ended) != 100 {
		t.Errorf("%d runs are listed as completed, %v", len(ended), err)
	}
	if n, err := db.Delete(ctx, store.Deletion{Runs: []string{"run-3", "run-4"}}); n != 1 || err != nil {
		t.Errorf("%d runs were deleted, %v; want the one that has ended", n, err)
	}
}

// TestAllWaysLeadToOneSchema: a new database has the tables and indexes of one that was
// brought up to date.
func TestAllWaysLeadToOneSchema(t *testing.T) {
	var schemas [2][]string
	for i := range schemas {
		path := filepath.Join(t.TempDir(), "test.db")
		if i == 1 {
			writeOld(t, path)
		}
		db, err := File(path).Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		rowsOf(t, db, "SELECT type || ' ' || name || ': ' || ifnull(sql, '') FROM sqlite_schema ORDER BY 1", func(r row) {
			schemas[i] = append(schemas[i], r.text(0))
		})
	}
	if !slices.Equal(schemas[0], schemas[1]) {
		t.Errorf("new: %s\nbrought up to date: %s", schemas[0], schemas[1])
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

// writeOld makes the file of a database that version 6 of the schema wrote.
func writeOld(t *testing.T, path string) {
	t.Helper()
	if err := create(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	c, err := connect(t.Context(), dsn(path, "rw", "foreign_keys(on)"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	statements := []string{fmt.Sprintf("PRAGMA application_id = %d", applicationID)}
	for _, m := range migrations[:6] {
		statements = append(statements, m.SQL)
	}
	for _, s := range append(append(statements, "PRAGMA user_version = 6"), old...) {
		if err := c.script(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// TestE124_WhatIsPrintedIsWhatOpenDoes: the statements that are due, run by somebody,
// leave the schema that Open leaves. Looking makes no file.
func TestE124_WhatIsPrintedIsWhatOpenDoes(t *testing.T) {
	schemas := map[string][]string{}
	for _, way := range []string{"opened", "new", "empty", "old"} {
		path := filepath.Join(t.TempDir(), "test.db")
		opener := File(path).(store.Migrator)
		version := 0
		switch way {
		case "empty":
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		case "old":
			writeOld(t, path)
			version = 6
		}
		s, err := opener.Schema(t.Context())
		if err != nil || s.Version != version || s.Wanted != len(migrations) || len(s.Due) == 0 {
			t.Fatalf("%s: %+v, %v", way, s, err)
		}
		if way != "opened" {
			_, err = opener.AsIs().Open(t.Context())
			outdated, ok := errors.AsType[*store.SchemaError](err)
			if !ok || outdated.Version != version || !strings.Contains(err.Error(), "perdure migrate") || !errors.Is(err, store.ErrOlder) {
				t.Errorf("%s: as it is, it opens with %v", way, err)
			}
			if _, err := os.Stat(path); way == "new" && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("looking made the file: %v", err)
			}
			c, err := connect(t.Context(), dsn(path, "rwc", "foreign_keys(on)"))
			if err != nil {
				t.Fatal(err)
			}
			script := "BEGIN;\n"
			for _, step := range s.Due {
				script += step.SQL + "\n"
			}
			if err := errors.Join(c.script(script+"COMMIT;"), c.close()); err != nil {
				t.Fatal(err)
			}
			opener = opener.AsIs().(store.Migrator)
		}
		db, err := opener.Open(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", way, err)
		}
		defer db.Close()
		if secret, err := db.Secret(t.Context()); way != "old" && (err != nil || len(secret) < 32) {
			t.Errorf("%s: a secret of %d bytes, %v", way, len(secret), err)
		}
		rowsOf(t, db, "SELECT type || ' ' || name || ': ' || ifnull(sql, '') FROM sqlite_schema ORDER BY 1", func(r row) {
			schemas[way] = append(schemas[way], r.text(0))
		})
		if !slices.Equal(schemas[way], schemas["opened"]) {
			t.Errorf("%s: %s\nopened: %s", way, schemas[way], schemas["opened"])
		}
	}
}
