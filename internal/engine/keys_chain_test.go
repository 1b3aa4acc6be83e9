package engine_test

import (
	"fmt"
	"testing"

	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/workflow"
)

// TestE99_AKeyIsKnownThroughTheRunsOfAChain although more than 10,000 others came since.
func TestE99_AKeyIsKnownThroughTheRunsOfAChain(t *testing.T) {
	extent.NotInShort(t, "large numbers are for the long form")
	in := everywhere[1] // the core decides, and no database makes a difference
	in.run(t, 1, func(t *testing.T, w *world) {
		paid := workflow.NewSignal[int]("paid")
		var account workflow.Workflow[int, int]
		account = workflow.New("account", func(wf *workflow.Context, sum int) (int, error) {
			for range 3000 {
				v, err := workflow.Receive(wf, paid)
				if err != nil || v == 0 {
					return sum, err
				}
				sum += v
			}
			return workflow.ContinueAsNew(wf, account, sum)
		})
		e := w.start(account)
		begin(t, e, account, "a", 0)
		send := func(id string, v int) {
			value, _ := history.Encode(v)
			if err := e.Signal(t.Context(), "a", paid.Name(), id, value); err != nil {
				t.Fatal(err)
			}
		}
		const others = 12_000
		send("the first", 1)
		for i := range others {
			send(fmt.Sprint(i), 1)
			if i%100 == 0 {
				settle()
			}
		}
		settle()
		send("the first", 1)
		send("the end", 0)
		if sum, err := finish[int](t, e, "a"); sum != others+1 || err != nil {
			t.Errorf("%d signals were received, %v, want %d", sum, err, others+1)
		}
	})
}
