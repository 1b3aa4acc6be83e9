package postgres

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

// TestE148_WardsOfADistributedDatabase: on the Citus cluster that $PERDURE_TEST_URL names,
// neither moving a run nor bringing home those of a node that is gone needs a two-phase
// commit; and no run stays in a ward that is dissolved while it comes there, however late
// the worker that has it decides about the transaction.
func TestE148_WardsOfADistributedDatabase(t *testing.T) {
	url, options := anyServer(t)
	if len(options) == 0 {
		t.Skip("The server that PERDURE_TEST_URL names has no Citus.")
	}
	aside, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(sql string, args ...any) (n int) {
		t.Helper()
		if err := aside.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	const drop = `DROP SCHEMA IF EXISTS wards CASCADE`
	if _, err := aside.Exec(t.Context(), drop); err != nil {
		t.Fatal(err)
	}
	w := newWorldAt(t, url+"&application_name=wards", append(options, Schema("wards"))...)
	twoPhase := func() int {
		return ask(`SELECT count(*) FROM pg_dist_transaction WHERE split_part(gid, '_', 3)::integer IN (SELECT pid FROM pg_stat_activity WHERE application_name = 'wards')`)
	}
	first, second := w.created(), w.created()
	second.Partition = first.Partition
	second.ID, second.WorkflowID, second.Chain = "another", "another", "another"
	w.commits(w.first(second))
	host := store.Node{ID: "host", Name: "host", Lease: time.Hour, Build: "other"}
	w.exec(`UPDATE perdure.nodes SET build = 'this'`)
	w.must(w.Join(t.Context(), host))
	ward := ask(`SELECT ordinal FROM wards.nodes WHERE id = 'host'`)
	before := twoPhase()
	w.must(w.Move(t.Context(), store.Move{Partition: first.Partition, Epoch: w.epoch, Run: first.ID, To: host.ID}))
	if n := twoPhase(); n > before {
		t.Errorf("a move took %d two-phase commits", n-before)
	}
	w.must(w.Leave(t.Context(), host.ID))

	// A transaction of which the coordinator knows nothing any more.
	late, err := aside.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{`SELECT FROM wards.places WHERE partition = $1 FOR SHARE`, `UPDATE wards.runs SET ward = (SELECT max(ward) FROM wards.runs WHERE partition = $1) WHERE partition = $1 AND id = 'another'`} {
		if _, err := late.Exec(t.Context(), sql, first.Partition); err != nil {
			t.Fatal(err)
		}
	}
	before = twoPhase()
	dissolved := make(chan bool, 1)
	go func() {
		gone, err := w.Dissolve(t.Context(), first.Partition, w.epoch, ward)
		if err != nil {
			t.Error(err)
		}
		dissolved <- gone
	}()
	other, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(t.Context())
	for waits := false; !waits; {
		select {
		case <-dissolved:
			t.Fatal("the ward was dissolved while a run was on its way there")
		default:
		}
		if err := other.QueryRow(t.Context(), `SELECT count(*) > 0 FROM citus_lock_waits`).Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	if err := late.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !<-dissolved {
		t.Error("the ward of a node that left is not dissolved")
	}
	if n := twoPhase(); n > before {
		t.Errorf("bringing runs home took %d two-phase commits", n-before)
	}
	if n := ask(`SELECT count(*) FROM wards.runs WHERE ward <> 0`); n > 0 {
		t.Errorf("%d runs are where nobody looks", n)
	}
	if _, err := aside.Exec(t.Context(), drop); err != nil {
		t.Error(err)
	}
	aside.Close(t.Context())
}
