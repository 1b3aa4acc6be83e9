package core

import (
	"testing"

	"github.com/perdure/perdure/internal/history"
)

// TestE6_LongTurnsLeaveNothing: the memory of a turn with very many events does not
// stay with a run that then waits; that of a short one is used again, and nothing of
// its events stays alive in it.
func TestE6_LongTurnsLeaveNothing(t *testing.T) {
	r := New(Config{}, history.Start{}, nil)
	r.Recycle(&Turn{Events: make([]history.Event, 10_000)})
	if n := cap(r.spare); n != 0 {
		t.Errorf("room for %d events is kept", n)
	}
	short := []history.Event{{Name: "a"}, {Name: "b"}}
	r.Recycle(&Turn{Events: short})
	if len(r.spare) != 0 || cap(r.spare) != 2 || short[0].Name != "" || short[1].Name != "" {
		t.Errorf("%v is kept with room for %d, of %v", r.spare, cap(r.spare), short)
	}
}
