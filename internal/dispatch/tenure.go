package dispatch

import (
	"maps"
	"slices"
)

// Tenure is the partition in which a run is served, and the epoch under which.
type Tenure struct {
	Partition int
	Epoch     int64
}

// Suspend takes the calls of tenures that are being handed over out of the queues, and refuses
// others.
func (s *Slots) Suspend(of []Tenure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range of {
		s.leaving[t] = true
	}
	s.away = append(s.away, s.withdrawAll(of)...)
}

// Resume puts the calls of suspended tenures back into their places.
func (s *Slots) Resume(of []Tenure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range of {
		delete(s.leaving, t)
	}
	s.away = slices.DeleteFunc(s.away, func(w *Waiter) bool {
		back := slices.Contains(of, w.Tenure)
		if back && s.waiting[w.Call] == nil && (w.Attempt == nil || !w.Attempt.Ended()) { // else it asked again by itself
			s.enqueue(w)
		}
		return back
	})
}

// Drop forgets tenures that have ended, with their calls and seats.
func (s *Slots) Drop(of []Tenure) (grants []Grant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.withdrawAll(of)
	for _, t := range s.seats {
		if slices.Contains(of, t.tenure) {
			grants = append(grants, s.closeSeats(t)...)
		}
	}
	s.away = slices.DeleteFunc(s.away, func(w *Waiter) bool { return slices.Contains(of, w.Tenure) })
	for _, t := range of {
		delete(s.leaving, t)
	}
	return grants
}

func (s *Slots) withdrawAll(of []Tenure) (calls []*Waiter) {
	for _, w := range s.waiting {
		if slices.Contains(of, w.Tenure) {
			s.withdraw(w)
			calls = append(calls, w)
		}
	}
	maps.DeleteFunc(s.passed, func(_ string, w *Waiter) bool { return slices.Contains(of, w.Tenure) })
	return calls
}
