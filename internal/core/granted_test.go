package core

import (
	"testing"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// TestE49_AGrantSaidTwiceIsOneSlot: the slot with which the attempt starts is not told to
// be unused, which would let another attempt run beside it.
func TestE49_AGrantSaidTwiceIsOneSlot(t *testing.T) {
	r := New(Config{}, history.Start{WorkflowID: "w", Run: "r"})
	r.Bind(&oneCall{run: r, start: StartCall{Kind: history.ActivityScheduled, Name: "work"}})
	if _, err := r.Step(1, nil, func(*Call) bool { return false }); err != nil {
		t.Fatal(err)
	}
	out := stepped(t, r, 2, Granted{Call: 1}, Granted{Call: 1})
	if len(out.Dispatch) != 1 || len(out.Unused) != 0 {
		t.Errorf("%d attempts start, and the slots of %v are free", len(out.Dispatch), out.Unused)
	}
}

// TestE49_AGrantAtTheEndOfTheRun: the time of the run is over in the step that brings the
// slot, and the code has to see a request first. The call stays in the queue, and its queue
// timeout stays.
func TestE49_AGrantAtTheEndOfTheRun(t *testing.T) {
	start := history.Start{WorkflowID: "w", Run: "r", Settings: history.Settings{RunTimeout: 100}}
	r := New(Config{}, start)
	one := &oneCall{run: r, start: StartCall{Kind: history.ActivityScheduled, Name: "work", Policy: &retry.Policy{QueueTimeout: 50}}}
	r.Bind(one)
	if _, err := r.Step(1, nil, func(*Call) bool { return false }); err != nil {
		t.Fatal(err)
	}
	out := stepped(t, r, 200, Granted{Call: 1}, Control{Operation: CancelTheRun})
	if len(out.Dispatch) != 0 || len(out.Unused) != 1 || one.call.due != 51 {
		t.Errorf("%d attempts start, the slots of %v are free, and the call waits until %d", len(out.Dispatch), out.Unused, one.call.due)
	}
}
