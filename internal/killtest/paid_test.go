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

var payKills = flag.Int("pay-kills", extent.AtNight(200, 700), "how often a process that pays is killed")

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
	ended := make(chan witness.Case, 1)
	go func() { ended <- load.End() }()
	end, resumed := s.resumeHeld(ended)
	if err := w.stop(); err != nil {
		t.Errorf("the last worker ended with %v: %s", err, w.Said())
	}
	s.listen("run_held")
	judge(t, end)
	counts, err := ops.Counts(t.Context(), s.client, 0)
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
	t.Logf("%d runs, of which %d were held and resumed, %d entries in the book, questions: %v", len(end.Runs), resumed, len(end.Entries), questions)
}

// resumeHeld waits for the end of the load. Of thousands of kills three in a row may each come while
// the code of one run alone is at work: that code is taken for the culprit, and its run is held, until
// a person who knows better resumes it.
func (s *scene) resumeHeld(ended <-chan witness.Case) (end witness.Case, resumed int) {
	s.t.Helper()
	for {
		select {
		case end = <-ended:
			return end, resumed
		case <-time.After(time.Second):
		}
		held, err := s.client.List(s.t.Context(), view.Filter{Status: []string{view.StatusParked}})
		if err != nil {
			s.t.Fatal(err)
		}
		for i := range held {
			if _, err := ops.ControlRun(s.t.Context(), s.client, held[i].WorkflowID, ops.ResumeRun(), ops.By("the test"), ops.Why("it was killed from outside")); err != nil {
				s.t.Error(err)
			}
			resumed++
		}
	}
}
