package dispatch

import (
	"maps"
	"time"
)

// OnRecord is an attempt that is on record and due, and waits for its slot.
type OnRecord interface {
	// Launch starts it in a slot. It returns false if the attempt no longer wants one.
	Launch(*Slot) bool
	Ended() bool
}

// Forget removes an attempt that no longer waits for a slot from the queue. A call that had been
// promised one and queues again has its place.
func (s *Slots) Forget(c Call, x OnRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.waiting[c]; w != nil && w.Attempt == x {
		s.withdraw(w)
		if t := s.seats[w.Run]; w.charged && t != nil && t.tenure == w.Tenure {
			t.keepPlace(w.Call.Number, w.number)
		}
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
	// Who waits for a promise may do so because there are enough of them, while slots are free.
	if first := s.first(); s.open(Regular, running) && (first == nil || !s.open(Regular, first.gets())) {
		s.placeOf(w)
		return s.occupy(Regular, running), true
	}
	if !w.Attempt.Ended() {
		s.wait(w)
	}
	return nil, true
}

// place is that of a call in its queue, while no slot comes of its turn: because its attempt, which
// was promised one, found none free, and waits for one, or is given up and the call queues again.
type place struct {
	number int64
	since  time.Time
}

// placeKept is for how long a place is kept: much longer than it takes to queue again, and too
// short for a later attempt of the call to overtake others by it.
const placeKept = 10 * time.Second

// keepPlace notes the place of a call whose attempt got no slot.
func (t *Seats) keepPlace(call, number int64) {
	now := time.Now()
	if t.places == nil {
		t.places = map[int64]place{}
	}
	if len(t.places) >= 16 { // calls that ended instead
		maps.DeleteFunc(t.places, func(_ int64, p place) bool { return now.Sub(p.since) > placeKept })
	}
	t.places[call] = place{number, now}
}

// placeOf takes the place that a call had before, for which its key was charged; 0 for none.
func (s *Slots) placeOf(w *Waiter) int64 {
	t := s.seats[w.Run]
	if t == nil || t.tenure != w.Tenure {
		return 0
	}
	p := t.places[w.Call.Number]
	delete(t.places, w.Call.Number)
	if time.Since(p.since) > placeKept {
		return 0
	}
	return p.number
}
