package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

// TestE28_AHookLeavesItsSessionAsItWas: a role, a setting or a lock of a step transaction
// neither stops the turn it belongs to nor holds for what comes after it, whichever way its
// statements come.
func TestE28_AHookLeavesItsSessionAsItWas(t *testing.T) {
	s := newShop(t)
	s.exec(`DO $$ BEGIN CREATE ROLE perdure_nobody; EXCEPTION WHEN duplicate_object THEN NULL; END $$`)
	for _, statement := range []string{
		`SET ROLE perdure_nobody`, `SET LOCAL ROLE perdure_nobody`, `SELECT set_config('role', 'perdure_nobody', false)`,
		`SET work_mem = '77MB'`, `SELECT 1; SET work_mem = '77MB'`, `SELECT set_config('work_mem', '77MB', false)`, `SELECT pg_advisory_lock(4711)`,
	} {
		for way, do := range map[string]func(tx any) error{
			"pgx": func(tx any) error {
				_, err := tx.(pgx.Tx).Exec(context.Background(), statement, pgx.QueryExecModeSimpleProtocol)
				return err
			},
			"a batch": func(tx any) error {
				b := &pgx.Batch{}
				b.Queue(statement)
				return tx.(pgx.Tx).SendBatch(context.Background(), b).Close()
			},
			"sql": func(tx any) error {
				var std *sql.Tx
				if !tx.(interface{ As(any) bool }).As(&std) {
					return fmt.Errorf("it is no *sql.Tx")
				}
				_, err := std.Exec(statement)
				return err
			},
		} {
			if statement[:8] == "SELECT 1" && way != "pgx" {
				continue // several statements in one text
			}
			t.Run(way+" "+statement, func(t *testing.T) {
				turn := s.plain()
				turn.Hook = do
				s.answers([]store.Turn{turn})
				for range 5 { // on whichever connection
					s.answers([]store.Turn{s.step(func(tx pgx.Tx) error {
						var role, memory string
						err := tx.QueryRow(context.Background(), `SELECT current_setting('role'), current_setting('work_mem')`).Scan(&role, &memory)
						if err == nil && (role != "none" || memory == "77MB") {
							err = fmt.Errorf("the role is %s, work_mem %s", role, memory)
						}
						return err
					})})
				}
				// The server needs a moment to end the session of a connection that was closed.
				for begun := time.Now(); s.value(`SELECT count(*)::text FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711`) != "0"; time.Sleep(10 * time.Millisecond) {
					if time.Since(begun) > 30*time.Second {
						t.Fatal("the lock is held on")
					}
				}
			})
		}
	}
}
