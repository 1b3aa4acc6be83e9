package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/sqlite"
)

// writing is a verb that changes the database.
type writing struct {
	verb string
	do   func(ctx context.Context, s store.Store) error
}

// writings are all verbs that change the database, each with an effect of its own.
func writings() []writing {
	var epoch int64
	run, lone, later := newRun("a"), newRun("b"), newRun("c")
	turn := func(run store.Run, number int64) store.Turn {
		t := store.Turn{Epoch: epoch, Run: run.ID, Number: number, CommitID: number, Events: []byte("[]")}
		if number == 1 {
			t.Create = &run
		}
		return t
	}
	message := store.Message{WorkflowID: run.WorkflowID, Key: "key", Kind: "signal", Data: []byte("1")}
	return []writing{
		{"Join", func(ctx context.Context, s store.Store) error { return s.Join(ctx, store.Node{ID: "n"}) }},
		{"Renew", func(ctx context.Context, s store.Store) error {
			_, err := s.Renew(ctx, store.Renewal{Node: "n", Next: 7})
			return err
		}},
		{"Group", func(ctx context.Context, s store.Store) error {
			_, err := s.Group(ctx, "another")
			return err
		}},
		{"Claim", func(ctx context.Context, s store.Store) error {
			owned, err := s.Claim(ctx, "n", []int{0})
			if err == nil {
				epoch = owned[0].Epoch
			}
			return err
		}},
		{"Commit", func(ctx context.Context, s store.Store) error { return commit(ctx, s, turn(run, 1)) }},
		{"Commit", func(ctx context.Context, s store.Store) error { return commit(ctx, s, turn(lone, 1), turn(run, 2)) }},
		{"Commit", func(ctx context.Context, s store.Store) error { // turn by turn: one is durable already
			return commit(ctx, s, turn(run, 2), turn(lone, 2))
		}},
		{"Commit", func(ctx context.Context, s store.Store) error {
			t := turn(run, 3)
			t.Hook = func(tx any) error {
				_, err := tx.(*sql.Tx).ExecContext(ctx, `CREATE TABLE orders (id INTEGER PRIMARY KEY)`)
				return err
			}
			return commit(ctx, s, t)
		}},
		{"Create", func(ctx context.Context, s store.Store) error { return s.Create(ctx, later) }},
		{"Post", func(ctx context.Context, s store.Store) error { return s.Post(ctx, message) }},
		{"Take", func(ctx context.Context, s store.Store) error {
			_, err := s.Take(ctx, 0, run.WorkflowID)
			return err
		}},
		{"Switch", func(ctx context.Context, s store.Store) error {
			_, err := s.Switch(ctx, store.Switch{Kind: store.SwitchActivity, Name: "charge", Off: true, Request: "1"})
			return err
		}},
		{"Transact", func(ctx context.Context, s store.Store) error {
			return s.Transact(ctx, func(tx any) error {
				within, err := s.Within(tx)
				return errors.Join(err, within.Post(ctx, message))
			})
		}},
		{"Commit", func(ctx context.Context, s store.Store) error {
			t := turn(run, 4)
			t.State = &store.RunState{Status: store.Completed, Wake: store.Never, Closed: 1}
			return commit(ctx, s, t)
		}},
		{"Delete", func(ctx context.Context, s store.Store) error {
			_, err := s.Delete(ctx, store.Deletion{Runs: []string{run.ID}})
			return err
		}},
		{"Release", func(ctx context.Context, s store.Store) error { return s.Release(ctx, "n", []int{0}) }},
		{"Leave", func(ctx context.Context, s store.Store) error { return s.Leave(ctx, "n") }},
	}
}

func TestI1_AnAnswerNeverPrecedesItsSync(t *testing.T) {
	answered(t, sqlite.Full, func(t *testing.T, w writing, before, now, left string) {
		if left == before {
			t.Errorf("%s was answered and a power cut then undoes it", w.verb)
		} else if left != now {
			t.Errorf("after %s a power cut leaves\n%s\nof\n%s", w.verb, left, now)
		}
	})
}

// What Full promises, Normal does not: if the file layer did not forget, the test above
// could not fail.
func TestI1_WithoutSyncsAPowerCutUndoesWhatWasAnswered(t *testing.T) {
	answered(t, sqlite.Normal, func(t *testing.T, w writing, _, now, left string) {
		if left == now {
			t.Errorf("%s survives a power cut without a sync", w.verb)
		}
	})
}

// answered calls verb after verb. As each returns, the power fails: check compares the
// database before the verb, after it, and as the power cut leaves it.
func answered(t *testing.T, level sqlite.Level, check func(t *testing.T, w writing, before, now, left string)) {
	dir := t.TempDir()
	power := watchPower(t, dir)
	path := filepath.Join(dir, "test.db")
	ticks := int64(time.Second)
	s := open(t, sqlite.File(path, sqlite.Durability(level), sqlite.Exclusive(), sqlite.Clock(func() int64 {
		ticks += int64(2 * time.Second) // each verb moves the clock on record
		return ticks
	})))
	before := content(t, path)
	for i, w := range writings() {
		if err := w.do(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", w.verb, err)
		}
		image := filepath.Join(t.TempDir(), fmt.Sprint(i))
		power.cut(t, path, image)
		now := content(t, path)
		if now == before {
			t.Fatalf("%s changes nothing", w.verb)
		}
		check(t, w, before, now, content(t, image))
		before = now
	}
}

// A commit whose sync failed may be on the disk all the same.
func TestE84_AFailedSyncIsNoProofThatNothingWasWritten(t *testing.T) {
	dir := t.TempDir()
	power := watchPower(t, dir)
	s := open(t, sqlite.File(filepath.Join(dir, "test.db"), sqlite.Exclusive()))
	power.fail(true)
	if err := s.Create(t.Context(), newRun("a")); !store.Unavailable(err) || store.Undone(err) {
		t.Errorf("got %v, which must not say that nothing was written", err)
	}
	power.fail(false)
	if err := s.Create(t.Context(), newRun("a")); err != nil {
		t.Error(err)
	}
}

func TestI1_EveryVerbThatWritesMeetsAPowerCut(t *testing.T) {
	reading := []string{"Due", "Line", "Inbox", "Secret", "Within", "Move", "Dissolve"} // there are no wards
	for _, verbs := range []reflect.Type{reflect.TypeFor[store.Owner](), reflect.TypeFor[store.Client]()} {
		for method := range verbs.Methods() {
			tested := slices.ContainsFunc(writings(), func(w writing) bool { return w.verb == method.Name })
			if tested == slices.Contains(reading, method.Name) {
				t.Errorf("%s: it is neither among those that write nor among those that read, or among both", method.Name)
			}
		}
	}
}

// content is all that stands in a database.
func content(t *testing.T, path string) string {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var text strings.Builder
	for _, table := range column(t, db, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`) {
		columns := column(t, db, `SELECT name FROM pragma_table_info(?)`, table)
		quoted := `quote("` + strings.Join(columns, `") || ' ' || quote("`) + `")`
		fmt.Fprintf(&text, "%s: %q\n", table, column(t, db, `SELECT `+quoted+` FROM "`+table+`" ORDER BY 1`))
	}
	return text.String()
}

func column(t *testing.T, db *sql.DB, query string, args ...any) (values []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var v string
		if err := rows.Scan(&v); err != nil {
			t.Fatal(err)
		}
		values = append(values, v)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return values
}
