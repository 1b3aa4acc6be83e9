package dispatch

import (
	"maps"
	"slices"
	"sync/atomic"

	"github.com/perdure/perdure/internal/suspects"
)

// Seats are the slots that a run has on this node apart from those of its running attempts:
// reserved ones, for calls whose attempts have not begun, and kept ones, of attempts that have
// ended, which its next step may use for other calls. A run that waits for a slot has seats as
// soon as it gets one, even if it is not in memory.
type Seats struct {
	slots  *Slots
	run    string
	tenure Tenure

	keeps atomic.Bool // some slot is kept

	// Guarded by the mutex of slots:
	reserved map[int64]*Slot // by call
	kept     []*Slot
	places   map[int64]place // in the queue, of calls whose attempts got no slot
	closed   bool            // the run was evicted
}

// Ask is a call that wants a slot for its next attempt.
type Ask struct {
	Number    int64
	Code      string // the activity, or the inline step, as switches name it
	Key       string // of the run
	Weight    int    // of the key
	Priority  int
	Lost      bool // its process died while it ran
	Suspect   suspects.Suspect
	Probation bool // it is a suspect
	Promise   bool // its attempt may wait on record: a promise of a slot is enough
	Unslotted bool // not even that: its attempt is recorded ahead of its time
}

// Step collects the calls that one step of a run admits. The zero value is an empty one.
type Step struct {
	admitted []int64
	over     bool
}

// SeatsOf returns the seats of a run that comes into memory.
func (s *Slots) SeatsOf(run string, of Tenure) *Seats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seatsOf(run, of)
}

func (s *Slots) seatsOf(run string, of Tenure) *Seats {
	t := s.seats[run]
	if t == nil || t.tenure != of {
		t = &Seats{slots: s, run: run, tenure: of}
		s.seats[run] = t
	}
	return t
}

// Admit reserves a slot for the next attempt of a call, or enqueues the call. It returns false
// if the call has to wait, and who gets the slots that it leaves.
func (t *Seats) Admit(by *Step, c *Ask) (admitted bool, grants []Grant) {
	s := t.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed || t.closed || by.over:
		return false, nil // it stays queued in the database
	case !s.may():
		s.leaseRefused = true
		s.refuse(t)
		return false, nil
	case s.leaving[t.tenure]:
		s.refuse(t)
		return false, nil
	case s.off[c.Code]:
		s.refuse(t)
		return false, s.free(t.withdraw(c.Number))
	}
	lane := Regular
	if c.Probation {
		lane = Probation
	} else if s.blame[c.Code].Deaths > 0 { // each of its calls is tried as if it were a suspect
		lane = Probation
		s.holdBack(t, c.Code)
	}
	if granted := t.reserved[c.Number]; granted != nil && granted.Lane() != lane {
		grants = s.free(t.withdraw(c.Number))
	}
	switch {
	case lane == Regular && s.suspected(c.Code):
		s.holdBack(t, c.Code)
		return false, append(grants, s.free(t.withdraw(c.Number))...)
	case t.reserved[c.Number] != nil:
		// In the lane the grant, which holds the size of the group, is in the mail.
	case lane == Probation:
		s.wait(t.waiter(c, lane))
		grants = append(grants, s.grantAll()...)
	case c.Unslotted:
		return true, grants // it asks for one when it begins
	default:
		slot, freed := t.unkeep(c)
		grants = append(grants, freed...)
		if slot == nil {
			slot = s.take(lane, c.gets())
		}
		if slot == nil {
			s.wait(t.waiter(c, lane))
			return false, grants
		}
		t.reserve(c.Number, slot)
	}
	if lane == Probation {
		return false, grants
	}
	by.admitted = append(by.admitted, c.Number)
	return true, grants
}

// GiveUp ends a step whose code does not return: it admits nothing more, and what it was given
// is freed.
func (t *Seats) GiveUp(by *Step) (grants []Grant) {
	s := t.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	by.over = true
	for _, call := range by.admitted {
		grants = append(grants, s.free(t.withdraw(call))...)
	}
	return grants
}

// Reset makes a step that has returned empty, for the next one.
func (b *Step) Reset() { b.admitted = b.admitted[:0] }

func (t *Seats) waiter(c *Ask, lane Lane) *Waiter {
	return &Waiter{
		Call: Call{Run: t.run, Number: c.Number}, Tenure: t.tenure, Lane: lane, Suspect: c.Suspect, Key: c.Key, Weight: c.Weight, Priority: c.Priority,
		Lost: c.Lost, Activity: c.Code, Promise: c.Promise, Doubted: !c.Probation,
	}
}

func (c *Ask) gets() stage {
	if c.Promise {
		return promised
	}
	return reserved
}

func (t *Seats) reserve(call int64, slot *Slot) {
	if t.reserved == nil {
		t.reserved = map[int64]*Slot{}
	}
	t.reserved[call] = slot
	delete(t.places, call)
}

// withdraw takes back the slot that is reserved for a call; nil for none.
func (t *Seats) withdraw(call int64) *Slot {
	slot := t.reserved[call]
	delete(t.reserved, call)
	return slot
}

// Begin returns the slot of a call whose attempt begins. It belongs to the attempt from now on. If
// it is nil, the attempt waits for one; see Slots.Want.
func (t *Seats) Begin(call int64) *Slot {
	t.slots.mu.Lock()
	defer t.slots.mu.Unlock()
	promise := t.withdraw(call)
	slot := promise.redeem()
	if slot == nil && promise != nil {
		t.keepPlace(call, promise.place)
	}
	return slot
}

// Withdraw frees the slots that are reserved for calls.
func (t *Seats) Withdraw(calls ...int64) (grants []Grant) {
	s := t.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, call := range calls {
		grants = append(grants, s.free(t.withdraw(call))...)
	}
	return grants
}

// Has reports whether a slot is reserved for a call.
func (t *Seats) Has(call int64) bool {
	t.slots.mu.Lock()
	defer t.slots.mu.Unlock()
	return t.reserved[call] != nil
}

// Waits reports whether the run has no slot and none was refused to it, so that whatever it
// waits for will be granted.
func (t *Seats) Waits() bool {
	t.slots.mu.Lock()
	defer t.slots.mu.Unlock()
	return len(t.reserved) == 0 && !t.slots.refused[t]
}

// Stopped reports whether calls of this code are switched off. The run is told when they may
// start again.
func (t *Seats) Stopped(code string) bool {
	s := t.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.off[code] {
		return false
	}
	s.refuse(t)
	return true
}

// Take reserves a slot for whatever the run calls first.
func (t *Seats) Take() bool {
	s := t.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	slot := s.take(Regular, promised)
	if slot != nil {
		t.keep(slot)
	}
	return slot != nil
}

// Keep leaves the slot of an ended attempt to the run, whose next step may use it for another
// call: as a promise, so that others run meanwhile. The caller says so only if no step is in
// progress, so that the promise does not wait for a commit before it is used. If Keep returns
// false the slot is to be freed.
func (t *Seats) Keep(slot *Slot) (kept bool, grants []Grant) {
	s := t.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	if slot == nil || s.closed || t.closed || s.leaving[t.tenure] {
		return false, nil
	}
	t.keep(slot)
	if slot.Lane() == Regular {
		slot.become(promised)
		grants = s.grantRegular()
	}
	return true, grants
}

func (t *Seats) keep(slot *Slot) {
	t.kept = append(t.kept, slot)
	t.keeps.Store(true)
}

// Kept reports whether slots were left to the run.
func (t *Seats) Kept() bool {
	return t.keeps.Load()
}

// unkeep returns a slot that was left to the run, nil if there is none that a call may use.
func (t *Seats) unkeep(c *Ask) (slot *Slot, grants []Grant) {
	for len(t.kept) > 0 {
		last := len(t.kept) - 1
		slot = t.kept[last]
		t.kept[last], t.kept = nil, t.kept[:last]
		t.keeps.Store(last > 0)
		if slot.keep(c) && (c.Promise || slot.secure()) {
			return slot, grants
		}
		grants = append(grants, t.slots.free(slot)...)
	}
	return nil, grants
}

// Stepped frees the slots that were left to the run and that its step did not use. If first is
// set, the run has begun and is no longer in line.
func (t *Seats) Stepped(first bool) (grants []Grant) {
	if !first && !t.keeps.Load() {
		return nil // the usual case
	}
	s := t.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	grants = s.freeKept(t)
	if first {
		s.leave(t.run)
	}
	return grants
}

func (s *Slots) freeKept(t *Seats) (grants []Grant) {
	for i, slot := range t.kept {
		grants = append(grants, s.free(slot)...)
		t.kept[i] = nil
	}
	t.kept = t.kept[:0]
	t.keeps.Store(false)
	return grants
}

// Return frees a slot that the run was given to begin, unless a call of it has that already. It may
// be kept in other seats of the run, which nobody will use.
func (t *Seats) Return(slot *Slot) []Grant {
	s := t.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(t.kept, slot)
	switch {
	case i >= 0:
		t.kept = slices.Delete(t.kept, i, i+1)
		t.keeps.Store(len(t.kept) > 0)
	case slot == nil, slot.stage == running, slices.Contains(slices.Collect(maps.Values(t.reserved)), slot):
		return nil
	}
	return s.free(slot)
}

// Close frees all slots of a run that is evicted. It does nothing on nil.
func (t *Seats) Close() []Grant {
	if t == nil {
		return nil
	}
	s := t.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closeSeats(t)
}

func (s *Slots) closeSeats(t *Seats) (grants []Grant) {
	t.closed = true
	if s.seats[t.run] == t {
		delete(s.seats, t.run)
	}
	delete(s.refused, t)
	delete(s.passed, t.run)
	for call := range t.reserved {
		grants = append(grants, s.free(t.withdraw(call))...)
	}
	return append(grants, s.freeKept(t)...)
}

// refuse notes that a call of a run gets no slot for a reason that passes: see Reopen.
func (s *Slots) refuse(t *Seats) { s.refused[t] = true }

// holdBack notes that a call is to ask again when no call of its activity is tried any more;
// see LetBack.
func (s *Slots) holdBack(t *Seats, activity string) {
	s.heldBack[activity] = true
	s.holdsBack.Store(true)
	if t != nil {
		s.refuse(t)
	}
}

// LetBack reports whether suspects of activities have been tried for which others were held
// back, which may ask again then: see Reopen.
func (s *Slots) LetBack() (freed bool) {
	if !s.holdsBack.Load() {
		return false // the usual case
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for activity := range s.heldBack {
		if !s.suspected(activity) {
			delete(s.heldBack, activity)
			freed = true
		}
	}
	s.holdsBack.Store(len(s.heldBack) > 0)
	return freed && !s.closed
}

// Reopen grants free slots, and returns the runs whose calls got none because their partition
// was closed, their activity was switched off or tried, or the lease might have expired. They
// ask again.
func (s *Slots) Reopen() (grants []Grant, ask []*Seats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaseRefused = false
	for t := range s.refused {
		if !s.leaving[t.tenure] {
			delete(s.refused, t)
			ask = append(ask, t)
		}
	}
	return s.grantAll(), ask
}

// Renewed is Reopen if calls were refused because the lease might have expired; else it only
// grants free slots.
func (s *Slots) Renewed() (grants []Grant, ask []*Seats) {
	s.mu.Lock()
	refused := s.leaseRefused
	s.mu.Unlock()
	if refused {
		return s.Reopen()
	}
	return s.Serve(), nil
}

// Run returns the run and the tenure of seats.
func (t *Seats) Run() (string, Tenure) { return t.run, t.tenure }

// SwitchOff says of which activities and inline steps no attempt may start. It reports whether one
// may start again of which none might before.
func (s *Slots) SwitchOff(names map[string]bool) (released bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.off {
		released = released || !names[name]
	}
	s.off = names
	return released
}

// Off reports whether no attempt of an activity may start.
func (s *Slots) Off(activity string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.off[activity]
}
