package core

import (
	"testing"

	"github.com/perdure/perdure/internal/history"
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
