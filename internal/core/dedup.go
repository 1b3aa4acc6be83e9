package core

import (
	"sort"
	"time"
)

// KeepKeys is how long a chain is certain to remember the IDs of signals, updates and
// operations. A run hands all younger IDs on to the next run of its chain, and fills up
// with the latest of the older ones to maxHandedOn or maxUpdates in all. Within a run no ID is
// forgotten: all of them are in its history, which has a limit.
const KeepKeys = time.Hour

// maxHandedOn is how many IDs of signals, and of operations, a run hands on when fewer are
// younger than KeepKeys.
const maxHandedOn = 10_000

// maxYoung is how many signals with IDs may come within KeepKeys. A run that has that many
// is full.
var maxYoung = 100_000

// signalKey returns the key that identifies a signal: name and ID, so that IDs of different
// signals do not collide: no name contains a NUL. It returns "" for a signal without an ID.
func signalKey(name, id string) string {
	if id == "" {
		return ""
	}
	return name + "\x00" + id
}

// idSet remembers IDs. It ignores the empty ID.
type idSet struct{ dedup[struct{}] }

func (s *idSet) has(id string) bool {
	_, known := s.get(id)
	return known
}

func (s *idSet) add(id string, at int64) { s.put(id, struct{}{}, at) }

// dedup maps IDs to the value that was put first for each. It ignores the empty ID.
type dedup[V any] struct {
	known map[string]V
	order []key // oldest first
}

// key is an ID and when it came, in ns. 0 means long ago: the time is not known.
type key struct {
	id string
	at int64
}

func (s *dedup[V]) get(id string) (v V, known bool) {
	v, known = s.known[id]
	return v, known
}

func (s *dedup[V]) put(id string, v V, at int64) {
	if _, known := s.known[id]; id == "" || known {
		return
	}
	if s.known == nil {
		s.known = map[string]V{}
	}
	s.known[id] = v
	s.order = append(s.order, key{id, at})
}

// young returns how many IDs came within KeepKeys.
func (s *dedup[V]) young(now int64) int {
	return len(s.order) - sort.Search(len(s.order), func(i int) bool { return s.order[i].at > now-int64(KeepKeys) })
}

// toHandOn returns the IDs to hand on, oldest first: the young ones, or the latest least if
// that is more.
func (s *dedup[V]) toHandOn(now int64, least int) []key {
	return s.order[max(0, len(s.order)-max(least, s.young(now))):]
}

// stamps returns when the young ones among keys came, in ms. They are the last of the keys.
func stamps(keys []key, now int64) (at []int64) {
	for _, k := range keys {
		if k.at > now-int64(KeepKeys) {
			at = append(at, k.at/int64(time.Millisecond))
		}
	}
	return at
}

// stampOf returns when key i of n came. at has the times of the last len(at) keys.
func stampOf(at []int64, i, n int) int64 {
	if i -= n - len(at); i < 0 {
		return 0
	}
	return at[i] * int64(time.Millisecond)
}
