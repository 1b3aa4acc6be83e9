package engine

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestE49_SlotsAreGivenByPriority: ten thousand calls that come in any order, some for
// the second time, some of partitions that leave and come back or do not, get slots by
// priority, and in the order in which they came among those of one; in the probation
// lane those that were there least often come first.
func TestE49_SlotsAreGivenByPriority(t *testing.T) {
	const contenders = 10_000
	random := rand.New(rand.NewPCG(1, 2))
	partitions := []*partition{{number: 0}, {number: 1}, {number: 2}}
	s := slots{limit: 1}
	if !s.take(regular) || !s.take(probation) {
		t.Fatal("there is no slot")
	}
	var came []*waiter
	add := func(i int) {
		w := waiter{
			partition: partitions[random.IntN(len(partitions))], callKey: callKey{fmt.Sprint(i), 1},
			lane: lane(random.IntN(2)), crashes: random.IntN(3), priority: random.IntN(7) - 3,
		}
		again := w
		s.wait(&w)
		s.wait(&again) // which has its place already
		came = append(came, &w)
		if random.IntN(10) == 0 { // it moves to the other lane, behind those that are there
			moved := w
			moved.lane = 1 - w.lane
			s.wait(&moved)
			came[len(came)-1] = &moved
		}
	}
	for i := range contenders / 2 {
		add(i)
	}
	// All partitions but the first leave, and the last comes back later.
	gone := s.withdraw(map[*partition]bool{partitions[1]: true, partitions[2]: true})
	for i := range contenders / 2 {
		add(contenders/2 + i)
	}
	s.comeBack(slices.DeleteFunc(gone, func(w *waiter) bool { return w.partition == partitions[1] }))
	came = slices.DeleteFunc(came, func(w *waiter) bool {
		return w.partition == partitions[1] && s.waiting[w.callKey] != w
	})
	if s.take(regular) {
		t.Error("somebody overtakes those who wait")
	}
	for l, name := range []string{"regular", "probation"} {
		var want []string
		place := func(w *waiter) string { return fmt.Sprint(w.run, " of priority ", w.priority, " after ", w.crashes) }
		mine := slices.DeleteFunc(slices.Clone(came), func(w *waiter) bool { return w.lane != lane(l) })
		slices.SortStableFunc(mine, func(a, b *waiter) int {
			if lane(l) == probation && a.crashes != b.crashes {
				return a.crashes - b.crashes
			}
			return cmp.Or(b.priority-a.priority, cmp.Compare(a.number, b.number))
		})
		for _, w := range mine {
			want = append(want, place(w))
		}
		var got []string
		for w, ok := s.queues[l].next(); ok; w, ok = s.queues[l].next() {
			got = append(got, place(w))
		}
		if len(got) < contenders/4 || !slices.Equal(got, want) {
			t.Errorf("%s lane: %d calls come, %d should; or not in their order", name, len(got), len(want))
		}
	}
}

// BenchmarkSlotsWait is a call that comes to many others and gets a slot at once.
func BenchmarkSlotsWait(b *testing.B) {
	s := slots{limit: 1, used: 1}
	for i := range 100_000 {
		s.wait(&waiter{callKey: callKey{fmt.Sprint(i), 1}, priority: i % 10})
	}
	for b.Loop() {
		s.wait(&waiter{callKey: callKey{"last", 1}, priority: 10})
		w, _ := s.queues[regular].next()
		delete(s.waiting, w.callKey)
	}
}
