package dispatch

import (
	"cmp"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/suspects"
)

// lane is the state of the probation lane. Suspects run there in groups, one group at a time.
type lane struct {
	closed  bool // no group enters; see CloseLane
	running int  // members of the current group that have not left
	group   int  // size of the current group
	passed  int  // size of the last group, which the process survived

	of       map[string]int  // running, by activity
	survived map[string]bool // activities of which an attempt ended here, or ran for long
}

// Blame is what is known of an activity whose calls died alone: how many, and before when no
// other is tried.
type Blame struct {
	Deaths int
	Until  time.Time
}

// CloseLane lets no further group of suspects into the probation lane until OpenLane. One that runs in
// it goes on.
func (s *Slots) CloseLane() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lane.closed = true
}

// OpenLane ends CloseLane.
func (s *Slots) OpenLane() []Grant {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lane.closed = false
	if s.lane.running == 0 {
		s.lane.passed = 0 // what comes now was never together in this process
	}
	return s.grantAll()
}

// LeaveProbation turns a slot of the probation lane into a regular one, if necessary above the
// limit, and returns who gets the lane.
func (t *Slot) LeaveProbation() []Grant {
	if t == nil {
		return nil
	}
	s := t.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.stage == freed || t.Lane() != Probation {
		return nil
	}
	t.lane.Store(int32(Regular))
	t.stage = freed
	t.become(running)
	s.leaveLane(t)
	return s.grantAll()
}

// grantLane admits the next group of suspects to the probation lane.
func (s *Slots) grantLane() (grants []Grant) {
	if !s.open(Probation, reserved) || len(s.suspects) == 0 || !s.grants() {
		return nil
	}
	for _, w := range slices.Clone(s.suspects) {
		if s.off[w.Activity] { // its run asks again when that is over
			s.withdraw(w)
			s.refuse(s.seatsOf(w.Run, w.Tenure))
		}
	}
	group := s.nextGroup()
	for _, w := range group {
		s.withdraw(w)
		slot := s.occupy(Probation, reserved)
		slot.activity = w.Activity
		s.lane.of[w.Activity]++
		grants = append(grants, s.seat(w, slot, len(group)))
	}
	s.lane.group = len(group)
	return grants
}

// nextGroup returns the suspects that run next. Activities of which fewer calls died alone
// come first, so that their calls do not wait for those of others to die.
func (s *Slots) nextGroup() []*Waiter {
	now := time.Now()
	var ready []*Waiter
	for _, w := range s.suspects {
		if s.blame[w.Activity].Until.Compare(now) <= 0 {
			ready = append(ready, w)
		}
	}
	if len(ready) == 0 {
		return nil
	}
	slices.SortFunc(ready, func(a, b *Waiter) int {
		return cmp.Or(cmp.Compare(s.blame[a.Activity].Deaths, s.blame[b.Activity].Deaths), inTurn(a, b))
	})
	single := func(w *Waiter) bool {
		return w.Activity != "" && (s.blame[w.Activity].Deaths > 0 || w.Suspect.Single(s.lane.survived[w.Activity]))
	}
	alike := func(a, b *Waiter) bool {
		return s.blame[a.Activity].Deaths == s.blame[b.Activity].Deaths && suspects.Compare(a.Suspect, b.Suspect) == 0
	}
	most := func(alike int) int { return min(ready[0].Suspect.Most(alike, s.lane.passed), s.limit-s.used) }
	return ready[:suspects.Next(ready, single, alike, most)]
}

// Blame says of which activities calls died alone. Suspects of others run first. Calls of them
// that wait in the regular lane are tried from now on; if there are activities of which no call
// had died alone before, Blame returns true, and calls that were held back may ask again: they are
// tried as well.
func (s *Slots) Blame(all map[string]Blame) (fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for activity, b := range all {
		fresh = fresh || b.Deaths > 0 && s.blame[activity].Deaths == 0
	}
	s.blame = all
	if !fresh {
		return false
	}
	for _, w := range s.inTurns() {
		if w.Number != ToBegin && s.blame[w.Activity].Deaths > 0 {
			s.withdraw(w)
			w.Lane, w.Doubted = Probation, true
			s.enqueue(w)
		}
	}
	return true
}

// Survived notes that an attempt of an activity ended here, or ran for long.
func (s *Slots) Survived(activity string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lane.survived[activity] = true
}

// Activity returns the activity of the suspect to which the slot was granted, "" for none.
func (t *Slot) Activity() string { return t.activity }

// suspected reports whether calls of an activity are in the probation lane or wait for it as
// suspects, or died alone.
func (s *Slots) suspected(activity string) bool {
	return activity != "" && (s.lane.of[activity] > 0 || s.blame[activity].Deaths > 0 ||
		slices.ContainsFunc(s.suspects, func(w *Waiter) bool { return w.Activity == activity && !w.Doubted }))
}

// leaveLane takes an attempt out of the probation lane.
func (s *Slots) leaveLane(t *Slot) {
	if s.lane.of[t.activity]--; s.lane.of[t.activity] <= 0 {
		delete(s.lane.of, t.activity)
	}
	if s.lane.running--; s.lane.running == 0 {
		s.lane.passed, s.lane.group = s.lane.group, 0
	}
}
