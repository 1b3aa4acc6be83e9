package dispatch

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// waitAs makes a call of a run with a key wait.
func waitAs(s *Slots, run, key string, weight, priority int) {
	s.Wait(&Waiter{Call: Call{run, 1}, Key: key, Weight: weight, Priority: priority})
}

// A hundred thousand calls of A wait, then one of B comes: it gets the next slot but one.
func TestT6_OneCallBehindManyAtSlots(t *testing.T) {
	s := NewSlots(2, func() bool { return true })
	running := []*Slot{s.Take(Regular), s.Take(Regular)}
	for i := range 100_000 {
		waitAs(s, fmt.Sprint("a", i), "a", 0, 0)
	}
	end := func() (started string) {
		g := running[0].Free()
		if len(g) != 1 {
			t.Fatal(g)
		}
		running = append(running[1:], g[0].Slot)
		return g[0].Run
	}
	end()
	waitAs(s, "b", "b", 0, 0)
	if first, second := end(), end(); first != "b" && second != "b" {
		t.Error(first, second)
	}
}

func TestT2_CallsTakeTurnsByWeightThenPriorityThenAge(t *testing.T) {
	s := NewSlots(1, func() bool { return true })
	slot := s.Take(Regular)
	for i := range 6 {
		waitAs(s, fmt.Sprint("a", i), "a", 0, i/3)
		waitAs(s, fmt.Sprint("b", i), "b", 2, 0)
		waitAs(s, fmt.Sprint("none", i), "", 0, 9)
	}
	var order []string
	for range 8 {
		g := slot.Free()
		order, slot = append(order, g[0].Run), g[0].Slot
	}
	if got := fmt.Sprint(order); got != "[a3 b0 none0 b1 a4 b2 none1 b3]" {
		t.Error(got)
	}
}

// A run that keeps its slot for calls in a row uses turns of its key.
func TestT2_WhatIsKeptIsATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSlots(1, func() bool { return true })
		slot := s.Take(Regular)
		for i := range 100 {
			waitAs(s, fmt.Sprint("a", i), "a", 0, 0)
			waitAs(s, fmt.Sprint("b", i), "b", 0, 0)
		}
		count := map[string]int{"a": 1}
		for slot.keep(&Ask{Key: "a"}) {
			count["a"]++
			time.Sleep(time.Millisecond)
		}
		for range 60 {
			g := slot.Free()
			slot = g[0].Slot
			count[g[0].Key]++
		}
		if d := count["a"] - count["b"]; count["a"] < maxInARow || d < -1 || d > 2 {
			t.Error(count)
		}
	})
}

// What waits by its key and is withdrawn leaves nothing behind.
func TestT3_AnIdleKeyIsForgottenAtSlots(t *testing.T) {
	s := NewSlots(1, func() bool { return true })
	slot := s.Take(Regular)
	for i := range 100 {
		waitAs(s, fmt.Sprint(i), fmt.Sprint("key", i), 0, 0)
	}
	s.Drop([]Tenure{{}})
	if slot.Free(); s.first() != nil || s.turns.Len() != 0 || s.Usage().Waiting != 0 {
		t.Error(s.turns.Len(), s.Usage())
	}
}

// Runs in line that begin without slots are those of all keys.
func TestT2_WhoBeginsWithoutASlot(t *testing.T) {
	s := NewSlots(1, func() bool { return true })
	s.Take(Regular)
	for i := range 50 {
		s.Wait(&Waiter{Call: Call{fmt.Sprint("a", i), ToBegin}, Key: "a"})
	}
	s.Wait(&Waiter{Call: Call{"b", ToBegin}, Key: "b"})
	var runs []string
	for _, w := range s.PassBy(4) {
		runs = append(runs, w.Run)
	}
	if got := fmt.Sprint(runs); got != "[a0 b a1 a2]" {
		t.Error(got)
	}
}
