package engine_test

import (
	"fmt"
	"testing"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/request"
)

// TestE60_ResetOfWhatWasReset: a run that began with the history of another one is sent back to
// any call, before or behind the one from which it goes on, and so are the run that follows and
// a fork of it: each keeps what came before, does the rest again and ends as if nothing had
// happened.
func TestE60_ResetOfWhatWasReset(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		f := newTried()
		tries := f.threeTries()
		e := w.start(tries, f.activity)
		again := map[int]string{1: "a1 2 4 5 of %s", 2: "2 4 5 of %s", 3: "4 5 of %s", 4: "4 5 of %s", 5: "5 of %s"}
		for n := range 25 {
			calls := []int{1 + n%5, 1 + n/5, 1 + (n*7)%5}
			id := fmt.Sprint("run", n)
			begin(t, e, tries, id, "a")
			signal(t, e, id, "number", "s", 7)
			settle()
			f.takeMade()
			for i, call := range calls {
				if i == 1 && n%2 == 1 {
					fork(t, e, request.Fork{WorkflowID: id, NewID: "fork of " + id, Call: int64(call), By: request.By{Who: "ann"}})
					id = "fork of " + id
				} else if done := reset(t, e, id, core.Control{Call: int64(call)}); done.Outcome != "applied" {
					t.Fatalf("after resets to calls %v that to call %d is %+v", calls[:i], call, done)
				}
				settle()
				if d := describe(t, e, id); d.Status != "completed" {
					t.Fatalf("after resets to calls %v the run is %s: %s", calls[:i+1], d.Status, d.Reason)
				}
				same(t, fmt.Sprintf("made after resets to calls %v", calls[:i+1]), f.takeMade(), fmt.Sprintf(again[call], id))
			}
		}
	})
}
