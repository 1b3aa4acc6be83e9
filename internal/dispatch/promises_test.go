package dispatch

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// station is runs that never run out of calls: each waits to be admitted, is recorded for commit,
// and its body takes a moment.
type station struct {
	slots        *Slots
	commit, body time.Duration

	mu            sync.Mutex
	hung          bool // bodies do not end
	granted       map[string]chan bool
	running, most int // bodies
	ended, vain   int // attempts; those that got no slot when they began
}

// onRecord is an attempt on record.
type onRecord struct{ launched chan *Slot }

func (x *onRecord) Launch(s *Slot) bool {
	select {
	case x.launched <- s:
		return true
	default:
		return false
	}
}

func (x *onRecord) Ended() bool { return x.launched == nil }

func (s *station) deliver(grants []Grant) {
	for ; len(grants) > 0; grants = grants[1:] {
		if g := grants[0]; g.Attempt == nil {
			s.granted[g.Run] <- true
		} else if !g.Attempt.Launch(g.Slot) {
			grants = append(grants, g.Slot.Free()...)
		}
	}
}

func (s *station) work(run string, until time.Time) {
	seats := s.slots.SeatsOf(run, Tenure{})
	defer func() { s.deliver(seats.Close()) }()
	for call := int64(1); time.Now().Before(until); {
		var by Step
		for !seats.Has(call) {
			if admitted, grants := seats.Admit(&by, &Ask{Number: call, Promise: true}); !admitted {
				s.deliver(grants)
				<-s.granted[run]
			}
		}
		time.Sleep(s.commit)
		slot := seats.Begin(call)
		if slot == nil {
			slot = s.wait(Call{run, call})
		}
		if slot == nil {
			continue
		}
		s.count(1)
		time.Sleep(s.body)
		for s.hangs() {
			time.Sleep(time.Second)
		}
		s.count(-1)
		s.deliver(slot.Free())
		call++
	}
}

// wait waits for a slot for an attempt on record, as long as it may.
func (s *station) wait(c Call) *Slot {
	x := &onRecord{launched: make(chan *Slot)}
	if slot, _ := s.slots.Want(&Waiter{Call: c, Attempt: x}); slot != nil {
		return slot
	}
	select {
	case slot := <-x.launched:
		return slot
	case <-time.After(200 * time.Millisecond):
	}
	s.slots.Forget(c, x)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.vain++
	return nil
}

func (s *station) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running += n
	s.most = max(s.most, s.running)
	if n < 0 {
		s.ended++
	}
}

func (s *station) hangs() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hung
}

func (s *station) hang(hung bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hung = hung
}

func (s *station) play(runs int, last time.Duration) {
	until := time.Now().Add(last)
	s.granted = map[string]chan bool{}
	for i := range runs {
		s.granted[fmt.Sprint(i)] = make(chan bool, 1)
	}
	var all sync.WaitGroup
	for run := range s.granted {
		all.Go(func() { s.work(run, until) })
	}
	all.Wait()
}

// TestE49_PromisesFillSlots: where bodies take a tenth of their commits, the slots serve several
// times the calls that they could if each kept one while it was recorded; where bodies take
// longer, exactly as many. No more bodies run at a time than there are slots, and hardly any
// attempt is recorded in vain.
func TestE49_PromisesFillSlots(t *testing.T) {
	for _, c := range []struct {
		commit, body time.Duration
		least        float64 // attempts of a slot in a second, as a part of what is possible without promises
		vain         float64
	}{
		{10 * time.Millisecond, time.Millisecond, 4.5, 0.01},
		{10 * time.Millisecond, 100 * time.Microsecond, 7, 0.01},
		{10 * time.Millisecond, 20 * time.Millisecond, 0.9, 0},
		{time.Millisecond, time.Second, 0.9, 0},
	} {
		t.Run(fmt.Sprint(c.commit, " ", c.body), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const limit, runs, seconds = 8, 100, 20
				s := &station{slots: NewSlots(limit, func() bool { return true }), commit: c.commit, body: c.body}
				s.play(runs, seconds*time.Second)
				without := limit * seconds / (c.commit + c.body).Seconds()
				if got := float64(s.ended) / without; got < c.least {
					t.Errorf("%.2f of the attempts without promises, want %v", got, c.least)
				}
				if s.most > limit || float64(s.vain) > c.vain*float64(s.ended) {
					t.Errorf("%d bodies at a time, %d attempts of %d in vain", s.most, s.vain, s.ended)
				}
				if u := s.slots.Usage(); u.Regular != 0 || u.Promised != 0 {
					t.Errorf("left: %+v", u)
				}
			})
		})
	}
}

// TestE49_PromisesEndWhenBodiesHang: what was promised before bodies hung waits in vain once, and
// nothing is promised while all slots are taken.
func TestE49_PromisesEndWhenBodiesHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, runs = 8, 100
		s := &station{slots: NewSlots(limit, func() bool { return true }), commit: 10 * time.Millisecond, body: time.Millisecond}
		go func() {
			time.Sleep(5 * time.Second)
			s.hang(true)
			time.Sleep(10 * time.Second)
			s.hang(false)
		}()
		s.play(runs, 20*time.Second)
		if s.vain == 0 || s.vain > limit*maxPromises || s.most > limit {
			t.Errorf("%d attempts in vain, %d bodies at a time", s.vain, s.most)
		}
	})
}

// busySlots returns slots whose bodies take a tenth of their commits.
func busySlots(limit int) *Slots {
	s := NewSlots(limit, func() bool { return true })
	s.pace = pace{average{10 * time.Millisecond, true}, average{time.Millisecond, true}}
	return s
}

func admit(s *Slots, run string) bool {
	var by Step
	admitted, _ := s.SeatsOf(run, Tenure{}).Admit(&by, &Ask{Number: 1, Promise: true})
	return admitted
}

// TestE49_AnAttemptInVainKeepsItsPlace: a call whose attempt got no slot queues again before all
// that were behind it when it was promised one.
func TestE49_AnAttemptInVainKeepsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := busySlots(1)
		for i := range 20 {
			if admitted := admit(s, fmt.Sprint(i)); admitted != (i < maxPromises) {
				t.Fatalf("call %d is admitted: %t", i, admitted)
			}
		}
		body := s.SeatsOf("0", Tenure{}).Begin(1)
		x := &onRecord{make(chan *Slot)}
		if s.SeatsOf("1", Tenure{}).Begin(1) != nil {
			t.Fatal("two bodies run")
		}
		for i := 2; i < maxPromises; i++ {
			s.SeatsOf(fmt.Sprint(i), Tenure{}).Withdraw(1)
		}
		s.Want(&Waiter{Call: Call{"1", 1}, Attempt: x})
		s.Forget(Call{"1", 1}, x)
		if admit(s, "1") {
			t.Fatal("it is admitted while the slot is taken")
		}
		s.pace = pace{} // one promise
		if grants := body.Free(); len(grants) != 1 || grants[0].Run != "1" {
			t.Errorf("the slot goes to %+v", grants)
		}
		// The place is for queueing again, and not for ever.
		t1 := s.SeatsOf("1", Tenure{})
		t1.keepPlace(1, 1)
		time.Sleep(placeKept + 1)
		if n := s.placeOf(&Waiter{Call: Call{"1", 1}}); n != 0 {
			t.Errorf("after a while it has the place %d", n)
		}
		for i := range int64(1000) {
			time.Sleep(placeKept / 10)
			t1.keepPlace(i, 1)
		}
		if n := len(t1.places); n > 32 {
			t.Errorf("%d places are kept", n)
		}
	})
}

// TestT2_APromiseIsATurn: a call that was granted a promise and then waits on record is no further
// turn of its key, whether it gets a slot there or queues again.
func TestT2_APromiseIsATurn(t *testing.T) {
	s := busySlots(1)
	body := s.Take(Regular)
	wait := func(run, key string) {
		var by Step
		s.SeatsOf(run, Tenure{}).Admit(&by, &Ask{Number: 1, Key: key, Promise: true})
	}
	for i := range 3 {
		wait(fmt.Sprint("a", i), "a")
	}
	s.pace = pace{} // one promise
	if g := body.Free(); len(g) != 1 || g[0].Run != "a0" {
		t.Fatalf("%+v", g)
	}
	taken := s.occupy(Regular, running) // by an attempt on record
	seats := s.SeatsOf("a0", Tenure{})
	if seats.Begin(1) != nil {
		t.Fatal("two bodies run")
	}
	x := &onRecord{make(chan *Slot)}
	s.Want(&Waiter{Call: Call{"a0", 1}, Key: "a", Attempt: x})
	wait("b0", "b")
	wait("b1", "b")
	var got []string
	for _, g := range taken.Free() {
		got = append(got, g.Run)
	}
	if fmt.Sprint(got) != "[b0 a0]" { // a promise for b, and the slot for the attempt on record
		t.Fatalf("the grants are %v", got)
	}
	// Each key had one turn.
	if k := s.turns.Next(); k == nil || k.Name != "a" {
		t.Errorf("the next turn is that of %v", k)
	}
}

// TestE49_WhoNeedsASlotDoesNotWaitForPromises: an attempt on record takes a free slot although
// others wait for promises, of which there are enough.
func TestE49_WhoNeedsASlotDoesNotWaitForPromises(t *testing.T) {
	s := busySlots(8)
	for i := range 100 {
		admit(s, fmt.Sprint(i))
	}
	if u := s.Usage(); u.Regular != 0 || u.Promised != 8*maxPromises || u.Waiting != 100-8*maxPromises {
		t.Fatalf("%+v", u)
	}
	if slot, _ := s.Want(&Waiter{Call: Call{"due", 1}, Attempt: &onRecord{make(chan *Slot)}}); slot == nil {
		t.Error("an attempt on record waits while eight slots are free")
	}
}

// TestE49_APromiseIsBackedWhereBodiesAreSlow: there, who needs a reserved slot does not take the
// one that was promised.
func TestE49_APromiseIsBackedWhereBodiesAreSlow(t *testing.T) {
	s := NewSlots(1, func() bool { return true })
	if !admit(s, "first") {
		t.Fatal("no slot is free")
	}
	var by Step
	if admitted, _ := s.SeatsOf("gated", Tenure{}).Admit(&by, &Ask{Number: 1}); admitted {
		t.Error("another call has the slot that was promised")
	}
	if s.SeatsOf("first", Tenure{}).Begin(1) == nil {
		t.Error("the promise was not kept")
	}
}

// TestE49_WhatWasRefusedSaysNothingAboutBodies: slots that attempts did not want any more do not
// make bodies look short.
func TestE49_WhatWasRefusedSaysNothingAboutBodies(t *testing.T) {
	s := NewSlots(1, func() bool { return true })
	s.pace.body = average{time.Second, true}
	for range 100 {
		s.occupy(Regular, running).Refuse()
	}
	if s.pace.body.mean != time.Second {
		t.Errorf("bodies take %s", s.pace.body.mean)
	}
}
