package dispatch

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/store"
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

// lineOf is a line with as many runs of a key as are given, of which some are in the database.
type lineOf struct {
	*Line
	rows []store.LineRun
}

func (l *lineOf) start(n int, key string) {
	for range n {
		r := store.LineRun{Run: fmt.Sprint(key, len(l.rows)), Key: key, Created: int64(len(l.rows))}
		l.rows = append(l.rows, r)
		l.Join(&Waiter{Call: Call{Run: r.Run}, Key: key}, store.InLineByKey)
	}
}

func (l *lineOf) readOnce() {
	read := l.BeginRead(0)
	rows := slices.Clone(l.rows)
	slices.SortFunc(rows, func(a, b store.LineRun) int { return store.CompareLineRuns(&a, &b) })
	keys := store.LineRead{Partitions: []int{0}, From: read.From, Limit: read.Limit}
	taken := store.Take(store.Turns{From: read.From, Limit: keys.Share()}, rows, store.KeyOfLineRun)
	var found []Found
	for _, r := range taken {
		found = append(found, Found{LineRun: r, Gone: l.slots.waiting[Call{r.Run, ToBegin}] != nil})
	}
	l.EndRead(read, nil, found, keys.Share())
}

// begin lets the first run begin.
func (l *lineOf) begin() string {
	w := l.slots.first()
	l.slots.turns.Served(l.slots.turns.Find(w.Key))
	l.slots.Leave(w.Run)
	l.rows = slices.DeleteFunc(l.rows, func(r store.LineRun) bool { return r.Run == w.Run })
	l.Began()
	return w.Key
}

// Of 20,000 runs of A most are in the database. One of B that comes is in memory at once, and so is
// one that another process has started, with the next read.
func TestT6_OneRunBehindManyInLine(t *testing.T) {
	for _, remote := range []bool{false, true} {
		slots := NewSlots(1, func() bool { return true })
		slots.Take(Regular)
		l := &lineOf{Line: NewLine(slots, time.Second)}
		l.start(20_000, "a")
		if n := slots.InLine(); n > 2*lineAhead {
			t.Fatalf("%d are in memory", n)
		}
		l.begin()
		if remote {
			l.rows = append(l.rows, store.LineRun{Run: "b", Key: "b", Created: 1e6})
			l.News()
			l.readOnce()
		} else {
			l.start(1, "b")
		}
		if first, second := l.begin(), l.begin(); first != "b" && second != "b" {
			t.Error(remote, first, second)
		}
	}
}

// A run without a key has one like others: those of A do not keep it out of memory.
func TestT6_OneRunWithoutAKeyBehindMany(t *testing.T) {
	slots := NewSlots(1, func() bool { return true })
	slots.Take(Regular)
	l := &lineOf{Line: NewLine(slots, time.Second)}
	l.start(20_000, "a")
	for slots.InLine() < 2*lineAhead {
		l.readOnce()
	}
	l.begin()
	l.begin()
	l.start(2, "a")
	l.readOnce()
	none := &Waiter{Call: Call{Run: "none"}}
	l.Join(none, store.InLine(0, 1e9))
	if first, second := l.begin(), l.begin(); first != "" && second != "" {
		t.Error(first, second)
	}
}

// All runs begin, those of each key in the order in which they came.
func TestT2_RunsInLineBeginInOrder(t *testing.T) {
	slots := NewSlots(1, func() bool { return true })
	slots.Take(Regular)
	l := &lineOf{Line: NewLine(slots, time.Second)}
	for i := range 40 {
		l.start(97, fmt.Sprint("key", i%30))
	}
	last, n := map[string]int{}, 0
	for len(l.rows) > 0 {
		if slots.InLine() <= lineAhead/2 {
			l.readOnce()
		}
		w := slots.first()
		var at int
		fmt.Sscan(w.Run[len(w.Key):], &at)
		if at < last[w.Key] {
			t.Fatalf("%s begins after number %d", w.Run, last[w.Key])
		}
		last[w.Key] = at
		l.begin()
		n++
	}
	if n != 40*97 {
		t.Error(n)
	}
}

func TestT2_NoKeyIsPassedOver(t *testing.T) {
	rows := func(partition int, keys ...string) (all []Found) {
		for _, k := range keys {
			all = append(all, Found{LineRun: store.LineRun{Partition: partition, Key: k}})
		}
		return all
	}
	cut := func(int) bool { return true }
	for _, c := range []struct {
		from string
		all  []Found
		want string
	}{
		{"", slices.Concat(rows(0, "a", "z"), rows(1, "a", "b")), "b\x01"},
		{"m", slices.Concat(rows(0, "m", "a"), rows(1, "n", "o")), "o\x01"},
		{"m", slices.Concat(rows(0, "z", "b"), rows(1, "z", "a")), "a\x01"},
		{"m", nil, "m"},
	} {
		if got := nextTurns(c.from, c.all, cut); got.From != c.want {
			t.Errorf("from %q: %q, not %q", c.from, got.From, c.want)
		}
	}
	if got := nextTurns("m", rows(0, "p", "q"), func(int) bool { return false }); got.From != "m" {
		t.Error(got)
	}
}
