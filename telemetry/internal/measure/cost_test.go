package measure

import (
	"testing"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
)

// TestE63_CountingAllocatesNothing: a turn whose series are known costs no memory, whether it
// begins a run, continues or ends it.
func TestE63_CountingAllocatesNothing(t *testing.T) {
	o := observer{New()}
	start := &history.Start{Type: "flow"}
	turns := []*core.Turn{
		{Number: 1, Dispatch: []core.Dispatch{{Call: 1, Started: 5}}},
		{Number: 2, Dispatch: []core.Dispatch{{Call: 2, Started: 5}}, Fired: 1, Late: 7},
		{Number: 3, Ended: true, State: &core.State{Status: core.StatusCompleted}, Tallies: []core.Tally{{Name: "work", FirstTry: 2}}},
	}
	if n := testing.AllocsPerRun(100, func() {
		for _, turn := range turns {
			o.Turn(start, turn)
		}
		o.Committed(3, 1000)
	}); n != 0 {
		t.Errorf("counting three turns allocates %v times", n)
	}
}
