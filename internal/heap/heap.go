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
	h.up(len(*h)-1, e)
}

// Pop removes and returns the first element.
func (h *Heap[E]) Pop() E { return h.Remove(0) }

// Remove removes and returns the element at an index.
func (h *Heap[E]) Remove(at int) E {
	all, last := *h, len(*h)-1
	e := all[at]
	all[at] = all[last]
	clear(all[last:])
	if *h = all[:last]; at != last {
		h.Fix(at)
	}
	e.Stands(-1)
	return e
}

// Fix puts an element into its place whose order has changed.
func (h Heap[E]) Fix(at int) {
	if e := h[at]; !h.down(at, e) {
		h.up(at, e)
	}
}

// up puts an element at an index, or nearer to the beginning.
func (h Heap[E]) up(at int, e E) {
	for at > 0 && e.Before(h[(at-1)/2]) {
		h.put(at, h[(at-1)/2])
		at = (at - 1) / 2
	}
	h.put(at, e)
}

// down puts an element behind an index, and reports whether it belongs there.
func (h Heap[E]) down(at int, e E) bool {
	from := at
	for child := 2*at + 1; child < len(h); child = 2*at + 1 {
		if child+1 < len(h) && h[child+1].Before(h[child]) {
			child++
		}
		if !h[child].Before(e) {
			break
		}
		h.put(at, h[child])
		at = child
	}
	if at != from {
		h.put(at, e)
	}
	return at != from
}

func (h Heap[E]) put(at int, e E) {
	h[at] = e
	e.Stands(at)
}
