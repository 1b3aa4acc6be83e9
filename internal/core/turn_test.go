package core

import (
	"testing"

	"github.com/perdure/perdure/internal/history"
)

// TestE6_LongTurnsLeaveNothing: the memory of a turn with very many events is not
// kept; that of a short one is used again, and nothing of its events stays alive in it.
func TestE6_LongTurnsLeaveNothing(t *testing.T) {
	long := &Turn{Events: make([]history.Event, 10_000), Dispatch: make([]Dispatch, 10_000)}
	long.Clear()
	if n, m := cap(long.Events), cap(long.Dispatch); n+m != 0 {
		t.Errorf("room for %d events and %d attempts is kept", n, m)
	}
	short, started := []history.Event{{Name: "a"}, {Name: "b"}}, []Dispatch{{Name: "a"}}
	spare := &Turn{Events: short, Dispatch: started, Rows: []Row{{Name: "a"}}}
	spare.Clear()
	if len(spare.Events) != 0 || cap(spare.Events) != 2 || short[0].Name != "" || short[1].Name != "" {
		t.Errorf("%v is kept with room for %d, of %v", spare.Events, cap(spare.Events), short)
	}
	if len(spare.Dispatch) != 0 || started[0].Name != "" || spare.Rows != nil {
		t.Errorf("%+v is kept, with %v", spare, started)
	}
}
