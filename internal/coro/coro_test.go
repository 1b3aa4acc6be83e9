package coro

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestCoroutinesRunInTheOrderTheyWereWoken(t *testing.T) {
	s := New()
	var log []string
	var cs []*Coroutine
	for _, name := range []string{"a", "b", "c"} {
		cs = append(cs, s.Go(func(c *Coroutine) {
			for {
				log = append(log, name)
				c.Park()
			}
		}))
	}
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	cs[2].Wake()
	cs[0].Wake()
	cs[2].Wake() // already queued: keeps its place
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(log, ""); got != "abcca" {
		t.Errorf("order %q, want abcca", got)
	}
	<-s.Close()
}

func TestGoFromInsideRunsInTheSameRun(t *testing.T) {
	s := New()
	var log string
	s.Go(func(*Coroutine) {
		s.Go(func(*Coroutine) { log += "2" })
		log += "1"
	})
	if err := s.Run(); err != nil || log != "12" || s.Live() != 0 {
		t.Errorf("log %q, live %d, err %v", log, s.Live(), err)
	}
}

func TestPanicStopsTheSchedulerAndKeepsItsStack(t *testing.T) {
	s := New()
	cause := errors.New("boom")
	ran := false
	s.Go(func(*Coroutine) { panic(cause) })
	s.Go(func(*Coroutine) { ran = true })
	err := s.Run()
	var p *PanicError
	if !errors.As(err, &p) || !errors.Is(err, cause) || !strings.Contains(string(p.Stack), "coro_test.go") {
		t.Errorf("err = %v", err)
	}
	if ran {
		t.Error("another coroutine ran after the panic")
	}
	<-s.Close()
}

func TestHaltNeverReturns(t *testing.T) {
	s := New()
	after := false
	s.Go(func(c *Coroutine) {
		defer func() { _ = recover() }()
		c.Halt()
		after = true
	})
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	<-s.Close()
	if after {
		t.Error("code after Halt ran")
	}
}

func TestCloseRunsDefersAndCannotBeRecovered(t *testing.T) {
	before := runtime.NumGoroutine()
	var unwound, leaked int
	for range 50 {
		s := New()
		for range 5 {
			s.Go(func(c *Coroutine) {
				defer func() {
					unwound++
					if recover() != nil {
						leaked++
					}
					c.Park() // a defer that waits ends too
					leaked++
				}()
				c.Park()
				leaked++
			})
		}
		s.Go(func(*Coroutine) { leaked++ }) // never started
		s.ready = s.ready[:5]
		if err := s.Run(); err != nil {
			t.Fatal(err)
		}
		<-s.Close()
		if s.Live() != 0 {
			t.Fatalf("%d coroutines live after Close", s.Live())
		}
	}
	if unwound != 250 || leaked != 0 {
		t.Errorf("unwound %d, leaked %d", unwound, leaked)
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		runtime.Gosched()
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d goroutines before, %d after", before, runtime.NumGoroutine())
}

func TestRunningIsTrueOnlyInsideItsOwnTurn(t *testing.T) {
	s := New()
	first := s.Go(func(c *Coroutine) {
		if !c.Running() {
			t.Error("not running inside itself")
		}
		c.Park()
	})
	s.Go(func(*Coroutine) {
		if first.Running() {
			t.Error("a parked coroutine claims to run")
		}
	})
	_ = s.Run()
	<-s.Close()
}

func TestParkedCoroutinesDoNotHoldVirtualTimeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New()
		s.Go(func(c *Coroutine) { c.Park() })
		_ = s.Run()
		time.Sleep(24 * time.Hour)
		<-s.Close()
	})
}

func BenchmarkSwitch(b *testing.B) {
	s := New()
	c := s.Go(func(c *Coroutine) {
		for {
			c.Park()
		}
	})
	b.ReportAllocs()
	for b.Loop() {
		c.Wake()
		_ = s.Run()
	}
	<-s.Close()
}

func BenchmarkLife(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		s := New()
		s.Go(func(c *Coroutine) { c.Park() })
		_ = s.Run()
		<-s.Close()
	}
}

// TestE109_GoexitStopsTheSchedulerAsAPanicDoes: the goroutine of Run goes on, and the
// deferred calls of the one that exits have run.
func TestE109_GoexitStopsTheSchedulerAsAPanicDoes(t *testing.T) {
	s := New()
	var log string
	s.Go(func(*Coroutine) {
		defer func() { log += "deferred" }()
		runtime.Goexit()
	})
	s.Go(func(*Coroutine) { log += "another coroutine" })
	var err error
	ended := make(chan struct{})
	reached := false
	go func() {
		defer close(ended)
		err = s.Run()
		reached = true
	}()
	<-ended
	if !reached || !errors.Is(err, ErrGoexit) || log != "deferred" {
		t.Errorf("Run returned %v with %v, after %q", reached, err, log)
	}
	<-s.Close()
	if s.Live() != 0 {
		t.Errorf("%d coroutines are left", s.Live())
	}
}

func TestE109_AContainedGoexitEndsItsCoroutineOnly(t *testing.T) {
	s := New()
	var failed []any
	other := false
	for _, f := range []func(){func() {}, func() { panic("boom") }, runtime.Goexit} {
		s.Go(func(c *Coroutine) { c.Contain(f, func(v any) { failed = append(failed, v) }) })
	}
	s.Go(func(*Coroutine) { other = true })
	if err := s.Run(); err != nil || !other || len(failed) != 2 || failed[0] != "boom" || failed[1] != error(ErrGoexit) {
		t.Errorf("%v, other %v, failed %v", err, other, failed)
	}
	<-s.Close()
}

// TestTheLastOneReturns: a coroutine that halts the others goes on if there are none, so that
// nothing is left to unwind, and else stands still with them.
func TestTheLastOneReturns(t *testing.T) {
	for others := range 3 {
		s, returned := New(), false
		for range others {
			s.Go(func(c *Coroutine) { c.Park() })
		}
		s.Go(func(c *Coroutine) {
			c.HaltOthers()
			returned = true
		})
		if err := s.Run(); err != nil {
			t.Fatal(err)
		}
		if returned != (others == 0) || !s.halted {
			t.Errorf("beside %d others: returned %t, halted %t", others, returned, s.halted)
		}
		<-s.Close()
		if s.Live() != 0 {
			t.Errorf("%d are left", s.Live())
		}
	}
}
