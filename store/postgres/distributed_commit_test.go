package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

// TestE143_OneRunIsOneWorker: on the Citus cluster that $PERDURE_TEST_URL names, what concerns
// one run is a transaction of the worker that has it, without a two-phase commit: the death of
// the worker in the middle leaves nothing that waits for Citus to decide.
func TestE143_OneRunIsOneWorker(t *testing.T) {
	url, options := anyServer(t)
	if len(options) == 0 {
		t.Skip("The server that PERDURE_TEST_URL names has no Citus.")
	}
	oneRunIsOneWorker(t, url)
}

// oneRunIsOneWorker is that at a coordinator.
func oneRunIsOneWorker(t *testing.T, url string) {
	aside, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer aside.Close(t.Context())
	const drop = `DROP SCHEMA IF EXISTS oneworker CASCADE`
	if _, err := aside.Exec(t.Context(), drop); err != nil {
		t.Fatal(err)
	}
	w := newWorldAt(t, url+"&application_name=oneworker", Distributed(), Schema("oneworker"))
	twoPhase := func() (n int) {
		t.Helper()
		if err := aside.QueryRow(t.Context(), `SELECT count(*) FROM pg_dist_transaction WHERE split_part(gid, '_', 3)::integer IN (SELECT pid FROM pg_stat_activity WHERE application_name = 'oneworker')`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	run := w.created()
	message := func(key string) store.Message {
		return store.Message{Partition: run.Partition, WorkflowID: run.WorkflowID, Key: key, Kind: "signal", Data: []byte("1")}
	}
	number := int64(1)
	next := func() store.Turn { number++; return w.turn(run, number) }
	post := func(m store.Message) func() { return func() { w.must(w.Post(t.Context(), m)) } }
	ended := func() store.Turn {
		turn := next()
		turn.State = &store.RunState{Status: store.Completed, Wake: store.Never, Closed: 9}
		turn.Tallies = []store.Tally{{TallyKey: store.TallyKey{Bucket: 1, Type: "test", Name: "charge"}, Attempts: 1}}
		return turn
	}
	for _, c := range []struct {
		name string
		do   func()
	}{
		{"a start", func() { w.must(w.Create(t.Context(), w.newRun())) }},
		{"a start in line", func() {
			r := w.newRun()
			r.Wake = store.InLine(0, 1)
			w.must(w.Create(t.Context(), r))
		}},
		{"a signal", post(message("a"))},
		{"a signal again", post(message("a"))},
		{"a signal if there is room", post(func() store.Message { m := message("b"); m.IfRoom = true; return m }())},
		{"a message to one run", post(func() store.Message { m := message("c"); m.Run = run.ID; return m }())},
		{"a message for the owner", post(func() store.Message { m := message("d"); m.ForOwner = true; return m }())},
		{"one that replaces another", post(func() store.Message { m := message("d"); m.ForOwner, m.Replace = true, true; return m }())},
		{"a turn that creates its run", func() { w.created() }},
		{"a step", func() { w.commits(next()) }},
		{"a failed attempt", func() {
			turn := next()
			turn.Calls = []store.Call{{Partition: turn.Partition, Run: turn.Run, Number: 1, State: store.Backoff, Name: "charge", Attempt: 2, Due: 5}}
			turn.Attempts = []store.Attempt{{Partition: turn.Partition, Run: turn.Run, Call: 1, Number: 1, Name: "charge", Outcome: "failed", Started: 1, Ended: 2}}
			w.commits(turn)
		}},
		{"a turn that sends to its own partition", func() {
			turn := next()
			turn.Messages = []store.Message{message("e")}
			w.commits(turn)
		}},
		{"a turn that takes messages", func() {
			inbox, err := w.Inbox(t.Context(), []int{run.Partition}, store.InboxRead{})
			w.must(err)
			turn := next()
			for _, m := range inbox {
				turn.Consumed = append(turn.Consumed, m.Sequence)
			}
			w.commits(turn)
		}},
		{"the end", func() { w.commits(ended()) }},
	} {
		before := twoPhase()
		c.do()
		if n := twoPhase(); n > before {
			t.Errorf("%s took %d two-phase commits", c.name, n-before)
		}
	}
	if _, err := aside.Exec(t.Context(), drop); err != nil {
		t.Error(err)
	}
}
