package attempt

import (
	"cmp"
	"container/heap"

	"github.com/perdure/perdure/internal/suspects"
)

// queue holds calls without a slot, a heap by their order: suspects as they run, then
// those of the highest priority, then those that were lost, then those that came first. What
// is on record and waits for its slot has one of its own: see Waiter.line.
type queue []*Waiter

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool { return inTurn(q[i], q[j]) < 0 }

// first orders what is so before what is not.
func first(a, b bool) int {
	switch {
	case a && !b:
		return -1
	case b && !a:
		return 1
	}
	return 0
}

// inTurn orders calls as they get slots.
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

// next takes the first call out; there must be one.
func (q *queue) next() *Waiter { return heap.Pop(q).(*Waiter) }
