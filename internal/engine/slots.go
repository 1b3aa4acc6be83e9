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
	queue   []waiter // regular calls; queue[head] is next
	head    int
	inLane  bool // the probation lane is taken
	onTrial []waiter
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
	run       string
	call      int64
	crashes   int
}

// admit reserves a slot for a call's next attempt, or queues the call.
func (e *Engine) admit(r *resident, c *core.Call, now *stint) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.phase != running || r.dropped || now.givenUp {
		return false // it stays queued in the database
	}
	if c.Step() {
		if r.instance == nil {
			return false // its body is in the code, which is held
		}
	} else if e.defs.activities[c.Name] == nil {
		e.unservedActivity(c.Name)
		return false
	}
	w := waiter{partition: r.partition, run: r.id, call: c.Number, crashes: c.CrashCount()}
	s := &e.slots
	if c.Probation() {
		if !s.inLane {
			s.inLane = true
			now.admitted = append(now.admitted, probation)
			return true
		}
		at, _ := slices.BinarySearchFunc(s.onTrial, w.crashes+1, func(o waiter, crashes int) int { return o.crashes - crashes })
		s.onTrial = slices.Insert(s.onTrial, at, w)
		return false
	}
	if s.used < s.limit && s.head == len(s.queue) {
		s.used++
		now.admitted = append(now.admitted, regular)
		return true
	}
	s.queue = append(s.queue, w)
	return false
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

// forget drops the waiting calls of a partition that another node took over.
func (s *slots) forget(p *partition) {
	of := func(w waiter) bool { return w.partition == p }
	s.queue, s.head = slices.DeleteFunc(s.queue[s.head:], of), 0
	s.onTrial = slices.DeleteFunc(s.onTrial, of)
}

func (s *slots) free(l lane) {
	if l == probation {
		s.inLane = false
	} else {
		s.used--
	}
}

func (s *slots) next(l lane) (waiter, bool) {
	if l == probation {
		if len(s.onTrial) == 0 {
			return waiter{}, false
		}
		w := s.onTrial[0]
		s.onTrial = slices.Delete(s.onTrial, 0, 1)
		return w, true
	}
	if s.head == len(s.queue) {
		return waiter{}, false
	}
	w := s.queue[s.head]
	s.queue[s.head] = waiter{}
	if s.head++; s.head == len(s.queue) {
		s.queue, s.head = s.queue[:0], 0
	} else if s.head > 1024 && s.head*2 > len(s.queue) {
		s.queue = append(s.queue[:0], s.queue[s.head:]...)
		s.head = 0
	}
	return w, true
}
