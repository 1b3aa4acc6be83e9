package dispatch

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/perdure/perdure/internal/suspects"
)

// TestE49_SlotsAreGivenByPriority: ten thousand calls that come in any order, some for
// the second time, some of partitions that leave and come back or do not, get slots by
// priority, and in the order in which they came among those of one; in the probation
// lane those that were there least often come first.
func TestE49_SlotsAreGivenByPriority(t *testing.T) {
	const contenders = 2_000
	random := rand.New(rand.NewPCG(1, 2))
	s := NewSlots(1, func() bool { return true })
	held := []*Slot{s.Take(Regular), s.Take(Probation)}
	if held[0] == nil || held[1] == nil {
		t.Fatal("there is no slot")
	}
	var came []*Waiter
	add := func(i int) {
		w := Waiter{
			Tenure: Tenure{Partition: random.IntN(3)}, Call: Call{fmt.Sprint(i), 1},
			Lane: Lane(random.IntN(2)), Suspect: suspects.Suspect{Charged: 1 + random.IntN(3)}, Priority: random.IntN(7) - 3,
		}
		again := w
		s.Wait(&w)
		s.Wait(&again) // which has its place already
		came = append(came, &w)
		if random.IntN(10) == 0 { // it moves to the other lane, behind those that are there
			moved := w
			moved.Lane = 1 - w.Lane
			s.Wait(&moved)
			came[len(came)-1] = &moved
		}
	}
	for i := range contenders / 2 {
		add(i)
	}
	// All partitions but the first leave, and the last comes back later.
	s.Suspend([]Tenure{{Partition: 1}, {Partition: 2}})
	for i := range contenders / 2 {
		add(contenders/2 + i)
	}
	s.Resume([]Tenure{{Partition: 2}})
	s.Drop([]Tenure{{Partition: 1}})
	came = slices.DeleteFunc(came, func(w *Waiter) bool {
		return w.Partition == 1 && s.waiting[w.Call] != w
	})
	if s.Take(Regular) != nil {
		t.Error("somebody overtakes those who wait")
	}
	for l, name := range []string{"regular", "probation"} {
		var want []string
		place := func(w *Waiter) string {
			return fmt.Sprint(w.Run, " of priority ", w.Priority, " after ", w.Suspect.Charged)
		}
		mine := slices.DeleteFunc(slices.Clone(came), func(w *Waiter) bool { return w.Lane != Lane(l) })
		slices.SortStableFunc(mine, func(a, b *Waiter) int {
			if Lane(l) == Probation && a.Suspect != b.Suspect {
				return a.Suspect.Charged - b.Suspect.Charged
			}
			return cmp.Or(b.Priority-a.Priority, cmp.Compare(a.number, b.number))
		})
		for _, w := range mine {
			want = append(want, place(w))
		}
		var got []string
		for grants := held[l].Free(); len(grants) > 0; grants = grants[0].Slot.Free() {
			got = append(got, place(grants[0].Waiter))
		}
		if len(got) < contenders/4 || !slices.Equal(got, want) {
			t.Errorf("%s lane: %d calls come, %d should; or not in their order", name, len(got), len(want))
		}
	}
}

// BenchmarkSlotsWait is a call that comes to many others and gets a slot at once.
func BenchmarkSlotsWait(b *testing.B) {
	s := NewSlots(1, func() bool { return true })
	slot := s.Take(Regular)
	for i := range 100_000 {
		s.Wait(&Waiter{Call: Call{fmt.Sprint(i), 1}, Priority: i % 10})
	}
	for b.Loop() {
		s.Wait(&Waiter{Call: Call{"last", 1}, Priority: 10})
		slot = slot.Free()[0].Slot
	}
}

// TestWhoWaitsGoesWithItsRun: a call that waits belongs to where its run is now. It keeps its place
// in the queue, and does not leave with the place at which the run was before.
func TestWhoWaitsGoesWithItsRun(t *testing.T) {
	s := NewSlots(1, func() bool { return true })
	taken := s.Take(Regular)
	before, now := Tenure{Partition: 1, Epoch: 7}, Tenure{Partition: 2, Epoch: 9}
	s.Wait(&Waiter{Call: Call{"moves", 1}, Tenure: before})
	s.Wait(&Waiter{Call: Call{"stays", 1}, Tenure: now})
	s.Wait(&Waiter{Call: Call{"moves", 1}, Tenure: now})
	if s.Suspend([]Tenure{before}); len(s.away) != 0 {
		t.Errorf("with the place where the run was before, %d calls leave", len(s.away))
	}
	if grants := taken.Free(); len(grants) != 1 || grants[0].Run != "moves" || grants[0].Tenure != now {
		t.Errorf("the slot goes to %+v", grants)
	}
}

// TestASlotIsFreedOnce: freeing a slot twice, or none, gives nobody a slot too many.
func TestASlotIsFreedOnce(t *testing.T) {
	s := NewSlots(1, func() bool { return true })
	slot := s.Take(Regular)
	for i := range 3 {
		s.Wait(&Waiter{Call: Call{fmt.Sprint(i), 1}})
	}
	var none *Slot
	if got := len(slot.Free()) + len(slot.Free()) + len(none.Free()); got != 1 {
		t.Errorf("%d calls got the slot", got)
	}
	if u := s.Usage(); u.Regular != 1 || u.Waiting != 2 {
		t.Errorf("the usage is %+v", u)
	}
}

// TestE3_LeavingTheProbationLane makes room for the next call there, if need be above the
// limit of regular slots.
func TestE3_LeavingTheProbationLane(t *testing.T) {
	s := NewSlots(1, func() bool { return true })
	s.Take(Regular)
	slot := s.Take(Probation)
	s.Wait(&Waiter{Call: Call{"next", 1}, Lane: Probation})
	if got := slot.LeaveProbation(); len(got) != 1 || got[0].Run != "next" || got[0].Slot.Lane() != Probation {
		t.Errorf("the lane goes to %v", got)
	}
	if u := s.Usage(); u.Regular != 2 || !u.Probation {
		t.Errorf("the usage is %+v", u)
	}
	if got := slot.LeaveProbation(); got != nil || slot.Lane() != Regular {
		t.Errorf("leaving twice gives %v", got)
	}
	slot.Free()
	if u := s.Usage(); u.Regular != 1 {
		t.Errorf("the usage is %+v", u)
	}
}

// TestSlotsThatAreKeptBack are given by priority when they are let go, and not while the
// lease may be over.
func TestSlotsThatAreKeptBack(t *testing.T) {
	holds := false
	s := NewSlots(1, func() bool { return holds })
	s.KeepBack()
	if s.Take(Regular) != nil {
		t.Error("a slot is given that is kept back")
	}
	s.Wait(&Waiter{Call: Call{"low", 1}})
	s.Wait(&Waiter{Call: Call{"high", 1}, Priority: 1})
	if got := s.LetGo(); got != nil {
		t.Errorf("without a lease %v got a slot", got)
	}
	holds = true
	if got := s.Serve(); len(got) != 1 || got[0].Run != "high" {
		t.Errorf("the slot went to %v", got)
	}
}

// TestE3_SuspectsRunInGroups: a group enters the lane together, within the limit of all
// slots, and none joins it; the next one comes when all have left. Calls that leave the
// queue on the way do not disturb it.
func TestE3_SuspectsRunInGroups(t *testing.T) {
	s := NewSlots(4, func() bool { return true })
	closed, other := s.Take(Probation), s.Take(Regular)
	for i := range 20 {
		s.Wait(&Waiter{Call: Call{fmt.Sprint(i), 1}, Tenure: Tenure{Partition: i % 2}, Lane: Probation, Priority: i % 3})
	}
	group := closed.Free()
	if len(group) != 3 || group[0].Group != 3 {
		t.Fatalf("%d enter, want as many as there are slots: 3", len(group))
	}
	if s.Take(Regular) == nil || s.Take(Regular) != nil {
		t.Error("the lane leaves not one slot more than its own")
	}
	s.Suspend([]Tenure{{Partition: 1}})
	if got := group[0].Slot.Free(); got != nil {
		t.Errorf("%d join a group", len(got))
	}
	if got := group[1].Slot.LeaveProbation(); got != nil {
		t.Errorf("%d join a group", len(got))
	}
	s.Resume([]Tenure{{Partition: 1}})
	other.Free()
	for left := 17; left > 0; {
		group = append(group[2].Slot.Free(), group[3:]...)
		if len(group) == 0 || group[0].Group != len(group) {
			t.Fatalf("%d calls wait and %d enter", left, len(group))
		}
		for left -= len(group); len(group) > 1; group = group[1:] {
			if group[0].Slot.Free() != nil {
				t.Fatal("a call joins a group")
			}
		}
		group = []Grant{{}, {}, group[0]}
	}
}

// TestE3_WhoWaitsWhenItsActivityIsDoubtedIsTried: a call that waits for a slot when it becomes known
// that another one of its activity died alone is tried in the lane, and one that was held back
// asks again. Neither waits until the activity is acquitted, which only such calls can do.
func TestE3_WhoWaitsWhenItsActivityIsDoubtedIsTried(t *testing.T) {
	s := NewSlots(1, func() bool { return true })
	taken := s.Take(Regular)
	waits, heldBack := s.SeatsOf("waits", Tenure{}), s.SeatsOf("held back", Tenure{})
	ask := func(of *Seats, probation bool) bool {
		admitted, grants := of.Admit(&Step{}, &Ask{Number: 1, Code: "doubted", Probation: probation})
		if len(grants) > 0 {
			t.Fatalf("%d grants", len(grants))
		}
		return admitted
	}
	if ask(waits, false) {
		t.Fatal("there is a slot")
	}
	lane := s.Take(Probation)
	s.Wait(&Waiter{Call: Call{"suspect", 1}, Lane: Probation, Activity: "doubted"})
	if ask(heldBack, false) {
		t.Fatal("a call is not held back while a suspect of its activity waits")
	}
	if !s.Blame(map[string]Blame{"doubted": {Deaths: 1}}) || s.Blame(map[string]Blame{"doubted": {Deaths: 1}}) {
		t.Error("calls may ask again whenever an activity is doubted that was not, and only then")
	}
	_, again := s.Reopen()
	if len(again) != 1 || again[0] != heldBack {
		t.Fatalf("%d ask again", len(again))
	}
	if ask(heldBack, false) {
		t.Error("it is not tried")
	}
	if grants := taken.Free(); len(grants) != 0 {
		t.Errorf("%s gets a regular slot", grants[0].Run)
	}
	var tried []string
	for grants := lane.Free(); len(grants) > 0; grants = grants[0].Slot.Free() {
		tried = append(tried, grants[0].Run)
	}
	if want := []string{"waits", "suspect", "held back"}; !slices.Equal(tried, want) {
		t.Errorf("%v are tried, want %v", tried, want)
	}
}
