package dispatch

import (
	"cmp"
	"slices"

	"github.com/perdure/perdure/internal/fair"
	"github.com/perdure/perdure/internal/heap"
	"github.com/perdure/perdure/internal/suspects"
)

// queue holds calls without a slot: suspects in their order, then the highest priority, then
// calls that were lost, then the oldest. Attempts that are on record and wait for a slot have a
// queue of their own; see Waiter.line.
type queue = heap.Heap[*Waiter]

// first orders true before false.
func first(a, b bool) int {
	switch {
	case a && !b:
		return -1
	case b && !a:
		return 1
	}
	return 0
}

// inTurn is the order in which calls get slots.
func inTurn(a, b *Waiter) int {
	return cmp.Or(suspects.Compare(a.Suspect, b.Suspect), cmp.Compare(b.Priority, a.Priority), first(a.Lost, b.Lost), cmp.Compare(a.number, b.number))
}

// Before implements heap.Element.
func (w *Waiter) Before(other *Waiter) bool { return inTurn(w, other) < 0 }

// Stands implements heap.Element.
func (w *Waiter) Stands(at int) { w.at = at }

// Runs of several keys take turns at a free slot (package fair). A run without a key has the key
// "", which is one like the others.

// share is what waits for regular slots of the runs of one key.
type share struct {
	calls    queue // and runs that have not begun
	onRecord queue // attempts on record that are due; they precede calls of their priority
	toBegin  int   // how many of calls are runs that have not begun
}

// suspect reports whether a call waits for the probation lane.
func (w *Waiter) suspect() bool { return w.Lane == Probation && w.Attempt == nil }

// of returns the queue of a waiter.
func (s *share) of(w *Waiter) *queue {
	if w.Attempt != nil {
		return &s.onRecord
	}
	return &s.calls
}

// first returns the first waiter, or nil.
func (s *share) first() *Waiter {
	switch {
	case len(s.calls) == 0 && len(s.onRecord) == 0:
		return nil
	case len(s.calls) == 0, len(s.onRecord) > 0 && s.onRecord[0].Priority >= s.calls[0].Priority:
		return s.onRecord[0]
	}
	return s.calls[0]
}

// add enqueues a waiter.
func (s *share) add(w *Waiter) {
	s.of(w).Push(w)
	if w.Number == ToBegin {
		s.toBegin++
	}
}

// leave removes a waiter.
func (s *share) leave(w *Waiter) {
	s.of(w).Remove(w.at)
	if w.Number == ToBegin {
		s.toBegin--
	}
}

// look says whether a key takes turns, after its queues have changed.
func (s *Slots) look(k *fair.Key[share]) {
	s.turns.Wait(k, k.State.first() != nil, false, 0)
}

// toBegin returns how many runs of a key wait to begin.
func (s *Slots) toBegin(key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.turns.Find(key); k != nil {
		return k.State.toBegin
	}
	return 0
}

// inTurns returns the calls and runs that wait in the regular lane: the first of each key by the
// age of the keys, the second of each, and so on.
func (s *Slots) inTurns() (all []*Waiter) {
	var sorted [][]*Waiter
	for _, k := range s.turns.All() {
		calls := slices.Clone(k.State.calls)
		slices.SortFunc(calls, inTurn)
		sorted = append(sorted, calls)
	}
	for i, more := 0, true; more; i++ {
		more = false
		for _, calls := range sorted {
			if i < len(calls) {
				all, more = append(all, calls[i]), true
			}
		}
	}
	return all
}
