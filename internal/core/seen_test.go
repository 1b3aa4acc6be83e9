package core

import (
	"fmt"
	"testing"
)

// TestE11_ARunForgetsNoID of a signal, however many others came. What it hands on to the
// next run of its chain has a bound.
func TestE11_ARunForgetsNoID(t *testing.T) {
	var s idSet
	s.add("")
	if s.has("") {
		t.Error("the empty ID is one")
	}
	const more = 3 * maxSeen
	id := func(i int) string { return fmt.Sprint("id-", i) }
	for i := range more {
		if s.has(id(i)) {
			t.Fatalf("%s is known already", id(i))
		}
		s.add(id(i))
		s.add(id(i)) // again: changes nothing
	}
	for i := range more {
		if !s.has(id(i)) {
			t.Fatalf("%s is forgotten", id(i))
		}
	}
	kept := s.latest(maxSeen)
	if len(kept) != maxSeen || kept[0] != id(more-maxSeen) || kept[maxSeen-1] != id(more-1) {
		t.Errorf("%d IDs are handed on, from %s to %s", len(kept), kept[0], kept[len(kept)-1])
	}
}
