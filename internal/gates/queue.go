package gates

import (
	"cmp"

	"github.com/perdure/perdure/internal/heap"
)

// queue has the entries that wait or back off, by rank; of one rank that which came first.
type queue[K comparable] struct{ heap.Heap[*entry[K]] }

// compare orders entries of queues: lower first.
func (e *entry[K]) compare(f *entry[K]) int {
	if e.rank != f.rank {
		return cmp.Compare(e.rank, f.rank)
	}
	return cmp.Or(cmp.Compare(e.came, f.came), cmp.Compare(e.Number, f.Number))
}

// Before implements heap.Element.
func (e *entry[K]) Before(f *entry[K]) bool { return e.compare(f) < 0 }

// Stands implements heap.Element.
func (e *entry[K]) Stands(at int) { e.at = at }

// push adds an entry that is in no queue.
func (q *queue[K]) push(e *entry[K], rank, came int64) {
	e.home, e.rank, e.came = q, rank, came
	q.Push(e)
}

// top returns the first entry, or nil.
func (q *queue[K]) top() *entry[K] {
	if len(q.Heap) == 0 {
		return nil
	}
	return q.Heap[0]
}

// leave removes an entry from anywhere in the queue.
func (q *queue[K]) leave(e *entry[K]) {
	q.Remove(e.at)
	e.home = nil
}
