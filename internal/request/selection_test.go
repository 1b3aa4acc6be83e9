package request

import (
	"testing"

	"github.com/perdure/perdure/internal/core"
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
