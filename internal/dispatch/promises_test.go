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

// TestE49_AnAttemptInVainKeepsItsPlace: a call whose attempt got no slot queues again before the
// calls that came after it.
func TestE49_AnAttemptInVainKeepsItsPlace(t *testing.T) {
	s := NewSlots(1, func() bool { return true })
	taken := s.Take(Regular)
	seats, other := s.SeatsOf("first", Tenure{}), s.SeatsOf("second", Tenure{})
	x := &onRecord{make(chan *Slot)}
	if slot, may := s.Want(&Waiter{Call: Call{"first", 1}, Attempt: x}); slot != nil || !may {
		t.Fatal("there is a slot")
	}
	var step Step
	other.Admit(&step, &Ask{Number: 1, Promise: true})
	s.Forget(Call{"first", 1}, x)
	seats.Admit(&step, &Ask{Number: 1, Promise: true})
	if grants := taken.Free(); len(grants) != 1 || grants[0].Run != "first" {
		t.Errorf("the slot goes to %+v", grants)
	}
}
