package dispatch

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// crowd is runs that never run out of calls, in slots of which there are too few.
type crowd struct {
	slots   *Slots
	running []runner
	ended   map[string]int // calls, by the name of a call that waits since
}

type runner struct {
	name string
	slot *Slot
}

// end ends the attempt in a slot. Its run wants to go on in it, or queues.
func (c *crowd) end(i, priority int) {
	r := c.running[i]
	for name := range c.ended {
		c.ended[name]++
	}
	if r.slot.keep(&Ask{Priority: priority}) {
		return
	}
	c.running = append(c.running[:i], c.running[i+1:]...)
	grants := r.slot.Free()
	c.slots.Wait(&Waiter{Call: Call{r.name, 1}, Priority: priority})
	for _, g := range grants {
		delete(c.ended, g.Run)
		c.running = append(c.running, runner{g.Run, g.Slot})
	}
}

// TestE94_KeptSlotsLeaveABoundedWait: whichever of the runs end their calls, and in which
// order, a call of the same priority has waited for no more than maxInARow calls of each
// slot when all before it have had theirs. With time passing it is fewer.
func TestE94_KeptSlotsLeaveABoundedWait(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 15))
		limit := 1 + random.IntN(4)
		c := crowd{slots: NewSlots(limit, func() bool { return true }), ended: map[string]int{}}
		for i := range limit {
			c.running = append(c.running, runner{fmt.Sprint("run ", i), c.slots.Take(Regular)})
		}
		waiting := 1 + random.IntN(6)
		for i := range waiting {
			name := fmt.Sprint("waits ", i)
			c.slots.Wait(&Waiter{Call: Call{name, 1}})
			c.ended[name] = 0
		}
		// A slot is given away after maxInARow calls of its run at the latest, so that many
		// ends of each slot serve as many waiting calls as there are slots.
		most := (waiting + limit) * (maxInARow + 1)
		for n := 0; len(c.ended) > 0; n++ {
			if n > most {
				t.Fatalf("seed %d: with %d slots, %d of %d calls still wait after %d ends", seed, limit, len(c.ended), waiting, n)
			}
			c.end(random.IntN(len(c.running)), 0)
		}
		if u := c.slots.Usage(); u.Regular != limit {
			t.Fatalf("seed %d: %d slots of %d are used", seed, u.Regular, limit)
		}
	}
}

// TestE94_ASlotIsKeptOnlyForABoundedRow: exactly how often, and for how long; and never
// while a call of higher priority waits.
func TestE94_ASlotIsKeptOnlyForABoundedRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := func(s *Slot, priority int, pause time.Duration) (n int) {
			for ; n < 100 && s.keep(&Ask{Priority: priority}); n++ {
				time.Sleep(pause)
			}
			return n
		}
		fresh := func(waits ...int) *Slot {
			s := NewSlots(1, func() bool { return true })
			slot := s.Take(Regular)
			for i, priority := range waits {
				s.Wait(&Waiter{Call: Call{fmt.Sprint(i), 1}, Priority: priority})
			}
			return slot
		}
		for _, c := range []struct {
			what string
			slot *Slot
			each time.Duration
			want int
		}{
			{"no call waits", fresh(), time.Minute, 100},
			{"another call waits", fresh(0), time.Millisecond, maxInARow},
			{"one of lower priority waits", fresh(-1), time.Millisecond, maxInARow},
			{"one of higher priority waits", fresh(0, 1), time.Millisecond, 0},
			{"calls are slow", fresh(0), 400 * time.Millisecond, 3},
			{"calls take long", fresh(0), time.Minute, 1},
		} {
			if got := kept(c.slot, 0, c.each); got != c.want {
				t.Errorf("%s: the slot was kept %d times, want %d", c.what, got, c.want)
			}
		}
	})
}

// TestASlotThatWasFreedIsNotKept: nor is one of the probation lane, nor one above the
// limit.
func TestASlotThatWasFreedIsNotKept(t *testing.T) {
	s := NewSlots(1, func() bool { return true })
	freed, tried, above := s.Take(Regular), s.Take(Probation), (*Slot)(nil)
	freed.Free()
	if freed.keep(&Ask{}) || tried.keep(&Ask{}) {
		t.Error("a slot was kept that is not the run's")
	}
	if above = s.Take(Regular); above == nil {
		t.Fatal("there is no slot")
	}
	tried.LeaveProbation()
	if above.keep(&Ask{}) {
		t.Error("a slot was kept although there are more than the limit allows")
	}
}
