package dispatch

import "time"

// OnRecord is an attempt that is on record and due, and waits for its slot.
type OnRecord interface {
	// Launch starts it in a slot. It returns false if the attempt no longer wants one.
	Launch(*Slot) bool
	Ended() bool
}

// Forget removes an attempt that no longer waits for a slot from the queue. If its call queues
// again, it has its place.
func (s *Slots) Forget(c Call, x OnRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.waiting[c]; w != nil && w.Attempt == x {
		s.withdraw(w)
		s.keepPlace(w)
	}
}

// MaxOvertaken is how long attempts on record may overtake a waiting call.
const MaxOvertaken = 5 * time.Second

// Moving reports whether slots come free often enough for the runs of a key: no call waits, or the
// first one has not waited for long. Only then may an attempt be put on record before it has a slot.
func (s *Slots) Moving(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.turns.Find(key)
	return !s.keptBack && !s.closed && (k == nil || len(k.State.calls) == 0 || time.Since(k.State.calls[0].since) < MaxOvertaken)
}

// Want returns a slot for an attempt on record that is due, or enqueues it. If may is false it
// is not to wait: its partition is handed over, or its activity is switched off or tried.
func (s *Slots) Want(w *Waiter) (slot *Slot, may bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed || s.leaving[w.Tenure] || s.off[w.Activity]:
		return nil, false
	case s.suspected(w.Activity):
		s.holdBack(nil, w.Activity)
		return nil, false
	}
	if slot = s.take(Regular, running); slot == nil && !w.Attempt.Ended() {
		s.wait(w)
	}
	return slot, true
}

// keepPlace notes the place of a call whose attempt got no slot.
func (s *Slots) keepPlace(w *Waiter) {
	if t := s.seats[w.Run]; t != nil && t.tenure == w.Tenure {
		if t.places == nil {
			t.places = map[int64]int64{}
		}
		t.places[w.Call.Number] = w.number
	}
}

// placeOf returns the place that a call had before; 0 for none.
func (s *Slots) placeOf(w *Waiter) int64 {
	t := s.seats[w.Run]
	if t == nil || t.tenure != w.Tenure {
		return 0
	}
	place := t.places[w.Call.Number]
	delete(t.places, w.Call.Number)
	return place
}
