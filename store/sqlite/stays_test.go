package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/perdure/perdure/store"
)

// TestI9_AStepTransactionLeavesNothingOnTheConnection: statements whose effect would last
// longer than the transaction are refused, however they are written, and the next commits work.
func TestI9_AStepTransactionLeavesNothingOnTheConnection(t *testing.T) {
	h, epoch := owned(t)
	if err := commitAll(t.Context(), h, firstTurn(epoch, "r")); err != nil {
		t.Fatal(err)
	}
	number := int64(1)
	try := func(statement string) error {
		number++
		turn := store.Turn{Epoch: epoch, Run: "r", Number: number, CommitID: number, Events: []byte("[]")}
		turn.Hook = func(tx any) error {
			rows, err := tx.(*sql.Tx).QueryContext(context.Background(), statement)
			if err != nil {
				return &store.HookError{Err: err}
			}
			defer rows.Close()
			for rows.Next() {
			}
			return rows.Err()
		}
		err := commitAll(t.Context(), h, turn)
		if err != nil {
			number--
		}
		return err
	}
	for _, statement := range []string{
		"PRAGMA locking_mode = exclusive", "pragma max_page_count(1)", "/* a; */ PRAGMA main.max_page_count = 1", "-- it\nPRAGMA query_only = on",
		"EXPLAIN PRAGMA locking_mode = exclusive", `PRAGMA "locking_mode" = exclusive`, "SELECT ';'; PRAGMA journal_mode = delete", "PRAGMA defer_foreign_keys = on",
		"ATTACH ':memory:' AS other", "CREATE TEMP TABLE runs (id)", "CREATE TABLE temp.runs (id)", `CREATE TABLE IF NOT EXISTS "temp" . runs (id)`, "create temporary view runs as select 1",
		"CREATE TEMP TRIGGER t AFTER INSERT ON runs BEGIN SELECT 1; END",
	} {
		if err := try(statement); !errors.Is(err, errOutlives) {
			t.Errorf("%s: %v", statement, err)
		}
	}
	for _, statement := range []string{"/* */ COMMIT", "-- x\nROLLBACK", "SELECT 1; COMMIT", "END"} {
		if err := try(statement); !errors.Is(err, errEnded) {
			t.Errorf("%s: %v", statement, err)
		}
	}
	for _, statement := range []string{
		"PRAGMA table_info(runs)", "PRAGMA main.foreign_key_check", "CREATE TABLE mine (temp, a DEFAULT 'x; PRAGMA y = 1')", "SELECT 'it''s; COMMIT'",
		"CREATE TRIGGER mine_t AFTER INSERT ON mine BEGIN SELECT CASE WHEN 1 THEN 2 END; END", "INSERT INTO mine SELECT ';', temp FROM mine m WHERE m.temp = 1",
	} {
		if err := try(statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
	if err := commitAll(t.Context(), h, firstTurn(epoch, "s")); err != nil {
		t.Error(err)
	}
}
