package core

import (
	"sort"
	"strings"
	"time"
)

// KeepKeys is how long the IDs of signals, updates and operations are known for certain: a
// run hands all that are younger on to the next one of its chain, and of the older ones the
// latest, up to maxSeen or maxUpdates in all. A run itself forgets none, as all of them are in
// its history, which has a limit.
const KeepKeys = time.Hour

// maxSeen is how many IDs of signals, and of operations, are handed on although they are
// older than KeepKeys.
const maxSeen = 10_000

// maxYoung is how many signals with IDs may come within KeepKeys. A run that has them is full.
var maxYoung = 100_000

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

func (s *idSet) add(id string, at int64) { s.put(id, struct{}{}, at) }

// recent remembers something of the IDs it was given, of each what it was given first. The
// empty ID is none.
type recent[V any] struct {
	known map[string]V
	order []key // oldest first
}

// key is an ID and when it came, in ns; 0 if that is not known, which is long ago.
type key struct {
	id string
	at int64
}

func (s *recent[V]) get(id string) (v V, known bool) {
	v, known = s.known[id]
	return v, known
}

func (s *recent[V]) put(id string, v V, at int64) {
	if _, known := s.known[id]; id == "" || known {
		return
	}
	if s.known == nil {
		s.known = map[string]V{}
	}
	s.known[id] = v
	s.order = append(s.order, key{id, at})
}

// young is how many IDs came within KeepKeys.
func (s *recent[V]) young(now int64) int {
	return len(s.order) - sort.Search(len(s.order), func(i int) bool { return s.order[i].at > now-int64(KeepKeys) })
}

// handedOn lists those that are young, and so many in all if there are older ones, the oldest
// first.
func (s *recent[V]) handedOn(now int64, least int) []key {
	return s.order[max(0, len(s.order)-max(least, s.young(now))):]
}

// stamps are when the last of the keys came, in ms: those that are young.
func stamps(keys []key, now int64) (at []int64) {
	for _, k := range keys {
		if k.at > now-int64(KeepKeys) {
			at = append(at, k.at/int64(time.Millisecond))
		}
	}
	return at
}

// stamped is when the key at place i of n came, of which the last have stamps.
func stamped(at []int64, i, n int) int64 {
	if i -= n - len(at); i < 0 {
		return 0
	}
	return at[i] * int64(time.Millisecond)
}
