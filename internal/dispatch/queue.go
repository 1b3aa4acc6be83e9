package dispatch

import (
	"cmp"
	"container/heap"

	"github.com/perdure/perdure/internal/suspects"
)

// queue holds calls without a slot. It is a heap: suspects in their order, then the highest
// priority, then calls that were lost, then the oldest. Attempts that are on record and wait
// for a slot have a queue of their own; see Waiter.line.
type queue []*Waiter

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool { return inTurn(q[i], q[j]) < 0 }

// first orders true before false.
func first(a, b bool) int {
	switch {
	case a && !b:
		return -1
	case b && !a:
		return 1
	}
	return 0
}

// inTurn is the order in which calls get slots.
func inTurn(a, b *Waiter) int {
	return cmp.Or(suspects.Compare(a.Suspect, b.Suspect), cmp.Compare(b.Priority, a.Priority), first(a.Lost, b.Lost), cmp.Compare(a.number, b.number))
}

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].at, q[j].at = i, j
}

func (q *queue) Push(x any) {
	w := x.(*Waiter)
	w.at = len(*q)
	*q = append(*q, w)
}

func (q *queue) Pop() any {
	old := *q
	last := len(old) - 1
	w := old[last]
	old[last] = nil
	*q = old[:last]
	return w
}

func (q *queue) add(w *Waiter)   { heap.Push(q, w) }
func (q *queue) leave(w *Waiter) { heap.Remove(q, w.at) }
