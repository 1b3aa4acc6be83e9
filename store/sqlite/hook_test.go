package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/sqlite"
)

// shop is a database with a table of the user's, and a run.
type shop struct {
	*testing.T
	store.Store
	epoch int64
	db    *sql.DB
}

func newShop(t *testing.T) *shop {
	path := filepath.Join(t.TempDir(), "shop.db")
	s := &shop{T: t, Store: open(t, sqlite.File(path))}
	var err error
	if s.epoch, err = serve(t.Context(), s.Store, "shop"); err != nil {
		t.Fatal(err)
	}
	s.db = raw(t, path, "CREATE TABLE orders (id TEXT PRIMARY KEY, paid INTEGER)")
	run, first := newRun("r"), s.turn(1)
	first.Create = &run
	if err := commit(t.Context(), s, first); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *shop) turn(number int64) store.Turn {
	return store.Turn{Epoch: s.epoch, Run: "r", Number: number, CommitID: number, Events: []byte("[]")}
}

// step is a turn with a hook.
func (s *shop) step(number int64, hook func(tx *sql.Tx) error) store.Turn {
	t := s.turn(number)
	t.Hook = func(tx any) error { return hook(tx.(*sql.Tx)) }
	return t
}

func (s *shop) turns() int {
	s.Helper()
	turns, err := s.History(s.Context(), 0, "r", 0, 0)
	if err != nil {
		s.Fatal(err)
	}
	return len(turns)
}

func (s *shop) orders() (list string) {
	s.Helper()
	if err := s.db.QueryRow("SELECT ifnull(group_concat(id, ' '), '') FROM (SELECT id FROM orders ORDER BY id)").Scan(&list); err != nil {
		s.Fatal(err)
	}
	return list
}

func insert(id string) func(tx *sql.Tx) error {
	return func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT INTO orders VALUES (?, 1)", id)
		return err
	}
}

func TestE27_HookAndTurnCommitTogetherOrNotAtAll(t *testing.T) {
	s := newShop(t)
	if err := commit(t.Context(), s, s.step(2, insert("a"))); err != nil {
		t.Fatal(err)
	}
	if s.orders() != "a" || s.turns() != 2 {
		t.Fatalf("%q, %d turns", s.orders(), s.turns())
	}
	boom := errors.New("boom")
	result, err := s.Commit(t.Context(), []store.Turn{
		s.step(3, insert("b")),
		s.step(4, func(tx *sql.Tx) error { return errors.Join(insert("c")(tx), boom) }),
		s.step(5, insert("a")), // breaks the user's own rule
		s.step(6, insert("d")),
		s.step(3, insert("e")), // durable by now
	})
	if err != nil {
		t.Fatal(err)
	}
	var hook *store.HookError
	if !errors.Is(result.Errors[1], boom) || !errors.As(result.Errors[2], &hook) || store.Unavailable(result.Errors[2]) ||
		errors.Join(result.Errors[0], result.Errors[3], result.Errors[4]) != nil {
		t.Errorf("got %v", result.Errors)
	}
	if s.orders() != "a b d" || s.turns() != 4 {
		t.Errorf("%q, %d turns", s.orders(), s.turns())
	}
}

func TestHookSeesItsTurnAndReads(t *testing.T) {
	s := newShop(t)
	err := commit(t.Context(), s, s.step(2, func(tx *sql.Tx) error {
		var turns int
		if err := tx.QueryRow("SELECT count(*) FROM histories WHERE run = ?", "r").Scan(&turns); err != nil {
			return err
		}
		if turns != 2 {
			t.Errorf("the hook sees %d turns, want its own too", turns)
		}
		stmt, err := tx.PrepareContext(t.Context(), "INSERT INTO orders VALUES (?, ?)")
		if err != nil {
			return err
		}
		for _, id := range []string{"a", "b", "c"} {
			if _, err := stmt.Exec(id, 1); err != nil {
				return err
			}
		}
		_, err = tx.Query("SELECT id FROM orders") // left open, as is the statement
		return err
	}))
	if err != nil {
		t.Fatal(err)
	}
	if s.orders() != "a b c" {
		t.Errorf("%q", s.orders())
	}
	if err := commit(t.Context(), s, s.turn(3)); err != nil {
		t.Error(err)
	}
}

func TestHookCannotEndTheTransaction(t *testing.T) {
	s := newShop(t)
	number := int64(2)
	for name, end := range map[string]func(tx *sql.Tx) error{
		"Commit":       func(tx *sql.Tx) error { return tx.Commit() },
		"CommitUnseen": func(tx *sql.Tx) error { tx.Commit(); return nil },
		"Rollback":     func(tx *sql.Tx) error { return tx.Rollback() },
		"SQL":          func(tx *sql.Tx) error { _, err := tx.Exec("commit"); return err },
		"End":          func(tx *sql.Tx) error { _, err := tx.Exec(" END TRANSACTION;"); return err },
		"Second":       func(tx *sql.Tx) error { _, err := tx.Exec("SELECT 1; ROLLBACK"); return err },
		"Prepared":     func(tx *sql.Tx) error { _, err := tx.Prepare("ROLLBACK"); return err },
		"Queried":      func(tx *sql.Tx) error { _, err := tx.Query("COMMIT"); return err },
		"Hidden":       func(tx *sql.Tx) error { _, err := tx.Exec("/* why not */ ROLLBACK"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			before := s.turns()
			number += 10
			result, err := s.Commit(t.Context(), []store.Turn{
				s.turn(number),
				s.step(number+1, func(tx *sql.Tx) error { return errors.Join(insert("x"+name)(tx), end(tx)) }),
				s.step(number+2, insert("y"+name)),
			})
			if err != nil {
				t.Fatal(err)
			}
			var hook *store.HookError
			if !errors.As(result.Errors[1], &hook) || errors.Join(result.Errors[0], result.Errors[2]) != nil {
				t.Errorf("got %v", result.Errors)
			}
			if orders := s.orders(); strings.Contains(orders, "x"+name) || !strings.Contains(orders, "y"+name) {
				t.Errorf("orders %q", orders)
			}
			if s.turns() != before+2 {
				t.Errorf("%d turns were added", s.turns()-before)
			}
		})
	}
}

func TestHookThatCommitsBehindOurBackIsAnsweredByWhatIsDurable(t *testing.T) {
	s := newShop(t)
	result, err := s.Commit(t.Context(), []store.Turn{s.turn(2), s.step(3, func(tx *sql.Tx) error {
		_, err := tx.Exec("SELECT 1; END") // as that of a trigger looks
		return err
	}), s.turn(4)})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(result.Errors...); err != nil || s.turns() != 4 {
		t.Errorf("%v, %d turns", err, s.turns())
	}
}

func TestHookMayUseSavepoints(t *testing.T) {
	s := newShop(t)
	err := commit(t.Context(), s, s.step(2, func(tx *sql.Tx) error {
		for _, q := range []string{"SAVEPOINT mine", "INSERT INTO orders VALUES ('a', 1)", "ROLLBACK TO mine", "INSERT INTO orders VALUES ('b', 1)", "RELEASE mine"} {
			if _, err := tx.Exec(q); err != nil {
				return err
			}
		}
		return nil
	}))
	if err != nil || s.orders() != "b" {
		t.Errorf("%v, %q", err, s.orders())
	}
}

func TestHookThatIsInterruptedHarmsOnlyItself(t *testing.T) {
	s := newShop(t)
	// SQLite rolls back the whole transaction of a write that is interrupted.
	endless := func(tx *sql.Tx) error {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := tx.ExecContext(ctx, `INSERT INTO orders WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT 'n' || i, 0 FROM n`)
		return err
	}
	result, err := s.Commit(t.Context(), []store.Turn{s.turn(2), s.step(3, endless), s.step(4, insert("a"))})
	if err != nil {
		t.Fatal(err)
	}
	var hook *store.HookError
	if !errors.As(result.Errors[1], &hook) || !errors.Is(result.Errors[1], context.DeadlineExceeded) || errors.Join(result.Errors[0], result.Errors[2]) != nil {
		t.Errorf("got %v", result.Errors)
	}
	if s.orders() != "a" || s.turns() != 3 {
		t.Errorf("%q, %d turns", s.orders(), s.turns())
	}
}

// TestE27_HookLeftBehindLosesItsTransaction says that the function which still runs
// cannot harm anybody, whatever it is doing.
func TestE27_HookLeftBehindLosesItsTransaction(t *testing.T) {
	s := newShop(t)
	number := int64(2)
	for name, do := range map[string]func(tx *sql.Tx, i int) error{
		"Exec": func(tx *sql.Tx, i int) error { return insert(fmt.Sprint("x", i))(tx) },
		"Query": func(tx *sql.Tx, i int) error {
			var n int
			return tx.QueryRow("SELECT count(*) FROM orders").Scan(&n)
		},
		"Prepare": func(tx *sql.Tx, i int) error {
			stmt, err := tx.Prepare("INSERT INTO orders VALUES (?, 0)")
			if err == nil {
				_, err = stmt.Exec(fmt.Sprint("y", i))
			}
			return err
		},
		"Long": func(tx *sql.Tx, i int) error { // without a context, and for minutes
			_, err := tx.Exec(`INSERT INTO orders WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT 'n' || i, 0 FROM n`)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := s.turns()
			number += 10
			left := make(chan error, 1)
			begun := make(chan struct{})
			result, err := s.Commit(t.Context(), []store.Turn{s.turn(number), s.step(number+1, func(tx *sql.Tx) error {
				go func() {
					err := do(tx, 0)
					close(begun)
					for i := 1; err == nil; i++ {
						err = do(tx, i)
					}
					left <- err
				}()
				if name != "Long" {
					<-begun
				}
				return store.ErrHookLeft
			}), s.turn(number + 2)})
			if err != nil {
				t.Fatal(err)
			}
			if !errors.Is(result.Errors[1], store.ErrHookLeft) || errors.Join(result.Errors[0], result.Errors[2]) != nil {
				t.Errorf("got %v", result.Errors)
			}
			if err := <-left; err == nil {
				t.Error("it continues")
			}
			if s.orders() != "" || s.turns() != before+2 {
				t.Errorf("%q, %d turns", s.orders(), s.turns()-before)
			}
		})
	}
}

func TestHookCannotUseItsTransactionLater(t *testing.T) {
	s := newShop(t)
	var kept *sql.Tx
	if err := commit(t.Context(), s, s.step(2, func(tx *sql.Tx) error { kept = tx; return nil })); err != nil {
		t.Fatal(err)
	}
	if _, err := kept.Exec("DELETE FROM turns"); !errors.Is(err, sql.ErrTxDone) {
		t.Errorf("got %v, want ErrTxDone", err)
	}
}
