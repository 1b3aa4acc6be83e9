package postgres

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/store"
)

// finds demands that these symptoms are found, as "kind subject", and no others; each has
// a problem and something to do.
func (w *world) finds(h *handle, than bounds, want ...string) []store.Symptom {
	w.Helper()
	found, err := h.examine(w.Context(), than)
	w.must(err)
	var got []string
	for _, s := range found {
		got = append(got, s.Kind+" "+s.Subject)
		if s.Problem == "" || s.Do == "" || strings.HasSuffix(s.Problem+s.Do, ".") {
			w.Errorf("%+v", s)
		}
	}
	if len(got) != len(want) {
		w.Fatalf("found %q, want %q", got, want)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			w.Errorf("found %q, want %q", got, want)
		}
	}
	return found
}

// TestE126_TheServerIsLookedAt: each symptom that is planted is found with its cause and
// the statement to type, and nothing where all is well.
func TestE126_TheServerIsLookedAt(t *testing.T) {
	server := pgtest.Start(t, pgtest.Set("max_prepared_transactions", "2"))
	dsn := server.Database(t)
	w := newWorldAt(t, dsn)
	run := w.created()
	w.finds(w.handle, usual)

	w.exec(`INSERT INTO perdure.calls SELECT 0, perdure.run_bytes('gone'), 1, 0, 'backoff', 'pay', '', 2, 7, '{}'`)
	w.exec(`INSERT INTO perdure.attempts SELECT 0, perdure.run_bytes('gone'), 1, n, 'pay', 'failed', '', '', 1, 2, '{}' FROM generate_series(1, 3) n`)
	w.exec(`INSERT INTO perdure.turns VALUES (0, perdure.run_bytes('gone'), 1, 1, 1, 1, '[]')`)
	w.exec(`INSERT INTO perdure.attributes VALUES (0, 'a', 'b', perdure.run_bytes('gone'))`)
	found := w.finds(w.handle, usual, "orphan table turns", "orphan table calls", "orphan table attempts", "orphan table attributes")
	if !strings.HasPrefix(found[2].Problem, "3 rows") || !strings.Contains(found[2].Problem, "gone") {
		t.Errorf("%+v", found[2])
	}
	for _, s := range found { // what it says to type helps, and harms nothing else
		_, statement, _ := strings.Cut(s.Do, "delete them: ")
		w.exec(statement)
	}
	w.finds(w.handle, usual)

	hasty := usual
	hasty.stuck = 0
	w.must(w.Post(t.Context(), store.Message{Partition: run.Partition, WorkflowID: run.WorkflowID, Key: "k", Kind: "signal"}))
	if s := w.finds(w.handle, hasty, "stuck message")[0]; !strings.Contains(s.Problem, run.WorkflowID) || !strings.Contains(s.Problem, `"signal"`) || !strings.Contains(s.Problem, "a node") {
		t.Errorf("%+v", s)
	}
	w.exec(`DELETE FROM perdure.inbox`)

	idle, err := pgx.Connect(t.Context(), dsn+"&application_name=psql")
	w.must(err)
	defer idle.Close(context.Background())
	_, err = idle.Exec(t.Context(), `BEGIN; LOCK TABLE perdure.switches IN ACCESS EXCLUSIVE MODE`)
	w.must(err)
	hasty = usual
	hasty.blocked = 300 * time.Millisecond
	for w.value(`SELECT (clock_timestamp() - xact_start > interval '301 ms')::text FROM pg_stat_activity WHERE application_name = 'psql'`) != "true" {
	}
	waits := w.another()
	done := make(chan error, 1)
	go func() {
		_, err := waits.Switches(context.Background(), "", 0)
		done <- err
	}()
	for w.value(`SELECT count(*)::text FROM pg_stat_activity WHERE wait_event_type = 'Lock'`) == "0" {
	}
	if s := w.finds(w.handle, hasty, "blocking session")[0]; !strings.Contains(s.Problem, "1 sessions wait") { // although it has not waited for so long
		t.Errorf("%+v", s)
	}
	hasty = usual
	hasty.long, hasty.blocked = 0, 0
	both := w.finds(w.handle, hasty, "blocking session", "blocking session", "blocking session")
	culprit := fmt.Sprint("session ", idle.PgConn().PID(), " (psql, user postgres)")
	if both[0].Subject != culprit || !strings.Contains(both[0].Problem, "idle in transaction") || both[2].Subject != culprit || !strings.Contains(both[2].Problem, "1 sessions wait") {
		t.Errorf("%+v", both)
	}
	_, do, _ := strings.Cut(both[0].Do, "end it: ")
	do, _, _ = strings.Cut(do, ";")
	w.value(`SELECT (` + strings.TrimPrefix(do, "SELECT ") + `)::text`)
	w.must(<-done)

	preparing, err := pgx.Connect(t.Context(), dsn)
	w.must(err)
	defer preparing.Close(context.Background())
	_, err = preparing.Exec(t.Context(), `BEGIN; CREATE TABLE held (id int); PREPARE TRANSACTION 'it''s held'`)
	w.must(err)
	if s := w.finds(w.handle, hasty, "blocking prepared transaction it's held")[0]; !strings.Contains(s.Do, `'it''s held'`) {
		t.Errorf("%+v", s)
	}
	_, err = preparing.Exec(t.Context(), `ROLLBACK PREPARED 'it''s held'`)
	w.must(err)

	hasty = usual
	hasty.occupied = 0.001
	w.finds(w.handle, hasty, "pool connections")
	few := newHandle(w, dsn+"&pool_max_conns=3")
	w.finds(few, usual, "pool pool")
	w.finds(newHandle(w, dsn+"&statement_timeout=4500&lock_timeout=100ms"), usual, "timeout lock_timeout", "timeout statement_timeout")
	w.finds(newHandle(w, dsn+"&statement_timeout=60000"), usual)

	w.exec(`UPDATE perdure.partitions SET clock = perdure.now() + 3600000000000 WHERE id = 1`)
	if s := w.finds(w.handle, usual, "clock clock")[0]; !strings.Contains(s.Problem, "set back") || !strings.Contains(s.Problem, "1h0m0s") {
		t.Errorf("%+v", s)
	}
	w.exec(`UPDATE perdure.partitions SET clock = 0 WHERE id = 1`)
	w.exec(`CREATE OR REPLACE FUNCTION perdure.now() RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT (extract(epoch FROM clock_timestamp() - interval '10 minutes') * 1000000000)::bigint $$`)
	if s := w.finds(w.handle, usual, "clock clock", "clock clock")[0]; !strings.Contains(s.Problem, "10m0s behind that of this machine") {
		t.Errorf("%+v", s)
	}
}

// TestE126_DeadRowsAreFound: those that a long transaction keeps alive.
func TestE126_DeadRowsAreFound(t *testing.T) {
	server := pgtest.Start(t, pgtest.Set("autovacuum", "off"))
	w := newWorldAt(t, server.Database(t))
	for range 50 {
		w.created()
	}
	w.exec(`UPDATE perdure.runs SET priority = priority + 1`)
	w.exec(`UPDATE perdure.runs SET priority = priority + 1`)
	than := usual
	than.dead = 60
	for end := time.Now().Add(time.Minute); time.Now().Before(end); { // the server counts with a delay
		if w.value(`SELECT (n_dead_tup > 60)::text FROM pg_stat_user_tables WHERE relname = 'runs'`) == "true" {
			break
		}
		w.exec(`SELECT pg_stat_clear_snapshot()`)
	}
	found := w.finds(w.handle, than, "vacuum table runs", "vacuum autovacuum")
	if !strings.Contains(found[0].Problem, "dead rows beside 50 live ones (last vacuumed: never)") || !strings.Contains(found[0].Do, `VACUUM (ANALYZE) "perdure"."runs"`) {
		t.Errorf("%+v", found[0])
	}
}

// newHandle opens a database for the time of the test.
func newHandle(w *world, url string) *handle {
	w.Helper()
	s, err := URL(url).Open(w.Context())
	w.must(err)
	w.Cleanup(func() { s.Close() })
	return s.(*handle)
}
