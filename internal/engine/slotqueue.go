package engine

import (
	"cmp"
	"container/heap"
)

// waiter is a call without a slot.
type waiter struct {
	partition *partition
	callKey
	lane     lane
	crashes  int    // in the probation lane, else 0
	priority int    // higher goes first
	number   int64  // in the order in which they came
	activity string // "" for a step

	at int // its index in its queue
}

// slotQueue holds calls without a slot, a heap by their order: those that were there
// least often when a process died, then those of the highest priority, then those that
// came first.
type slotQueue []*waiter

func (q slotQueue) Len() int { return len(q) }

func (q slotQueue) Less(i, j int) bool {
	a, b := q[i], q[j]
	return cmp.Or(cmp.Compare(a.crashes, b.crashes), cmp.Compare(b.priority, a.priority), cmp.Compare(a.number, b.number)) < 0
}

func (q slotQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].at, q[j].at = i, j
}

func (q *slotQueue) Push(x any) {
	w := x.(*waiter)
	w.at = len(*q)
	*q = append(*q, w)
}

func (q *slotQueue) Pop() any {
	old := *q
	last := len(old) - 1
	w := old[last]
	old[last] = nil
	*q = old[:last]
	return w
}

func (q *slotQueue) add(w *waiter)   { heap.Push(q, w) }
func (q *slotQueue) leave(w *waiter) { heap.Remove(q, w.at) }

// next takes the first call out.
func (q *slotQueue) next() (*waiter, bool) {
	if len(*q) == 0 {
		return nil, false
	}
	return heap.Pop(q).(*waiter), true
}
