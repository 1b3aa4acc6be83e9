package attempt

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/internal/history"
)

// unslotted begins an attempt without a slot that is due after a wait, and returns where
// it asks for one, and where its body says what it is told of itself.
func (s *stage) unslotted(wait time.Duration) (asks chan *Attempt, told chan activity.Info) {
	asks, told = make(chan *Attempt, 10), make(chan activity.Info, 10)
	s.next++
	clock := s.runner.config.Clock
	s.runner.Begin(Spec{
		Run: "run", Dispatch: core.Dispatch{Call: s.next, Attempt: 2, Started: clock.Now() + int64(wait), AttemptTimeout: time.Second},
		Body: func(ctx context.Context) (history.Payload, error) {
			info, _ := activity.FromContext(ctx)
			told <- info
			if deadline, ok := ctx.Deadline(); !ok || !deadline.Equal(info.Deadline) {
				return history.Payload{}, errors.New("the deadline is another one")
			}
			return history.Payload{}, nil
		},
		Wants: func(x *Attempt) { asks <- x },
	})
	return asks, told
}

// TestE147_AnAttemptAsksForItsSlot when its time has come, not before, and its time runs
// from when it has it.
func TestE147_AnAttemptAsksForItsSlot(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		asks, told := s.unslotted(time.Minute)
		pass(time.Minute - 1)
		if len(asks) != 0 || s.runner.Running() != 1 || s.runner.Begun() != 0 {
			t.Fatal("it asks, or runs, before its time")
		}
		pass(time.Millisecond)
		x := <-asks
		pass(slotPatience / 2)
		if !x.Launch(s.slots.Take(dispatch.Regular)) || x.Launch(nil) {
			t.Error("it does not begin, or twice")
		}
		began := time.Now()
		if end := s.ended(t); end.Outcome != core.Completed || end.Began != s.runner.config.Clock.Now() || end.Unbegun {
			t.Errorf("the end is %+v", end)
		}
		if info := <-told; !info.Started.Equal(began) || !info.Deadline.Equal(began.Add(time.Second)) {
			t.Errorf("it began at %s and is told %+v", began, info)
		}
		pass(time.Hour)
		if u := s.slots.Usage(); u.Regular != 0 || s.runner.Running() != 0 || len(asks) != 0 {
			t.Errorf("something is left: %+v", u)
		}
	})
}

// TestE147_WithoutASlotItEnds soon after its time, unbegun; the same if it is not wanted
// any more before, or the lease is over. A slot that comes later is not taken.
func TestE147_WithoutASlotItEnds(t *testing.T) {
	for name, c := range map[string]struct {
		before  func(*stage)
		asks    int
		unbegun bool
		want    core.Outcome
	}{
		"no slot":    {func(*stage) {}, 1, true, core.Drained},
		"not wanted": {func(s *stage) { s.runner.Get(Key{"run", 1, 2}).Cancel() }, 0, true, core.Failed},
		"shutdown":   {func(s *stage) { s.runner.Interrupt() }, 0, true, core.Drained},
		"lease lost": {func(s *stage) { s.holds.Store(false) }, 0, true, core.Drained},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(t *testing.T, s *stage) {
				asks, told := s.unslotted(time.Second)
				pass(time.Second / 2)
				x := s.runner.Get(Key{"run", 1, 2})
				c.before(s)
				pass(time.Second/2 + slotPatience)
				if end := s.ended(t); end.Outcome != c.want || end.Unbegun != c.unbegun || len(asks) != c.asks || len(told) != 0 {
					t.Errorf("the end is %+v, it asked %d times, and its body ran %d times", end, len(asks), len(told))
				}
				if x.Launch(s.slots.Take(dispatch.Regular)) {
					t.Error("it takes a slot after its end")
				}
			})
		})
	}
}

// TestE145_ASlotThatComesTooLateIsNotTaken: neither after the time until which an attempt may begin,
// nor by one that was given up, whose slot would be lost with it.
func TestE145_ASlotThatComesTooLateIsNotTaken(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		asks, told := s.unslotted(time.Second)
		pass(time.Second)
		x := <-asks
		s.runner.mu.Lock()
		x.latest = s.runner.config.Clock.Now() // its timer is a little late
		s.runner.mu.Unlock()
		slot := s.slots.Take(dispatch.Regular)
		if x.Launch(slot) {
			t.Error("it begins when it has waited too long")
		}
		s.runner.mu.Lock()
		x.latest = 0
		s.runner.mu.Unlock()
		s.runner.GiveUp()
		if x.Launch(slot) {
			t.Error("it takes a slot when it was given up")
		}
		if end := s.ended(t); end.Outcome != core.Drained || len(told) != 0 {
			t.Errorf("the end is %+v, and its body ran %d times", end, len(told))
		}
		slot.Free()
	})
}

// TestWhoHasEndedGetsNoPlaceBack: what was taken out of the queues with its partition, and ended
// until it is restored, waits no more.
func TestWhoHasEndedGetsNoPlaceBack(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		one, two := s.slots.Take(dispatch.Regular), s.slots.Take(dispatch.Regular)
		x, y := &Attempt{Key: Key{"waits", 1, 2}}, &Attempt{Key: Key{"gone", 1, 2}}
		s.slots.Wait(&dispatch.Waiter{Call: dispatch.Call{Run: "waits", Number: 1}, Attempt: x})
		s.slots.Wait(&dispatch.Waiter{Call: dispatch.Call{Run: "gone", Number: 1}, Attempt: y})
		s.slots.Suspend([]dispatch.Tenure{{}})
		if u := s.slots.Usage(); u.Waiting != 0 {
			t.Errorf("%d wait", u.Waiting)
		}
		y.over.Store(true)
		s.slots.Resume([]dispatch.Tenure{{}})
		if u := s.slots.Usage(); u.Waiting != 1 {
			t.Errorf("%d wait again", u.Waiting)
		}
		if grants := append(one.Free(), two.Free()...); len(grants) != 1 || grants[0].Attempt != x {
			t.Errorf("the slots go to %+v", grants)
		}
	})
}

// TestE147_OnRecordGoesFirst among those of one priority, and does not stand in the way of
// its call when it has ended. Once one that is not on record has waited for long, no
// more goes on record without a slot, though others that are have come later.
func TestE147_OnRecordGoesFirst(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		one, two := s.slots.Take(dispatch.Regular), s.slots.Take(dispatch.Regular)
		x, y := &Attempt{Key: Key{"late", 1, 2}}, &Attempt{Key: Key{"gone", 1, 2}}
		s.slots.Wait(&dispatch.Waiter{Call: dispatch.Call{Run: "first", Number: 1}})
		s.slots.Wait(&dispatch.Waiter{Call: dispatch.Call{Run: "urgent", Number: 1}, Priority: 1})
		s.slots.Wait(&dispatch.Waiter{Call: dispatch.Call{Run: "gone", Number: 1}, Attempt: y})
		s.slots.Wait(&dispatch.Waiter{Call: dispatch.Call{Run: "late", Number: 1}, Attempt: x})
		if s.slots.Take(dispatch.Regular) != nil {
			t.Error("there is a slot")
		}
		y.over.Store(true)
		s.slots.Forget(dispatch.Call{Run: y.Run, Number: y.Call}, y)
		s.slots.Wait(&dispatch.Waiter{Call: dispatch.Call{Run: "gone", Number: 1}})
		if !s.slots.Moving("") {
			t.Error("slots are said to be rare")
		}
		pass(dispatch.MaxOvertaken)
		s.slots.Wait(&dispatch.Waiter{Call: dispatch.Call{Run: "later", Number: 1}, Attempt: &Attempt{}})
		if s.slots.Moving("") {
			t.Error("a call waits for long, and slots are said to come soon")
		}
		var order []string
		for grants := append(one.Free(), two.Free()...); len(grants) > 0; grants = grants[1:] {
			order = append(order, grants[0].Run)
			grants = append(grants, grants[0].Slot.Free()...)
		}
		want := []string{"urgent", "late", "later", "first", "gone"}
		for i := range want {
			if len(order) != len(want) || order[i] != want[i] {
				t.Fatalf("the order is %v, want %v", order, want)
			}
		}
	})
}
