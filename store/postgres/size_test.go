package postgres

import (
	"reflect"
	"strings"
	"testing"

	"github.com/perdure/perdure/store"
)

func TestLargeBatchesAreSplit(t *testing.T) {
	w := &world{TB: t}
	large := []byte(strings.Repeat("x", most/2))
	m := &commit{}
	for i, events := range [][]byte{nil, large, nil, large, large, nil, nil, nil, nil} {
		turn := w.first(w.newRun())
		turn.Events = events
		if i == 6 || i == 7 {
			turn.Hook = func(any) error { return nil }
		}
		m.turns = append(m.turns, turn)
	}
	if got, want := m.split([]int{0, 1, 2, 3, 4, 5, 6, 7, 8}), [][]int{{0, 1, 2}, {3}, {4, 5}, {6}, {7}, {8}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	m.turns = append(m.turns, m.turns[0])
	if got, want := m.split([]int{0, 6, 9}), [][]int{{0, 6, 9}}; !reflect.DeepEqual(got, want) {
		t.Errorf("two turns of one run: got %v, want %v", got, want)
	}
}

func TestATurnThatIsTooLargeIsRefusedAlone(t *testing.T) {
	w := newWorld(t)
	bad, good := w.first(w.newRun()), w.first(w.newRun())
	bad.Events = make([]byte, mostOne+1)
	result, err := w.Commit(t.Context(), []store.Turn{bad, good})
	w.must(err)
	if result.Errors[0] == nil || !strings.Contains(result.Errors[0].Error(), "PostgreSQL takes") || result.Errors[1] != nil {
		t.Errorf("got %v", result.Errors)
	}
}
