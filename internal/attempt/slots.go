package attempt

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/suspects"
)

// Slots limits how many attempts run at a time. It is safe for concurrent use.
type Slots struct {
	limit int
	may   func() bool // whether slots may be granted now

	mu       sync.Mutex
	used     int
	closed   bool // no call that waits gets a slot any more
	keptBack bool // no regular slot is given yet
	lane     lane
	queues   [3]queue           // by lane, and what is on record: see Waiter.line
	waiting  map[Call]*Waiter   // all of the queues: a call waits once
	came     int64              // how many came so far
	inLine   int                // runs that wait to begin
	passed   map[string]*Waiter // runs that begin without a slot: their first calls have their places
}

// lane is what the probation lane does. Its suspects run in groups, one at a time.
type lane struct {
	running int // of the group
	group   int // its size
	passed  int // size of the last group, which the process outlived
}

// Call names a call of a run.
type Call struct {
	Run    string
	Number int64
}

// ToBegin is the number of the call for which a run waits that has not begun: it wants a slot
// for whatever its code calls first.
const ToBegin int64 = 0

// Lane is where an attempt runs.
type Lane int

// The lanes. The limit is that of all slots together, except that one in the probation
// lane is always to be had.
const (
	Regular Lane = iota
	Probation
)

// Waiter is a call without a slot.
type Waiter struct {
	Call
	Tenure
	Lane     Lane
	Suspect  suspects.Suspect
	Priority int    // higher goes first
	Lost     bool   // it ran when its process died: it goes before others of its priority
	Activity string // "" for a step
	// Attempt is on record already, and its time has come; nil for a call that waits to be
	// put there. It goes before others of its priority; no more of them come once one of
	// these has waited for maxOvertaken: see Moving.
	Attempt *Attempt

	since  time.Time // when it came
	number int64     // in the order in which they came
	at     int       // its index in its queue
}

// onRecord is the line of what is on record, beside those of the lanes.
const onRecord = 2

// line is where a call waits.
func (w *Waiter) line() int {
	if w.Attempt != nil {
		return onRecord
	}
	return int(w.Lane)
}

// Slot is a reserved place for one attempt.
type Slot struct {
	slots *Slots
	lane  Lane
	freed bool
	turns turns
}

// turns is how often a slot was kept while other calls waited.
type turns struct {
	taken int
	since time.Time // of the first
}

// A slot stays with a run while other calls wait for at most this many of its calls in a
// row, and no further one begins after this time. So a call that waits gets a slot after
// a bounded number of calls, whatever the others do.
const (
	maxInARow  = 16
	maxRowTime = time.Second
)

// Grant is a slot for a call that waited.
type Grant struct {
	*Waiter
	Slot  *Slot
	Group int // how many run in the probation lane with it, itself included
}

// NewSlots returns slots for at most limit regular attempts. Calls that wait get a slot
// only while may returns true.
func NewSlots(limit int, may func() bool) *Slots {
	return &Slots{limit: limit, may: may, waiting: map[Call]*Waiter{}, passed: map[string]*Waiter{}}
}

// Take reserves a slot if there is one for which no call waits, else it returns nil.
func (s *Slots) Take(l Lane) *Slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open(l) || l == Regular && s.first() != nil {
		return nil
	}
	return s.occupy(l)
}

// Wait adds a call to the queue of its lane. One that waits there keeps its place, whatever place
// of its partition its run was at when it came; the first call of a run takes over that of the run.
func (s *Slots) Wait(w *Waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.since = time.Now()
	if old := s.waiting[w.Call]; old != nil {
		if old.Lane == w.Lane && old.Attempt == w.Attempt {
			old.Tenure = w.Tenure
			return
		}
		s.withdraw(old)
	}
	if w.Lane == Regular {
		w.Suspect = suspects.Suspect{}
	}
	own := s.passed[w.Run]
	if own == nil {
		own = s.waiting[Call{w.Run, ToBegin}]
	}
	switch {
	case own == nil:
		s.came++
		w.number = s.came
	case w.Number == ToBegin:
		return // it begins already
	default:
		w.number = own.number
		s.leave(w.Run)
	}
	s.enqueue(w)
}

// Forget takes an attempt that needs no slot any more out of the queue.
func (s *Slots) Forget(x *Attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.waiting[Call{x.Run, x.Call}]; w != nil && w.Attempt == x {
		s.withdraw(w)
	}
}

// maxOvertaken is how long a call that waits may be overtaken by attempts that are on record.
const maxOvertaken = 5 * time.Second

// Moving reports whether slots come free often enough: no call waits, or the next one in
// turn has not waited for long. Then an attempt may be put on record before it has a slot.
func (s *Slots) Moving() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := s.queues[Regular]
	return !s.keptBack && !s.closed && (len(waiting) == 0 || time.Since(waiting[0].since) < maxOvertaken)
}

// Withdraw takes the calls of tenures out of the queues and returns them.
func (s *Slots) Withdraw(of []Tenure) (calls []*Waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.waiting {
		if slices.Contains(of, w.Tenure) {
			s.withdraw(w)
			calls = append(calls, w)
		}
	}
	maps.DeleteFunc(s.passed, func(_ string, w *Waiter) bool { return slices.Contains(of, w.Tenure) })
	return calls
}

// Leave takes a run that has begun out of the line, if it is there.
func (s *Slots) Leave(run string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave(run)
}

func (s *Slots) leave(run string) {
	delete(s.passed, run)
	if w := s.waiting[Call{run, ToBegin}]; w != nil {
		s.withdraw(w)
	}
}

// Stay says that a run for which PassBy was called did not begin after all: it may wait
// again.
func (s *Slots) Stay(run string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.passed, run)
}

// withdraw takes a call that waits out of its queue.
func (s *Slots) withdraw(w *Waiter) {
	s.queues[w.line()].leave(w)
	s.left(w)
}

// left notes that a call is in no queue any more.
func (s *Slots) left(w *Waiter) {
	delete(s.waiting, w.Call)
	if w.Number == ToBegin {
		s.inLine--
	}
}

// InLine returns how many runs wait to begin.
func (s *Slots) InLine() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inLine
}

// PassBy takes the first n runs that wait to begin out of the queue: they begin without a
// slot, and their first calls get their places. It returns none while nothing may begin.
func (s *Slots) PassBy(n int) []*Waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inLine == 0 || s.keptBack || !s.grants() {
		return nil
	}
	var first []*Waiter
	for _, w := range s.queues[Regular] {
		if w.Number == ToBegin {
			first = append(first, w)
		}
	}
	slices.SortFunc(first, inTurn)
	first = first[:min(n, len(first))]
	for _, w := range first {
		s.withdraw(w)
		s.passed[w.Run] = w
	}
	return first
}

// Restore gives withdrawn calls the places that they had.
func (s *Slots) Restore(calls []*Waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range calls {
		if s.waiting[w.Call] == nil && (w.Attempt == nil || !w.Attempt.Ended()) { // else it asked again by itself
			s.enqueue(w)
		}
	}
}

func (s *Slots) enqueue(w *Waiter) {
	s.waiting[w.Call] = w
	s.queues[w.line()].add(w)
	if w.Number == ToBegin {
		s.inLine++
	}
}

// Serve gives free slots to calls that wait.
func (s *Slots) Serve() []Grant {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grantAll()
}

// KeepBack lets no call have a regular slot until LetGo.
func (s *Slots) KeepBack() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keptBack = true
}

// LetGo ends KeepBack.
func (s *Slots) LetGo() []Grant {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keptBack = false
	return s.grantRegular()
}

// Close lets calls that wait wait for good, because the engine starts nothing more.
func (s *Slots) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// Usage is how slots are used at a moment.
type Usage struct {
	Regular   int // slots in use
	Waiting   int // calls
	Probation bool
	KeptBack  bool
}

// Usage returns how slots are used now.
func (s *Slots) Usage() Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Usage{Regular: s.used, Waiting: max(len(s.waiting), len(s.queues[Regular])+len(s.queues[Probation])+len(s.queues[onRecord])), Probation: s.lane.running > 0, KeptBack: s.keptBack}
}

// Lane returns the lane of a slot.
func (t *Slot) Lane() Lane {
	t.slots.mu.Lock()
	defer t.slots.mu.Unlock()
	return t.lane
}

// Free gives the slot back and returns who gets it now. A nil slot, and one that is free
// already, changes nothing.
func (t *Slot) Free() []Grant {
	if t == nil {
		return nil
	}
	s := t.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.freed {
		return nil
	}
	t.freed = true
	if t.lane == Probation {
		s.leaveLane()
	} else {
		s.used--
	}
	return s.grantAll()
}

// Keep reports whether a slot whose attempt has ended may go to the next call of the same
// run, of a given priority, although others wait. It spares that call the queue, and with
// it a row and a turn. One of higher priority that waits goes first, and those of the same
// priority after maxInARow calls. If Keep returns false the slot is to be freed.
func (t *Slot) Keep(priority int) bool {
	s := t.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.freed || t.lane != Regular || s.keptBack || s.used > s.limit {
		return false
	}
	next := s.first()
	if next == nil {
		t.turns = turns{}
		return true
	}
	if t.turns.taken == 0 {
		t.turns.since = time.Now()
	}
	t.turns.taken++
	return next.Priority <= priority && t.turns.taken <= maxInARow && time.Since(t.turns.since) <= maxRowTime
}

// LeaveProbation turns a slot of the probation lane into a regular one, if need be above
// the limit, and returns who gets the lane.
func (t *Slot) LeaveProbation() []Grant {
	if t == nil {
		return nil
	}
	s := t.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.freed || t.lane != Probation {
		return nil
	}
	t.lane = Regular
	s.used++
	s.leaveLane()
	return s.grantAll()
}

// grantAll gives free slots to calls that wait. Suspects go first, as there are none in
// the lane before all others of their group have left it.
func (s *Slots) grantAll() []Grant { return append(s.grantLane(), s.grantRegular()...) }

// grantRegular gives free regular slots to the calls that wait for them.
func (s *Slots) grantRegular() (grants []Grant) {
	for s.open(Regular) && s.first() != nil && s.grants() {
		w := s.first()
		s.next(w.line())
		grants = append(grants, Grant{Waiter: w, Slot: s.occupy(Regular)})
	}
	return grants
}

// grantLane lets the next group of suspects into the probation lane.
func (s *Slots) grantLane() (grants []Grant) {
	if !s.open(Probation) || len(s.queues[Probation]) == 0 || !s.grants() {
		return nil
	}
	inOrder := slices.SortedFunc(slices.Values(s.queues[Probation]), inTurn)
	size := suspects.Next(inOrder, func(w *Waiter) suspects.Suspect { return w.Suspect }, s.limit-s.used, s.lane.passed)
	for range size {
		w := s.next(int(Probation))
		grants = append(grants, Grant{Waiter: w, Slot: s.occupy(Probation), Group: size})
	}
	s.lane.group = size
	return grants
}

// first is who gets the next regular slot, nil if nobody waits for one.
func (s *Slots) first() *Waiter {
	due, others := s.queues[onRecord], s.queues[Regular]
	switch {
	case len(due) == 0 && len(others) == 0:
		return nil
	case len(others) == 0:
		return due[0]
	case len(due) == 0 || due[0].Priority < others[0].Priority:
		return others[0]
	}
	return due[0]
}

// next takes the first call out of a queue.
func (s *Slots) next(line int) *Waiter {
	w := s.queues[line].next()
	s.left(w)
	return w
}

// grants reports whether calls that wait may get slots.
func (s *Slots) grants() bool { return !s.closed && s.may() }

// open reports whether a lane has a free slot.
func (s *Slots) open(l Lane) bool {
	if l == Probation {
		return s.lane.running == 0
	}
	return s.used+max(0, s.lane.running-1) < s.limit && !s.keptBack
}

func (s *Slots) occupy(l Lane) *Slot {
	if l == Probation {
		s.lane.running++
	} else {
		s.used++
	}
	return &Slot{slots: s, lane: l}
}

// leaveLane takes one out of the probation lane.
func (s *Slots) leaveLane() {
	if s.lane.running--; s.lane.running == 0 {
		s.lane.passed, s.lane.group = s.lane.group, 0
	}
}
