package core

import (
	"iter"
	"strings"
)

// maxSeen is how many signal IDs a run remembers. An older one is forgotten: the
// same signal sent again would then be a new one.
const maxSeen = 10_000

// signalKey is what a signal is recognised by: IDs of different signals do not
// meet. A signal without an ID has none.
func signalKey(name, id string) string {
	if id == "" {
		return ""
	}
	return name + "\x00" + id
}

// splitSignalKey is what signalKey made a key of. No name contains a NUL.
func splitSignalKey(key string) (name, id string) {
	name, id, _ = strings.Cut(key, "\x00")
	return name, id
}

// idSet remembers the last IDs it was given. The empty ID is none.
type idSet struct{ recent[struct{}] }

func (s *idSet) has(id string) bool {
	_, known := s.get(id)
	return known
}

func (s *idSet) add(id string) { s.put(id, struct{}{}, maxSeen) }

// recent remembers something of the last IDs it was given, of each what it was
// given first. The empty ID is none.
type recent[V any] struct {
	known map[string]V
	order []string // a ring once it is full; next is the oldest
	next  int
}

func (s *recent[V]) get(id string) (v V, known bool) {
	v, known = s.known[id]
	return v, known
}

func (s *recent[V]) put(id string, v V, limit int) {
	if _, known := s.known[id]; id == "" || known {
		return
	}
	if s.known == nil {
		s.known = map[string]V{}
	}
	s.known[id] = v
	if len(s.order) < limit {
		s.order = append(s.order, id)
		return
	}
	delete(s.known, s.order[s.next])
	s.order[s.next] = id
	s.next = (s.next + 1) % limit
}

// oldestFirst lists the IDs in the order in which they were added.
func (s *recent[V]) oldestFirst() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range s.order {
			if !yield(s.order[(s.next+i)%len(s.order)]) {
				return
			}
		}
	}
}
