package engine

import (
	"slices"

	"github.com/perdure/perdure/internal/core"
)

// slots limits how many attempts run at once. Calls without a slot queue in the
// order in which they came.
//
// Calls whose last attempt was lost with its process run in the probation lane,
// one at a time: if the process dies again, it is known which of them it was.
// Those that were there when it died more often come later, so that one poisoned
// call does not keep the others waiting. Guarded by the engine's mu.
type slots struct {
	limit   int
	used    int
	queue   []*waiter // regular calls; queue[head] is next
	head    int
	inLane  bool // the probation lane is taken
	onTrial []*waiter
	waiting map[callKey]*waiter // all of the two queues: a call waits once
}

// callKey names a call of a run.
type callKey struct {
	run  string
	call int64
}

// lane is where an attempt runs.
type lane int

const (
	regular lane = iota
	probation
)

func laneOf(onProbation bool) lane {
	if onProbation {
		return probation
	}
	return regular
}

// waiter is a call without a slot.
type waiter struct {
	partition *partition
	callKey
	lane    lane
	crashes int
	left    bool // it waits no more
}

// admit reserves a slot for a call's next attempt, or queues the call.
func (e *Engine) admit(r *resident, c *core.Call, now *stint) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.phase != running || r.dropped || now.givenUp {
		return false // it stays queued in the database
	}
	if r.partition.leaving || !e.leaseHolds() {
		r.refused = true
		return false
	}
	if c.Step() {
		if r.instance == nil {
			return false // its body is in the code, which is held
		}
	} else if e.defs.activities[c.Name] == nil {
		e.unservedActivity(c.Name)
		return false
	}
	l := laneOf(c.Probation())
	if granted, ok := r.granted[c.Number]; ok { // its slot is on the way already
		delete(r.granted, c.Number)
		if granted == l {
			now.admitted = append(now.admitted, l)
			return true
		}
		e.slots.release(e, granted)
	}
	s := &e.slots
	if s.take(l) {
		now.admitted = append(now.admitted, l)
		return true
	}
	s.wait(&waiter{partition: r.partition, callKey: callKey{r.id, c.Number}, lane: l, crashes: c.CrashCount()})
	return false
}

// take reserves a slot if there is one and nobody was there before.
func (s *slots) take(l lane) bool {
	switch {
	case l == probation && !s.inLane:
		s.inLane = true
	case l == regular && s.used < s.limit && s.head == len(s.queue):
		s.used++
	default:
		return false
	}
	return true
}

// wait adds a call to the queue of its lane. One that stands there keeps its
// place.
func (s *slots) wait(w *waiter) {
	if old := s.waiting[w.callKey]; old != nil {
		if old.lane == w.lane {
			return
		}
		old.left = true
	}
	if s.waiting == nil {
		s.waiting = map[callKey]*waiter{}
	}
	s.waiting[w.callKey] = w
	if w.lane == regular {
		s.queue = append(s.queue, w)
		return
	}
	at, _ := slices.BinarySearchFunc(s.onTrial, w.crashes+1, func(o *waiter, crashes int) int { return o.crashes - crashes })
	s.onTrial = slices.Insert(s.onTrial, at, w)
}

// release gives a slot to the next call in the queue, or frees it.
func (s *slots) release(e *Engine, l lane) {
	if e.phase != running {
		s.free(l)
		return
	}
	w, ok := s.next(l)
	if !ok {
		s.free(l)
		return
	}
	r := e.resident(w.partition, w.run)
	if r.granted == nil {
		r.granted = map[int64]lane{}
	}
	r.granted[w.call] = l
	e.deliverLocked(w.partition, w.run, mail{input: core.Granted{Call: w.call}})
}

// forget drops the waiting calls of partitions that this node does not serve any
// more.
func (s *slots) forget(gone map[*partition]bool) {
	for key, w := range s.waiting {
		if gone[w.partition] {
			w.left = true
			delete(s.waiting, key)
		}
	}
}

func (s *slots) free(l lane) {
	if l == probation {
		s.inLane = false
	} else {
		s.used--
	}
}

// next takes the first call out of a queue.
func (s *slots) next(l lane) (*waiter, bool) {
	for {
		w, ok := s.first(l)
		if !ok {
			return nil, false
		}
		if !w.left {
			delete(s.waiting, w.callKey)
			return w, true
		}
	}
}

func (s *slots) first(l lane) (*waiter, bool) {
	if l == probation {
		if len(s.onTrial) == 0 {
			return nil, false
		}
		w := s.onTrial[0]
		s.onTrial = slices.Delete(s.onTrial, 0, 1)
		return w, true
	}
	if s.head == len(s.queue) {
		return nil, false
	}
	w := s.queue[s.head]
	s.queue[s.head] = nil
	if s.head++; s.head == len(s.queue) {
		s.queue, s.head = s.queue[:0], 0
	} else if s.head > 1024 && s.head*2 > len(s.queue) {
		s.queue = append(s.queue[:0], s.queue[s.head:]...)
		s.head = 0
	}
	return w, true
}
