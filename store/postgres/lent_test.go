package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/store"
)

// standard makes a turn whose hook takes a *sql.Tx.
func (s *shop) standard(hook func(tx *sql.Tx) error) store.Turn {
	t := s.plain()
	t.Hook = func(tx any) error {
		var std *sql.Tx
		if !tx.(interface{ As(any) bool }).As(&std) {
			return errors.New("there is no *sql.Tx")
		}
		return hook(std)
	}
	return t
}

// TestE27_AHookTakesAStandardTransaction: values come as other drivers for database/sql
// give them.
func TestE27_AHookTakesAStandardTransaction(t *testing.T) {
	s := newShop(t)
	ctx := t.Context()
	at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	s.commits(s.standard(func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, s.sql(`CREATE TABLE perdure.kinds (b bool, i int, f real, t text, n numeric, raw bytea, at timestamptz, j jsonb, u uuid, nothing int, ids int[])`)); err != nil {
			return err
		}
		result, err := tx.ExecContext(ctx, s.sql(`INSERT INTO perdure.kinds VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`),
			true, 7, 1.5, "text", "12.50", []byte{0, 1}, at, `{"a": 1}`, "6ba7b810-9dad-11d1-80b4-00c04fd430c8", nil, []int{1, 2})
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); n != 1 || err != nil {
			t.Errorf("%d rows, %v", n, err)
		}
		kinds, err := tx.PrepareContext(ctx, s.sql(`SELECT * FROM perdure.kinds WHERE i = $1`))
		if err != nil {
			return err
		}
		var row [11]any
		for _, arg := range []any{7, int64(7), sql.NullInt64{Int64: 7, Valid: true}} {
			if err := kinds.QueryRowContext(ctx, arg).Scan(&row[0], &row[1], &row[2], &row[3], &row[4], &row[5], &row[6], &row[7], &row[8], &row[9], &row[10]); err != nil {
				return fmt.Errorf("%T: %w", arg, err)
			}
		}
		row[6] = row[6].(time.Time).UTC()
		const want = `[true 7 1.5 text 12.50 [0 1] 2026-05-04 03:02:01 +0000 UTC {"a": 1} 6ba7b810-9dad-11d1-80b4-00c04fd430c8 <nil> {1,2}]`
		if got := fmt.Sprint(row); got != want {
			t.Errorf("read\n%s, want\n%s", got, want)
		}
		if err := tx.QueryRowContext(ctx, `SELECT 1 WHERE false`).Scan(new(int)); !errors.Is(err, sql.ErrNoRows) {
			t.Errorf("no row is %v", err)
		}
		_, err = tx.ExecContext(ctx, `SELECT :a`, sql.Named("a", 1))
		if err == nil || !strings.Contains(err.Error(), "write $1") {
			t.Errorf("a name is %v", err)
		}
		rows, err := tx.QueryContext(ctx, `SELECT generate_series(1, 1000)`)
		rows.Next() // and stays open
		return err
	}))
	if got := s.value(s.sql(`SELECT count(*)::text FROM perdure.kinds`)); got != "1" {
		t.Errorf("%s rows", got)
	}
}

// TestE27_AStandardTransactionHarmsOnlyItself: a hook that ends it, fails in it or leaves it
// behind leaves nothing, and its neighbours commit.
func TestE27_AStandardTransactionHarmsOnlyItself(t *testing.T) {
	s := newShop(t)
	insert := func(tx *sql.Tx, id string) error {
		_, err := tx.Exec(s.sql(`INSERT INTO perdure.orders VALUES ($1)`), id)
		return err
	}
	var kept *sql.Tx
	for name, do := range map[string]func(tx *sql.Tx) error{
		"commit":    func(tx *sql.Tx) error { return tx.Commit() },
		"rollback":  func(tx *sql.Tx) error { return tx.Rollback() },
		"failure":   func(tx *sql.Tx) error { _, err := tx.Exec(`SELECT 1/0`); return err },
		"unheeded":  func(tx *sql.Tx) error { tx.Exec(`SELECT 1/0`); return nil },
		"left":      func(tx *sql.Tx) error { kept = tx; return store.ErrHookLeft },
		"panic":     func(*sql.Tx) error { panic("ouch") },
		"abandoned": func(tx *sql.Tx) error { go tx.Exec(`SELECT pg_sleep(60)`); return store.ErrHookLeft },
	} {
		bad := s.standard(func(tx *sql.Tx) error { return errors.Join(insert(tx, name), do(tx)) })
		good := s.standard(func(tx *sql.Tx) error { return insert(tx, "after "+name) })
		s.answers([]store.Turn{bad, good}, 0)
		if s.orders() != "after "+name {
			t.Errorf("%s: left is %q", name, s.orders())
		}
		s.exec(`DELETE FROM perdure.orders`)
	}
	if err := insert(kept, "late"); !errors.Is(err, sql.ErrTxDone) {
		t.Errorf("afterwards: %v", err)
	}
	if tx, err := s.Within(kept); err == nil {
		if _, err = tx.Find(context.Background(), 0, "x", ""); !errors.Is(err, store.ErrTx) {
			t.Errorf("a run found in it: %v", err)
		}
	}
	if s.orders() != "" {
		t.Errorf("left is %q", s.orders())
	}
}

// TestE27_AHookThatIsLeftInTheMiddleOfAStatement: however often a hook is left while it goes on
// asking, the commit ends.
func TestE27_AHookThatIsLeftInTheMiddleOfAStatement(t *testing.T) {
	s := newShop(t)
	for range 100 {
		bad := s.standard(func(tx *sql.Tx) error {
			for range 4 {
				go func() {
					for err := error(nil); err == nil; {
						_, err = tx.Exec(`SELECT 1`)
					}
				}()
			}
			return store.ErrHookLeft
		})
		if result, err := s.Commit(t.Context(), []store.Turn{bad}); err != nil || result.Errors[0] == nil {
			t.Fatalf("%v, %v", err, result.Errors)
		}
	}
}
