package heap

// Element is an element of a heap of E.
type Element[E any] interface {
	// Before reports whether the element comes before another one.
	Before(other E) bool
	// Stands says at which index the element is from now on, -1 if it has left the heap.
	Stands(at int)
}

// Heap holds elements, the first of them at index 0. The zero value is empty.
type Heap[E Element[E]] []E

// Push adds an element.
func (h *Heap[E]) Push(e E) {
	*h = append(*h, e)
	at := len(*h) - 1
	e.Stands(at)
	h.up(at)
}

// Pop removes and returns the first element.
func (h *Heap[E]) Pop() E { return h.Remove(0) }

// Remove removes and returns the element at an index.
func (h *Heap[E]) Remove(at int) E {
	all, last := *h, len(*h)-1
	e := all[at]
	if at != last {
		all.swap(at, last)
	}
	clear(all[last:])
	if *h = all[:last]; at != last {
		h.Fix(at)
	}
	e.Stands(-1)
	return e
}

// Fix puts an element into its place whose order has changed.
func (h Heap[E]) Fix(at int) {
	if !h.down(at) {
		h.up(at)
	}
}

func (h Heap[E]) up(at int) {
	for parent := (at - 1) / 2; at > 0 && h[at].Before(h[parent]); parent = (at - 1) / 2 {
		h.swap(at, parent)
		at = parent
	}
}

// down reports whether the element has moved.
func (h Heap[E]) down(at int) (moved bool) {
	for {
		first := at
		for child := 2*at + 1; child <= 2*at+2 && child < len(h); child++ {
			if h[child].Before(h[first]) {
				first = child
			}
		}
		if first == at {
			return moved
		}
		h.swap(at, first)
		at, moved = first, true
	}
}

func (h Heap[E]) swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].Stands(i)
	h[j].Stands(j)
}
