package gates

import (
	"cmp"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/fair"
	"github.com/perdure/perdure/internal/heap"
)

// Tickets of several run keys take turns at a free slot (package fair); those of one key go by
// priority and age. All tickets without a key have one key, "". A key whose limit or rate is
// reached takes no turns until it may start something again.

// share is what belongs to one run key.
type share[K comparable] struct {
	queue      queue[K] // waiting without a slot
	aside      queue[K] // waiting with a slot while rate or breaker of the key let none start
	waiting    int      // in both, or with a slot in the line of all
	holders    int      // slots taken
	tickets    int
	record     ShareRecord
	probing[K] // by the breaker of the key

	dirty          bool // listed in Step.Shares
	barred         bool // listed in Machine.barred
	parked, fading *moment[K]
}

// ShareRecord is the state of a run key besides its tickets. A durable shell stores those that
// Step.Shares names, and deletes those that are zero.
type ShareRecord struct {
	// RateAt is when the rate of the key has its full burst again.
	RateAt int64 `json:"rate_at,omitempty"`
	// Own are the bounds of this key alone, nil for those of all keys.
	Own *spec.PerKey `json:"own,omitempty"`
	// Health is that of the key if breaker or budget are its own, and Until is until when it is
	// remembered.
	Health
	Until int64 `json:"until,omitempty"`
}

// line is the tickets that wait without a slot, by run key.
type line[K comparable] struct {
	turns fair.Turns[share[K]]
	count int

	parked timeline[K] // keys with waiting tickets, by when rate and breaker let one start
	fading timeline[K] // keys with a record, by when it can be forgotten
	owning int         // keys with bounds of their own
}

// Share returns the record of a run key; zero if there is none.
func (m *Machine[K]) Share(runKey string) ShareRecord {
	if k := m.line.turns.Find(runKey); k != nil {
		return k.State.record
	}
	return ShareRecord{}
}

// join counts a new ticket of its key.
func (m *Machine[K]) join(e *entry[K]) {
	e.share = m.line.turns.Key(e.RunKey, e.Weight)
	e.share.State.tickets++
}

// leave is the opposite of join.
func (m *Machine[K]) leave(e *entry[K]) {
	e.share.State.tickets--
	m.look(e.share)
}

// unqueue takes a ticket out of the queue in which it is.
func (m *Machine[K]) unqueue(e *entry[K]) {
	if e.home == &e.share.State.queue {
		m.line.count--
	}
	if e.Phase == Waiting {
		e.share.State.waiting--
	}
	e.home.leave(e)
	m.look(e.share)
}

// look says whether a key takes turns, after something of it has changed.
func (m *Machine[K]) look(k *fair.Key[share[K]]) {
	s := &k.State
	first, rank := s.queue.top(), int64(0)
	if first != nil && m.config.PriorityFirst {
		rank = first.rank
	}
	at := m.opensAt(k)
	if at <= m.now {
		for e := s.aside.top(); e != nil; e = s.aside.top() {
			s.aside.leave(e)
			m.due.push(e, e.rank, e.came)
		}
	}
	if s.waiting == 0 || at <= m.now {
		at = 0
	}
	s.parked = m.line.parked.set(s.parked, k, at)
	if !s.barred && m.refuses(k) {
		s.barred = true
		m.barred = append(m.barred, k)
	}
	m.line.turns.Wait(k, first != nil && m.may(k), s.tickets > 0 || s.fading != nil || s.record.Own != nil, rank)
}

// startAt returns when the rate of a key lets the next attempt start; perhaps in the past.
func (m *Machine[K]) startAt(k *fair.Key[share[K]]) int64 {
	return startAt(k.State.record.RateAt, m.bounds(k).Rate)
}

// bounds returns what bounds a key.
func (m *Machine[K]) bounds(k *fair.Key[share[K]]) spec.PerKey {
	return *cmp.Or(k.State.record.Own, &m.config.PerKey)
}

// may reports whether a ticket of a key without a slot may start now.
func (m *Machine[K]) may(k *fair.Key[share[K]]) bool { return k.State.parked == nil && m.hasRoom(k) }

// hasRoom reports whether a key may take another slot.
func (m *Machine[K]) hasRoom(k *fair.Key[share[K]]) bool {
	limit := m.bounds(k).Limit
	return limit == 0 || k.State.holders < limit
}

// advanceShares lets the keys start something whose rate or breaker allows it again, and forgets what
// is at rest.
func (m *Machine[K]) advanceShares(now int64) {
	m.now = now
	for m.line.parked.next() <= now {
		m.look(m.line.parked.Heap[0].key)
	}
	for m.line.fading.next() <= now {
		m.forget(m.line.fading.Heap[0].key)
	}
}

// setRate changes the record of a key.
func (m *Machine[K]) setRate(k *fair.Key[share[K]], at int64) {
	s := &k.State
	if s.record.RateAt != at {
		s.record.RateAt = at
		m.touchShare(k)
	}
	m.fade(k)
	m.look(k)
}

func (m *Machine[K]) touchShare(k *fair.Key[share[K]]) {
	if !k.State.dirty {
		k.State.dirty = true
		m.step.Shares = append(m.step.Shares, k.Name)
	}
}

// setOwn gives a key bounds of its own, or nil for those of all keys. Its rate is to be set next: a
// key that has nothing may be forgotten before.
func (m *Machine[K]) setOwn(k *fair.Key[share[K]], own *spec.PerKey) {
	if k.State.record.Own != nil {
		m.line.owning--
	}
	if k.State.record.Own = own; own != nil {
		m.line.owning++
	}
}

// fitShares applies a changed spec to all keys.
func (m *Machine[K]) fitShares(now int64) {
	m.now = now
	for _, k := range m.line.turns.All() {
		s := &k.State
		if was := s.record.Health; was != (Health{}) {
			if m.fitHealth(&s.record.Health, &s.probing, true); was != s.record.Health {
				m.learned(k, true)
			}
		}
		m.setRate(k, reach(s.record.RateAt, m.bounds(k).Rate, now))
	}
}

// written notes that the record of a key has been read.
func (l *line[K]) written(runKey string) {
	if k := l.turns.Find(runKey); k != nil {
		k.State.dirty = false
	}
}

// moment is when something happens to a key.
type moment[K comparable] struct {
	at  int64
	key *fair.Key[share[K]]
	i   int // its index in the timeline
}

// Before implements heap.Element.
func (m *moment[K]) Before(other *moment[K]) bool { return m.at < other.at }

// Stands implements heap.Element.
func (m *moment[K]) Stands(at int) { m.i = at }

// timeline has moments, the earliest first.
type timeline[K comparable] struct{ heap.Heap[*moment[K]] }

// set puts a key into the timeline, moves it there or, if at is zero, takes it out. It takes what it
// returned before.
func (t *timeline[K]) set(old *moment[K], k *fair.Key[share[K]], at int64) *moment[K] {
	switch {
	case old == nil && at == 0:
	case old == nil:
		old = &moment[K]{at: at, key: k}
		t.Push(old)
	case at == 0:
		t.Remove(old.i)
		return nil
	case at != old.at:
		old.at = at
		t.Fix(old.i)
	}
	return old
}

// next returns the first moment, or Never.
func (t timeline[K]) next() int64 {
	if len(t.Heap) == 0 {
		return Never
	}
	return t.Heap[0].at
}
