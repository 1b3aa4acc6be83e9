package storm

import (
	"cmp"
	"errors"
	"math"
	"time"

	"github.com/perdure/perdure/retry"
)

// Endless is a Queue without limit.
const Endless = math.MaxInt

// DefaultRefusal is how long a server takes for a failure if it does not say.
const DefaultRefusal = time.Millisecond

// Server is a dependency that can do a number of calls at a time, queues a few more
// and refuses the rest. It does not notice when a caller has given up: it does
// the work all the same, for nobody. That is what makes a storm last.
type Server struct {
	// Capacity is how many calls it works on at once, 1 or more.
	Capacity int

	// Work is about how long it works on one: normally distributed with a
	// standard deviation of a fifth. Above 0.
	Work time.Duration

	// Queue is how many calls wait, first come first served, while it works on
	// as many as it can. Zero: none, Endless: any number.
	Queue int

	// Refusal is how long a failure takes: of a call for which there is no
	// room, or that a fault makes fail. Zero is DefaultRefusal.
	Refusal time.Duration

	// RetryAfter is what a refusal for want of room asks for. Zero: nothing.
	RetryAfter time.Duration
}

func (s Server) check(*Scenario) error {
	var wrong mistakes
	wrong.when(s.Capacity < 1, "Capacity is %d; allowed is 1 or more", s.Capacity)
	wrong.when(s.Work <= 0 || s.Work > maxTime, "Work is %v; allowed is more than 0, up to %v", s.Work, maxTime)
	wrong.when(s.Queue < 0, "Queue is %d; allowed is 0 (none) or more", s.Queue)
	wrong.when(s.Refusal < 0 || s.Refusal > maxTime, "Refusal is %v; allowed is 0 (%v) to %v", s.Refusal, DefaultRefusal, maxTime)
	wrong.when(s.RetryAfter < 0, "RetryAfter is %v; allowed is 0 (none) or more", s.RetryAfter)
	return errors.Join(wrong...)
}

func (s Server) open(w *world) service {
	s.Refusal = cmp.Or(s.Refusal, DefaultRefusal)
	r := &running{Server: s, w: w, failures: make([]retry.Failure, len(w.Faults)), overloaded: failure(TypeOverloaded, s.RetryAfter)}
	for i, f := range w.Faults {
		r.failures[i] = failure(cmp.Or(f.Type, TypeUnavailable), f.RetryAfter)
	}
	return r
}

// running is a server at work.
type running struct {
	Server
	w       *world
	busy    int
	waiting []call // from head on
	head    int

	failures   []retry.Failure // by fault
	overloaded retry.Failure
}

// noRoom is the note of an answer to a call for which there was no room; other
// notes are those of faults.
const noRoom = math.MaxUint32

func (r *running) begin(c call) {
	if fault, fails := r.fault(); fails {
		r.refuse(c, fault)
		return
	}
	switch {
	case r.busy < r.Capacity:
		r.work(c)
	case r.queued() < r.Queue:
		r.waiting = append(r.waiting, c)
	default:
		r.refuse(c, noRoom)
	}
	r.w.report.PeakInFlight = max(r.w.report.PeakInFlight, r.busy+r.queued())
}

// fault draws whether a call fails, and by which fault.
func (r *running) fault() (index uint32, fails bool) {
	worst := -1
	for i := range r.w.Faults {
		f := &r.w.Faults[i]
		if f.ErrorRate > 0 && f.holds(r.w.now) && (worst < 0 || f.ErrorRate > r.w.Faults[worst].ErrorRate) {
			worst = i
		}
	}
	if worst < 0 || r.w.random.Float64() >= r.w.Faults[worst].ErrorRate {
		return 0, false
	}
	return uint32(worst), true
}

// refuse answers with a failure, which takes a moment.
func (r *running) refuse(c call, note uint32) {
	r.w.plan(event{at: r.w.now + r.Refusal, kind: eventAnswer, call: c, note: note})
}

// work begins with a call.
func (r *running) work(c call) {
	r.busy++
	slow := 1.0
	for i := range r.w.Faults {
		if f := &r.w.Faults[i]; f.holds(r.w.now) {
			slow = max(slow, f.Slow)
		}
	}
	takes := time.Duration(float64(around(r.w.random, r.Work)) * slow)
	r.w.plan(event{at: r.w.now + takes, kind: eventServed, call: c})
}

func (r *running) handle(e event) {
	switch {
	case e.kind == eventServed:
		// Those that wait come first: an answer can let a gate send another.
		r.busy--
		if r.queued() > 0 {
			r.work(r.pop())
		}
		r.w.answer(e.call, nil)
	case e.note == noRoom:
		r.w.answer(e.call, &r.overloaded)
	default:
		r.w.answer(e.call, &r.failures[e.note])
	}
}

func (r *running) queued() int { return len(r.waiting) - r.head }

// pop takes the first call from the queue. The room before the head is used
// again once it is half of all.
func (r *running) pop() call {
	c := r.waiting[r.head]
	r.head++
	if r.head > len(r.waiting)/2 {
		r.waiting = r.waiting[:copy(r.waiting, r.waiting[r.head:])]
		r.head = 0
	}
	return c
}
