package pgbubble

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/internal/pgtest"
)

// TestSessionsAreUsedAgainAsNew: what one bubble did to its session, the next one does not see; a
// session that is in a transaction is nobody's.
func TestSessionsAreUsedAgainAsNew(t *testing.T) {
	config, err := pgx.ParseConfig(pgtest.Shared(t).DSN("postgres") + "&application_name=mine")
	if err != nil {
		t.Fatal(err)
	}
	config.DialFunc = dial
	used := func(do func(conn *pgx.Conn)) (pid uint32) {
		synctest.Test(t, func(t *testing.T) {
			conn, err := pgx.ConnectConfig(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(context.Background())
			pid = conn.PgConn().PID()
			var name, mine, temporary string
			var held int
			row := conn.QueryRow(t.Context(), `SELECT current_setting('application_name'), coalesce(current_setting('my.setting', true), ''),
				coalesce(to_regclass('mine')::text, ''), (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = $1)`, pid)
			if err := row.Scan(&name, &mine, &temporary, &held); err != nil {
				t.Fatal(err)
			}
			if name != "mine" || mine != "" || temporary != "" || held != 0 {
				t.Errorf("a new session has the name %q, the setting %q, the table %q and %d locks", name, mine, temporary, held)
			}
			do(conn)
		})
		return pid
	}
	exec := func(sql string) func(*pgx.Conn) {
		return func(conn *pgx.Conn) {
			if _, err := conn.Exec(context.Background(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
				t.Error(err)
			}
		}
	}
	first := used(exec(`SET my.setting = 'x'; CREATE TEMPORARY TABLE mine (); SELECT pg_advisory_lock(7); SET application_name = 'other'`))
	if again := used(exec(`BEGIN; SELECT pg_advisory_lock(7)`)); again != first {
		t.Errorf("the second bubble has the session %d, the first one had %d", again, first)
	}
	if third := used(exec(`SELECT 1`)); third == first {
		t.Error("a session is used again that was left in a transaction")
	}
}
