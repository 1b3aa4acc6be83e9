package killtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/witness"
)

// accounts is how many runs post, and steps how often each does.
const accounts, steps = 30, 12

// postings is their table.
const postings = "postings"

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
	ctx, cancel := patience(t)
	defer cancel()
	if err := witness.CreatePostings(ctx, s.client, postings); err != nil {
		t.Fatal(err)
	}
	handles, runs := make([]perdure.Handle[int], accounts), make([]witness.Run, accounts)
	for i := range handles {
		h, err := perdure.Start(ctx, s.client, witness.Bank, fmt.Sprint("account ", i), steps)
		if err != nil {
			t.Fatal(err)
		}
		handles[i], runs[i] = h, witness.Run{ID: h.ID(), RunID: h.RunID()}
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
		if sum, err := h.Result(ctx); sum != witness.Repeat(steps, steps) || err != nil {
			t.Errorf("account %d: %d, %v", i, sum, err)
		}
		runs[i].Over = s.book.Length()
	}
	if err := w.stop(); err != nil {
		t.Errorf("the last worker ended with %v: %s", err, w.Said())
	}
	s.listen()
	judge(t, witness.Case{Engine: s.client, Entries: s.book.Entries(), Runs: runs, Postings: postings})
	s.reportAttempts(ctx)
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
	if outcomes["completed"] != accounts*steps || outcomes["failed"] == 0 {
		s.t.Errorf("the attempts are %v; want %d completed, and some failed", outcomes, accounts*steps)
	}
}
