package dispatch

import (
	"maps"
	"time"
)

// A body often takes a small part of the time in which its attempt is put on record. If a slot
// were taken for all of that, most slots would wait for commits. So a call whose attempt may
// wait on record is admitted with a promise: it takes its slot when its attempt begins. If none
// is free then, the attempt waits for one as those do that were recorded ahead of their time.
//
// There are as many promises as are likely to be redeemed at once. By Little's law (L = λW),
// of n calls in commits of length c whose bodies take b, n·b/c run at a time. So each free slot
// bears c/b promises: one where bodies are slow, never more than maxPromises. No more than limit
// bodies run in any case, and there is no promise while all slots are taken. Nor are there more
// than fill commits: those beyond would only make each other, and who starts runs, wait.

const (
	maxPromises = 8   // to how many calls a free slot may be promised
	enough      = 256 // promises, unless there are more slots: longer commits are hardly cheaper a turn
)

// stage is how far the attempt of a slot has come.
type stage int

const (
	freed    stage = iota // there is no slot
	promised              // it is being recorded and takes its slot when it begins
	reserved              // it is being recorded and has its slot
	running
)

// become changes the stage of a regular slot.
func (t *Slot) become(next stage) {
	s, now := t.slots, time.Now()
	switch t.stage {
	case promised:
		s.promised--
	case reserved, running:
		s.used--
	}
	switch {
	case t.stage == running:
		s.pace.body.add(now.Sub(t.since))
	case next == running && t.stage != freed:
		s.pace.commit.add(now.Sub(t.since))
	}
	switch t.stage, t.since = next, now; next {
	case promised:
		s.promised++
	case reserved, running:
		s.used++
	}
}

// redeem makes a slot that of a running attempt. It returns nil if it was promised and none is
// free.
func (t *Slot) redeem() *Slot {
	switch {
	case t == nil || t.Lane() != Regular:
		return t
	case t.stage == freed:
		return nil // it was given back when its run began in another way
	case t.stage == promised && !t.slots.open(Regular, running):
		t.become(freed)
		return nil
	}
	t.become(running)
	return t
}

// secure makes sure that a call which needs a slot has one, and not a promise.
func (t *Slot) secure() bool {
	if t.stage != promised {
		return true
	}
	t.slots.promised-- // of others
	free := t.slots.open(Regular, reserved)
	if t.slots.promised++; free {
		t.become(reserved)
	}
	return free
}

// gets returns with what a call is admitted.
func (w *Waiter) gets() stage {
	switch {
	case w.Attempt != nil:
		return running
	case w.Promise || w.Number == ToBegin:
		return promised
	}
	return reserved
}

// pace is how long calls were lately in commits, and their bodies took.
type pace struct{ commit, body average }

// promises returns how many calls may be promised a slot when so many are free.
func (p *pace) promises(free int) int {
	if !p.body.known || p.commit.mean <= p.body.mean {
		return free
	}
	each := int(min(p.commit.mean/max(p.body.mean, 1), maxPromises))
	return min(free*each, max(free, enough))
}

// average is an exponentially weighted moving average.
type average struct {
	mean  time.Duration
	known bool
}

// averageOver is how many values count.
const averageOver = 16

func (a *average) add(d time.Duration) {
	if !a.known {
		a.mean, a.known = d, true
		return
	}
	a.mean += (d - a.mean) / averageOver
}

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
