package killtest

import (
	"fmt"
	"math/bits"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/witness"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// crashLimit is that of a policy that sets none.
var crashLimit = retry.Policy{}.WithDefaults().CrashLimit

// TestE3_PoisonIsQuarantinedAndNobodyElse: two activities kill their process
// each time they run. Both end in quarantine after their limit; everything else
// completes, whoever it was that stood beside them.
func TestE3_PoisonIsQuarantinedAndNobodyElse(t *testing.T) {
	const poisons, bystanders = 2, 24
	s := newScene(t)
	ctx, cancel := patience(t)
	defer cancel()

	for i := range poisons {
		if _, err := perdure.Start(ctx, s.client, witness.Doomed, fmt.Sprint("poison ", i), i); err != nil {
			t.Fatal(err)
		}
	}
	for i := range bystanders {
		if _, err := witness.Start(ctx, s.client, "sequence", fmt.Sprint("bystander ", i), i); err != nil {
			t.Fatal(err)
		}
	}

	// Two deaths make suspects of all that ran. Each poison costs a search that halves, and
	// the deaths that it is charged with.
	most := 2 + poisons*(bits.Len(poisons+bystanders)+crashLimit)
	var w *worker
	for quarantined := 0; quarantined < poisons; {
		if len(s.workers) == most+1 {
			t.Fatalf("the worker died %d times and %d of %d calls are quarantined", most, quarantined, poisons)
		}
		w = s.spawn()
		<-w.ready
		quarantined = s.awaitDeathOrQuarantine(w, poisons)
	}
	for i := range bystanders {
		got, err := perdure.Attach[int](s.client, fmt.Sprint("bystander ", i)).Result(ctx)
		if err != nil || got != witness.Repeat(5, i) {
			t.Errorf("bystander %d: %d, %v", i, got, err)
		}
	}
	if err := w.stop(); err != nil {
		t.Errorf("the last worker ended with %v: %s", err, w.Said())
	}
	s.listen("call_quarantined")
	s.judgePoison(poisons)
	s.judgeBystanders(bystanders)
	t.Logf("the worker died %d times", len(s.workers)-1)
}

// awaitDeathOrQuarantine returns how many calls are quarantined once the worker
// is dead, or all of the poison is.
func (s *scene) awaitDeathOrQuarantine(w *worker, all int) int {
	s.t.Helper()
	for {
		dead := false
		select {
		case <-w.Dead:
			dead = true
		default:
		}
		var counts view.Counts
		err := witness.Patiently(s.t.Context(), func() (err error) {
			counts, err = ops.Counts(s.t.Context(), s.client, 0)
			return err
		})
		if err != nil {
			s.t.Fatal(err)
		}
		if n := counts.Calls["quarantined"]; n == all || dead {
			return n
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (s *scene) judgePoison(poisons int) {
	s.t.Helper()
	executions := map[string]int{}
	for _, e := range s.book.Entries() {
		if e.Phase == witness.Begin && e.Step == "poison" {
			executions[e.Workflow]++
		}
	}
	for i := range poisons {
		id := fmt.Sprint("poison ", i)
		d, err := s.client.Workflow(id).Describe(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		if len(d.Pending) != 1 || d.Pending[0].State != "quarantined" || d.Pending[0].Name != "poison" {
			s.t.Errorf("%s has the pending calls %+v, want one that is quarantined", id, d.Pending)
			continue
		}
		// The other one may have killed the process before this one's body began:
		// not every loss was an execution. The lane has no other one.
		lost, ran := d.Pending[0].LostToCrashes, executions[id]
		// Of the first one two losses came before it was a suspect; the second one shares its
		// activity, and may have been tried alone at once.
		if lost < crashLimit || ran > lost || ran < crashLimit {
			s.t.Errorf("%s ran %d times and lost %d attempts, want at least %d of them alone in the lane", id, ran, lost, crashLimit)
		}
	}
}

func (s *scene) judgeBystanders(bystanders int) {
	s.t.Helper()
	runs, err := s.client.List(s.t.Context(), view.Filter{Call: "quarantined"})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range runs {
		if r.Workflow != witness.Doomed.Name() {
			s.t.Errorf("%s has a quarantined call", r.WorkflowID)
		}
	}
	for i := range bystanders {
		attempts, err := s.client.Workflow(fmt.Sprint("bystander ", i)).Attempts(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		for _, a := range attempts {
			if a.Outcome != "completed" && a.Outcome != "lost" {
				s.t.Errorf("bystander %d: attempt %s was %s (%s)", i, a.ID, a.Outcome, a.Reason)
			}
		}
	}
}
