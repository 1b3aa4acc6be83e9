package core

import (
	"fmt"
	"testing"
)

// E11: the IDs of signals are remembered, in bounds.
func TestE11_SeenIDsAreBounded(t *testing.T) {
	var s idSet
	s.add("")
	if s.has("") {
		t.Error("the empty ID is one")
	}
	id := func(i int) string { return fmt.Sprint("id-", i) }
	for i := range maxSeen + 5 {
		if s.has(id(i)) {
			t.Fatalf("%s is known already", id(i))
		}
		s.add(id(i))
		s.add(id(i)) // again: changes nothing
		if !s.has(id(i)) {
			t.Fatalf("%s is not known", id(i))
		}
	}
	for i := range maxSeen + 5 {
		if want := i >= 5; s.has(id(i)) != want {
			t.Fatalf("%s is known: %t", id(i), !want)
		}
	}
	if len(s.known) != maxSeen || len(s.order) != maxSeen {
		t.Errorf("%d and %d IDs are kept", len(s.known), len(s.order))
	}
}
