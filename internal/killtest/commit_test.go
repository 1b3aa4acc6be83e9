package killtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// Postings of a bank whose tables are in the engine's own file. Nothing but the
// step transactions keeps the book from having one twice, or none.
var (
	post = activity.New("post", func(ctx context.Context, account string) (int, error) {
		time.Sleep(rand.N(3 * time.Millisecond)) // so that deaths meet bodies
		return 1, errors.Join(
			activity.OnCommit(ctx, postingOf(account, "debit")),
			activity.OnCommit(ctx, postingOf(account, "credit")),
		)
	}, activity.Retry(retry.Policy{MaxAttempts: 100, Backoff: retry.Fixed(time.Millisecond), CrashLimit: 100}))

	bank = workflow.New("bank", func(wf *workflow.Context, account string) (int, error) {
		sum := 0
		for i := range postings {
			n, err := workflow.Call(wf, post, fmt.Sprint(account, " ", i))
			if err != nil {
				return 0, err
			}
			sum += n
		}
		return sum, nil
	})
)

// accounts is how many runs post, and postings how often each does.
const accounts, postings = 30, 12

// postingOf writes a row, takes its time, and now and then fails after all.
func postingOf(account, side string) func(context.Context, *sql.Tx) error {
	return func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO postings VALUES (?, ?)`, account, side); err != nil {
			return err
		}
		time.Sleep(rand.N(2 * time.Millisecond)) // and transactions
		if rand.IntN(10) == 0 {
			return errors.New("the bank says no")
		}
		return nil
	}
}

// TestE27_KillNineInStepTransactions kills the worker again and again while its
// steps write to a table of the user's own: each completed step has written
// exactly once, by both of its functions.
func TestE27_KillNineInStepTransactions(t *testing.T) {
	setSeed()
	n := min(*kills, 30)
	if testing.Short() {
		n = min(n, 10)
	}
	t.Logf("%d kills; again: go test ./internal/killtest -run %s -kills %d -seed %d", n, t.Name(), n, *seed)
	s := newScene(t)
	db, err := sql.Open("sqlite", s.database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`PRAGMA busy_timeout = 10000; CREATE TABLE postings (account TEXT, side TEXT)`); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := patience(t)
	defer cancel()
	handles := make([]perdure.Handle[int], accounts)
	for i := range handles {
		id := fmt.Sprint("account ", i)
		if handles[i], err = perdure.Start(ctx, s.client, bank, id, id); err != nil {
			t.Fatal(err)
		}
	}
	moments := rand.New(rand.NewPCG(*seed, 1))
	for range n {
		w := s.spawn()
		<-w.ready
		time.Sleep(time.Duration(moments.Int64N(int64(120 * time.Millisecond))))
		w.kill()
	}
	w := s.spawn()
	for i, h := range handles {
		if sum, err := h.Result(ctx); sum != postings || err != nil {
			t.Errorf("account %d: %d, %v", i, sum, err)
		}
	}
	if err := w.stop(); err != nil {
		t.Errorf("the last worker ended with %v: %s", err, w.stderr)
	}
	s.listen()
	s.wantPostings(db)
	s.reportAttempts(ctx)
}

// wantPostings demands one debit and one credit for each step of each account.
func (s *scene) wantPostings(db *sql.DB) {
	s.t.Helper()
	var rows, distinct int
	if err := db.QueryRow(`SELECT count(*), count(DISTINCT account || side) FROM postings`).Scan(&rows, &distinct); err != nil {
		s.t.Fatal(err)
	}
	if want := accounts * postings * 2; rows != want || distinct != want {
		s.t.Errorf("there are %d postings, %d of them distinct; want %d", rows, distinct, want)
	}
}

// reportAttempts says how much went wrong on the way: if nothing did, this test
// shows nothing.
func (s *scene) reportAttempts(ctx context.Context) {
	s.t.Helper()
	outcomes := map[string]int{}
	for i := range accounts {
		attempts, err := s.client.Workflow(fmt.Sprint("account ", i)).Attempts(ctx)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, a := range attempts {
			outcomes[a.Outcome]++
		}
	}
	s.t.Logf("the attempts: %v", outcomes)
	if outcomes["completed"] != accounts*postings || outcomes["failed"] == 0 {
		s.t.Errorf("the attempts are %v; want %d completed, and some failed", outcomes, accounts*postings)
	}
}
