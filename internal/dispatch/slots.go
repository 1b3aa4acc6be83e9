package dispatch

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/internal/fair"
	"github.com/perdure/perdure/internal/suspects"
)

// Slots limits how many attempts run at the same time. It is safe for concurrent use.
type Slots struct {
	limit int
	may   func() bool // whether slots may be granted now

	mu       sync.Mutex
	used     int // regular slots of running attempts, and those reserved for calls that need one
	promised int // see promises.go
	pace     pace
	closed   bool // waiting calls get no more slots
	keptBack bool // no regular slot is granted yet
	lane     lane
	suspects queue              // of the probation lane
	turns    fair.Turns[share]  // the others, by run key
	waiting  map[Call]*Waiter   // all of the queues; a call waits only once
	came     int64              // how many waiters came so far
	inLine   int                // runs that wait to begin
	blame    map[string]Blame   // by activity
	passed   map[string]*Waiter // runs that begin without a slot; their first calls get their places

	seats        map[string]*Seats // by run
	refused      map[*Seats]bool   // runs whose calls were refused a slot for a reason that passes
	leaseRefused bool              // the reason was, for some, that the lease may have expired
	heldBack     map[string]bool   // activities of which calls were refused because others are tried
	holdsBack    atomic.Bool       // there are such activities
	off          map[string]bool   // activities and inline steps that are switched off
	leaving      map[Tenure]bool   // those that are being handed over
	away         []*Waiter         // calls of those, which waited when that began
}

// Call names a call of a run.
type Call struct {
	Run    string
	Number int64
}

// ToBegin is the call number under which a run that has not begun waits for a slot, for
// whatever its code calls first.
const ToBegin int64 = 0

// Lane is where an attempt runs.
type Lane int

// The lanes. The limit covers the slots of both lanes, but the probation lane always has at
// least one.
const (
	Regular Lane = iota
	Probation
)

// Waiter is a call, or a run that has not begun, without a slot.
type Waiter struct {
	Call
	Tenure
	Lane     Lane
	Suspect  suspects.Suspect
	Key      string // of the run: keys take turns
	Weight   int    // of the key, see fair.Turns
	Priority int    // among those of the key; higher goes first
	Lost     bool   // its process died while it ran; it precedes others of its priority
	Activity string // or the inline step, named so that no other has its name
	Promise  bool   // a promise of a slot is enough
	// Doubted says that it is in the probation lane only because of its activity.
	Doubted bool
	// Attempt is set for an attempt that is on record and due; nil for a call whose next
	// attempt is not on record. It precedes others of its priority. No more attempts are put on
	// record early once a call has waited for MaxOvertaken; see Moving.
	Attempt OnRecord

	since   time.Time // when it came
	number  int64     // rank by time of arrival
	charged bool      // its key was charged for the turn
	at      int       // its index in its queue
}

// Slot is permission for one attempt to run.
type Slot struct {
	slots    *Slots
	lane     atomic.Int32 // a Lane
	activity string       // whose suspect it was granted to
	stage    stage
	since    time.Time // when that began
	place    int64     // in the queue, of the call that it was granted to
	turns    turns
}

// turns counts how often a slot was kept while other calls waited.
type turns struct {
	taken int
	since time.Time // of the first
}

// A slot stays with a run, while other calls wait, for at most maxInARow calls in a row, and
// no later call begins after maxRowTime. So a waiting call gets a slot after a bounded number
// of calls.
const (
	maxInARow  = 16
	maxRowTime = time.Second
)

// Grant is a slot for a call that has waited.
type Grant struct {
	*Waiter
	Slot  *Slot
	Group int // how many suspects run in its group, itself included; 0 in the regular lane
}

// NewSlots returns limit slots. Waiting calls get slots only while may returns true.
func NewSlots(limit int, may func() bool) *Slots {
	return &Slots{limit: limit, may: may, waiting: map[Call]*Waiter{}, passed: map[string]*Waiter{},
		seats: map[string]*Seats{}, refused: map[*Seats]bool{}, heldBack: map[string]bool{}, leaving: map[Tenure]bool{},
		lane: lane{of: map[string]int{}, survived: map[string]bool{}}}
}

// Take reserves a slot. It returns nil if none is free or a call waits for it.
func (s *Slots) Take(l Lane) *Slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.take(l, reserved)
}

func (s *Slots) take(l Lane, as stage) *Slot {
	if !s.open(l, as) || l == Regular && s.first() != nil {
		return nil
	}
	return s.occupy(l, as)
}

// Wait enqueues a call in its lane. A call that waits already keeps its place, even if its
// tenure has changed. The first call of a run takes over the place of the run.
func (s *Slots) Wait(w *Waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wait(w)
}

func (s *Slots) wait(w *Waiter) {
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
	switch place := s.placeOf(w); {
	case place != 0:
		w.number, w.charged = place, true
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

// Leave removes a run that has begun from the line, if it is there.
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

// Stay says that a run which PassBy returned did not begin after all. It may wait again.
func (s *Slots) Stay(run string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.passed, run)
}

// withdraw removes a waiting call from its queue.
func (s *Slots) withdraw(w *Waiter) {
	if w.suspect() {
		s.suspects.Remove(w.at)
	} else {
		k := s.turns.Find(w.Key)
		k.State.leave(w)
		s.look(k)
	}
	s.left(w)
}

// left records that a call is in no queue any more.
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

// PassBy removes the first n runs that wait to begin from the queue. They begin without a
// slot, and their first calls get their places. It returns none while nothing may begin.
func (s *Slots) PassBy(n int) []*Waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inLine == 0 || s.keptBack || !s.grants() {
		return nil
	}
	var first []*Waiter
	for _, w := range s.inTurns() {
		if w.Number == ToBegin && len(first) < n {
			first = append(first, w)
		}
	}
	for _, w := range first {
		s.withdraw(w)
		s.passed[w.Run] = w
	}
	return first
}

func (s *Slots) enqueue(w *Waiter) {
	s.waiting[w.Call] = w
	if w.suspect() {
		s.suspects.Push(w)
	} else {
		k := s.turns.Key(w.Key, w.Weight)
		k.State.add(w)
		s.look(k)
	}
	if w.Number == ToBegin {
		s.inLine++
	}
}

// Serve grants free slots to waiting calls.
func (s *Slots) Serve() []Grant {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grantAll()
}

// KeepBack stops the granting of regular slots until LetGo.
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

// Close stops the granting of slots for good, because the engine starts nothing more.
func (s *Slots) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// Usage is a snapshot of how slots are used.
type Usage struct {
	Regular   int // slots in use
	Promised  int
	Waiting   int // calls
	Probation bool
	KeptBack  bool
}

// Usage returns how slots are currently used.
func (s *Slots) Usage() Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Usage{Regular: s.used, Promised: s.promised, Waiting: len(s.waiting), Probation: s.lane.running > 0 || s.lane.closed, KeptBack: s.keptBack}
}

// Lane returns the lane of a slot.
func (t *Slot) Lane() Lane { return Lane(t.lane.Load()) }

// Free frees the slot and returns who gets it now. It does nothing on a nil slot and on one
// that is free.
func (t *Slot) Free() []Grant {
	if t == nil {
		return nil
	}
	t.slots.mu.Lock()
	defer t.slots.mu.Unlock()
	return t.slots.free(t)
}

// Refuse frees a slot that an attempt was offered and did not want.
func (t *Slot) Refuse() []Grant {
	t.slots.mu.Lock()
	defer t.slots.mu.Unlock()
	if t.stage == running {
		t.stage = reserved // what follows is not how long a body took
	}
	return t.slots.free(t)
}

func (s *Slots) free(t *Slot) []Grant {
	if t == nil || t.stage == freed {
		return nil
	}
	if t.Lane() == Probation {
		s.leaveLane(t)
		t.stage = freed
	} else {
		t.become(freed)
	}
	return s.grantAll()
}

// Void takes back a grant whose run is served elsewhere by now.
func (g *Grant) Void() (grants []Grant) {
	s := g.Slot.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.seats[g.Run]; t != nil && t.tenure == g.Tenure {
		grants = s.closeSeats(t)
	}
	return append(grants, s.free(g.Slot)...)
}

// keep reports whether a slot whose attempt has ended may go to the next call of the same run,
// although others wait. That spares the call the queue, and with it a row and a turn. Waiting calls
// of the same key and a higher priority go first, and all others after maxInARow calls, each of
// which is a turn of the key. If keep returns false, the slot is to be freed.
func (t *Slot) keep(c *Ask) bool {
	s := t.slots
	if t.stage == freed || t.Lane() != Regular || s.keptBack || s.used > s.limit {
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
	if next.Key == c.Key && next.Priority > c.Priority || t.turns.taken > maxInARow || time.Since(t.turns.since) > maxRowTime {
		return false
	}
	s.turns.Charge(s.turns.Key(c.Key, c.Weight))
	return true
}

// grantAll grants free slots to waiting calls. It starts with the lane: suspects enter it only
// when the whole previous group has left.
func (s *Slots) grantAll() []Grant { return append(s.grantLane(), s.grantRegular()...) }

// grantRegular grants free regular slots to the calls that wait for them.
func (s *Slots) grantRegular() (grants []Grant) {
	for s.grants() {
		k := s.turns.Next()
		if k == nil {
			break
		}
		w := k.State.first()
		if !s.open(Regular, w.gets()) {
			break
		}
		k.State.leave(w)
		s.left(w)
		if s.wants(w) {
			grants = append(grants, s.seat(w, s.occupy(Regular, w.gets()), 0))
			if !w.charged {
				s.turns.Served(k)
			}
		}
		s.look(k)
	}
	return grants
}

// wants reports whether a call that waits in the regular lane may still start. If its activity is switched off or
// tried, its run is to ask again when that is over; an attempt on record stops waiting soon.
func (s *Slots) wants(w *Waiter) bool {
	var t *Seats
	if w.Attempt == nil && w.Number != ToBegin {
		if t = s.seatsOf(w.Run, w.Tenure); t.reserved[w.Number] != nil {
			return false
		}
	}
	switch {
	case s.suspected(w.Activity):
		s.holdBack(t, w.Activity)
	case !s.off[w.Activity]:
		return true
	case t != nil:
		s.refuse(t)
	}
	return false
}

// seat reserves a granted slot for its call or, if the run has not begun, for whatever its code
// calls first. One for an attempt on record is launched by who delivers the grant.
func (s *Slots) seat(w *Waiter, slot *Slot, group int) Grant {
	slot.place = w.number
	if w.Attempt == nil {
		if t := s.seatsOf(w.Run, w.Tenure); w.Number == ToBegin {
			t.keep(slot)
		} else {
			t.reserve(w.Number, slot)
		}
	}
	return Grant{Waiter: w, Slot: slot, Group: group}
}

// first returns the waiter that gets the next regular slot, nil if there is none.
func (s *Slots) first() *Waiter {
	if k := s.turns.Next(); k != nil {
		return k.State.first()
	}
	return nil
}

// grants reports whether waiting calls may get slots.
func (s *Slots) grants() bool { return !s.closed && s.may() }

// open reports whether a lane has room for a slot.
func (s *Slots) open(l Lane, as stage) bool {
	if l == Probation {
		return s.lane.running == 0 && !s.lane.closed
	}
	room := s.limit - s.used - max(0, s.lane.running-1)
	switch {
	case room <= 0 || s.keptBack:
		return false
	case as == promised:
		return s.promised < s.pace.promises(room)
	case as == reserved && s.pace.promises(room) == room:
		return s.promised < room // each free slot that was promised will be taken
	}
	return true
}

func (s *Slots) occupy(l Lane, as stage) *Slot {
	t := &Slot{slots: s}
	t.lane.Store(int32(l))
	if l == Probation {
		s.lane.running++
		t.stage = as
		return t
	}
	s.came++
	t.place = s.came
	t.become(as)
	return t
}
