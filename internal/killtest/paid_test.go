package killtest

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/witness"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

var payKills = flag.Int("pay-kills", extent.AtNight(200, 7000), "how often a process that pays is killed")

// TestU9_PaidOnceHoweverOftenItIsKilled: a provider without idempotency keys does the work and
// loses the answer one time in five, or sends it too late, and the process that pays is killed
// again and again. Nothing is paid twice or not at all, and each question is on record.
func TestU9_PaidOnceHoweverOftenItIsKilled(t *testing.T) {
	setSeed()
	n := *payKills
	if testing.Short() {
		n = min(n, 10)
	}
	t.Logf("%d kills; again: go test ./internal/killtest -run %s -pay-kills %d -seed %d", n, t.Name(), n, *seed)
	s := newScene(t)
	moments := rand.New(rand.NewPCG(*seed, 9))
	load := witness.Load{Engine: s.client, Book: s.book, Seed: *seed, Only: []string{"paid"}}
	load.Begin(t.Context())
	for i := range n {
		if i > 0 && i%1000 == 0 {
			t.Logf("%d kills, %d runs", i, load.Finished())
		}
		w := s.spawn()
		if moments.IntN(8) > 0 {
			<-w.ready
			load.Progress(moments.IntN(16))
		}
		select {
		case <-time.After(time.Duration(moments.Int64N(int64(10 * time.Millisecond)))):
		case <-w.Dead:
		}
		w.kill()
	}
	w := s.spawn()
	end := load.End()
	if err := w.stop(); err != nil {
		t.Errorf("the last worker ended with %v: %s", err, w.Said())
	}
	s.listen()
	judge(t, end)
	counts, err := ops.Counts(t.Context(), s.client)
	if err != nil {
		t.Fatal(err)
	}
	if len(counts.Calls) > 0 || counts.Runs["completed"] != len(end.Runs) {
		t.Errorf("at the end there are %+v, want %d runs, all completed, and no call in doubt or waiting", counts, len(end.Runs))
	}
	questions := map[string]int{}
	for _, r := range end.Runs {
		attempts, err := s.client.Workflow(r.ID).Attempts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range attempts {
			if a.Question > 0 {
				questions[a.Outcome]++
			}
		}
	}
	if questions[view.OutcomeFound]+questions[view.OutcomeAbsent] < n/20 || len(end.Runs) < n/4 {
		t.Errorf("%d kills, and only %d runs and these questions: %v", n, len(end.Runs), questions)
	}
	t.Logf("%d runs, %d entries in the book, questions: %v", len(end.Runs), len(end.Entries), questions)
}
