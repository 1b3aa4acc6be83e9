package core

import "strings"

// maxSeen is how many IDs of signals, and of operations, a run hands on to the next one of
// its chain: the latest. A run itself forgets none, as all of them are in its history,
// which has a limit.
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

// idSet remembers the IDs it was given. The empty ID is none.
type idSet struct{ recent[struct{}] }

func (s *idSet) has(id string) bool {
	_, known := s.get(id)
	return known
}

func (s *idSet) add(id string) { s.put(id, struct{}{}) }

// recent remembers something of the IDs it was given, of each what it was given first. The
// empty ID is none.
type recent[V any] struct {
	known map[string]V
	order []string // oldest first
}

func (s *recent[V]) get(id string) (v V, known bool) {
	v, known = s.known[id]
	return v, known
}

func (s *recent[V]) put(id string, v V) {
	if _, known := s.known[id]; id == "" || known {
		return
	}
	if s.known == nil {
		s.known = map[string]V{}
	}
	s.known[id] = v
	s.order = append(s.order, id)
}

// latest lists the last IDs that were added, at most so many, the oldest first.
func (s *recent[V]) latest(limit int) []string {
	return s.order[max(0, len(s.order)-limit):]
}
