package request

import (
	"context"
	"fmt"
	"testing"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/roomtest"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// TestE60_ASelectionFollowsTheChain: a run continues as new between the dry run and the operation.
// What is done to a run as a whole reaches the run that follows it, which was selected as its
// chain; a reset and what is done to calls are of the one run that the dry run showed.
func TestE60_ASelectionFollowsTheChain(t *testing.T) {
	first, next, other := store.Run{ID: "1", Chain: "1"}, store.Run{ID: "2", Chain: "1"}, store.Run{ID: "3", Chain: "3"}
	found := func() []view.ControlRecord { return []view.ControlRecord{{Call: 7}} }
	for operation, follows := range map[core.Operation]bool{
		core.CancelTheRun: true, core.TerminateTheRun: true, core.PauseTheRun: true, core.ResumeTheRun: true, core.MoveTheRun: true,
		core.ResetTheRun: false, core.RetryNow: false, core.Skip: false,
	} {
		dry := &selection{Operation: operation, chosen: map[uint64][]int64{}}
		dry.add(&first, found())
		text, err := dry.text()
		if err != nil {
			t.Fatal(err)
		}
		s, err := readSelection(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			of   *store.Run
			want bool
		}{{&first, true}, {&next, follows}, {&other, false}} {
			if got := len(s.only(c.of, found())) > 0; got != c.want {
				t.Errorf("%s of run %s is selected: %v", operation, c.of.ID, got)
			}
		}
	}
}

// lists counts how often runs are listed.
type lists struct {
	Database
	n int
}

func (l *lists) List(ctx context.Context, f store.Filter) ([]store.Run, error) {
	l.n++
	return l.Database.List(ctx, f)
}

// TestE60_ADryRunReadsItsRunsAtOnce: it has to name each run that it selects, and what it takes is
// the number of reads more than that of runs. What is done then is what it said.
func TestE60_ADryRunReadsItsRunsAtOnce(t *testing.T) {
	here(t, func(a *asker) {
		const n = 3*bulkPage + 7
		a.Define("order", charges())
		for i := range n {
			_, _, err := a.StartRun(a.ctx, Start{WorkflowID: fmt.Sprint("o-", i), Type: "order", Input: roomtest.Payload(i)})
			a.Must(err)
		}
		a.settle()
		db := &lists{Database: a.Client.db}
		a.Client.db = db
		in := core.Control{Operation: core.CancelTheRun, ID: "all"}
		dry, err := a.ControlAll(a.ctx, view.Filter{Workflow: "order"}, in, true)
		if err != nil || dry.Runs != n || db.n != 2 {
			a.Fatalf("a dry run of %d runs counts %d in %d reads, %v", n, dry.Runs, db.n, err)
		}
		done, err := a.ControlSelected(a.ctx, dry.Selection, in, false)
		if err != nil || done.Runs != n || done.Applied != n || done.Gone != 0 {
			a.Errorf("%d were counted, and done is %d, %d of them gone: %v", n, done.Applied, done.Gone, err)
		}
		for size, want := range map[int]int{0: bulkListed, 100: bulkListed, 16 << 10: 1023, 2 << 20: bulkPage} {
			if got := pageLike([]store.Run{{Start: make([]byte, size)}, {RunState: store.RunState{Detail: make([]byte, size)}}}); got != want {
				a.Errorf("%d runs of %d bytes are read at a time, want %d", got, size, want)
			}
		}
	})
}
