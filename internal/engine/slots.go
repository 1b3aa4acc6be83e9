package engine

import (
	"github.com/perdure/perdure/internal/core"
)

// slots limits how many attempts run at once. Calls without a slot queue by priority,
// and in the order in which they came.
//
// Calls whose last attempt was lost with its process run in the probation lane,
// one at a time: if the process dies again, it is known which of them it was.
// Those that were there when it died more often come later, so that one poisoned
// call does not keep the others waiting. Guarded by the engine's mu.
type slots struct {
	limit    int
	used     int
	keptBack bool                // nobody gets a regular slot yet (see recovery)
	inLane   bool                // the probation lane is taken
	queues   [2]slotQueue        // by lane
	waiting  map[callKey]*waiter // all of the two queues: a call waits once
	came     int64               // how many came so far
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

// admit reserves a slot for a call's next attempt, or queues the call.
func (e *Engine) admit(r *activeRun, c *core.Call, now *stint) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.phase != running || r.dropped || now.givenUp {
		return false // it stays queued in the database
	}
	if !e.member.Holds() {
		e.refusedLease = true
		r.slotRefused = true
		return false
	}
	if r.partition.leaving {
		r.slotRefused = true
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
	if e.switchedOff(activityOf(c)) {
		r.slotRefused = true
		if granted, ok := r.granted[c.Number]; ok {
			delete(r.granted, c.Number)
			e.slots.release(e, granted)
		}
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
	s.wait(&waiter{partition: r.partition, callKey: callKey{r.id, c.Number}, lane: l, crashes: c.CrashCount(), priority: c.Priority, activity: activityOf(c)})
	return false
}

// slotRule voids grants whose slot was withdrawn on the way.
func slotRule() rule {
	return rule{void: func(r *activeRun, m mail) bool {
		g, is := m.input.(core.Granted)
		if !is {
			return false
		}
		_, still := r.granted[g.Call]
		return !still
	}}
}

// serves reports whether this node has the code of a call's attempts.
func (e *Engine) serves(c *core.Call) bool {
	if c.Step() || e.defs.activities[c.Name] != nil {
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unservedActivity(c.Name)
	return false
}

// activityOf is the name of a call's activity; "" for a step.
func activityOf(c *core.Call) string {
	if c.Step() {
		return ""
	}
	return c.Name
}

// take reserves a slot if there is one and nobody was there before.
func (s *slots) take(l lane) bool {
	if !s.open(l) || l == regular && len(s.queues[l]) > 0 {
		return false
	}
	s.occupy(l)
	return true
}

// wait adds a call to the queue of its lane. One that stands there keeps its
// place.
func (s *slots) wait(w *waiter) {
	if old := s.waiting[w.callKey]; old != nil {
		if old.lane == w.lane {
			return
		}
		s.queues[old.lane].leave(old)
	}
	if w.lane == regular {
		w.crashes = 0
	}
	s.came++
	w.number = s.came
	s.stand(w)
}

// stand puts a call into the queue of its lane, at its place.
func (s *slots) stand(w *waiter) {
	if s.waiting == nil {
		s.waiting = map[callKey]*waiter{}
	}
	s.waiting[w.callKey] = w
	s.queues[w.lane].add(w)
}

// release frees a slot for the next call in the queue.
func (s *slots) release(e *Engine, l lane) {
	if l == probation {
		s.inLane = false
	} else {
		s.used--
	}
	s.serve(e, l)
}

// serve gives free slots to the calls that wait for them. While the lease may be
// over, nothing would come of it but attempts that are given back.
func (s *slots) serve(e *Engine, l lane) {
	for e.phase == running && s.open(l) {
		if !e.member.Holds() {
			e.refusedLease = true
			return
		}
		w, ok := s.queues[l].next()
		if !ok {
			return
		}
		delete(s.waiting, w.callKey)
		r := e.resident(w.partition, w.run)
		if e.switchedOff(w.activity) {
			r.slotRefused = true // it asks again when the activity is on
			continue
		}
		s.occupy(l)
		if r.granted == nil {
			r.granted = map[int64]lane{}
		}
		r.granted[w.call] = l
		e.deliverLocked(w.partition, w.run, mail{input: core.Granted{Call: w.call}})
	}
}

// open reports whether a lane has a free slot.
func (s *slots) open(l lane) bool {
	if l == probation {
		return !s.inLane
	}
	return s.used < s.limit && !s.keptBack
}

func (s *slots) occupy(l lane) {
	if l == probation {
		s.inLane = true
	} else {
		s.used++
	}
}

// withdraw takes the calls of partitions out of the queues.
func (s *slots) withdraw(of map[*partition]bool) (calls []*waiter) {
	for key, w := range s.waiting {
		if of[w.partition] {
			delete(s.waiting, key)
			s.queues[w.lane].leave(w)
			calls = append(calls, w)
		}
	}
	return calls
}

// comeBack gives calls that were withdrawn the places that they had.
func (s *slots) comeBack(calls []*waiter) {
	for _, w := range calls {
		if s.waiting[w.callKey] == nil { // else it asked again by itself
			s.stand(w)
		}
	}
}
