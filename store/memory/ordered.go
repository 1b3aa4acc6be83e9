package memory

import (
	"iter"
	"slices"
	"sort"
)

// chunkSize limits what one insertion has to move.
const chunkSize = 512

// ordered is a sorted set. It is a list of sorted chunks, so an insertion moves at most one
// chunk, however many members there are.
type ordered[T any] struct {
	compare func(a, b T) int
	chunks  [][]T
}

// seek returns the position of the first member that is not below v.
func (o *ordered[T]) seek(v T) (chunk, at int, found bool) {
	chunk = sort.Search(len(o.chunks), func(i int) bool {
		c := o.chunks[i]
		return o.compare(c[len(c)-1], v) >= 0
	})
	if chunk == len(o.chunks) {
		return chunk, 0, false
	}
	at, found = slices.BinarySearchFunc(o.chunks[chunk], v, o.compare)
	return chunk, at, found
}

func (o *ordered[T]) insert(v T) {
	chunk, at, found := o.seek(v)
	if found {
		return
	}
	if chunk == len(o.chunks) {
		if chunk == 0 {
			o.chunks = append(o.chunks, []T{v})
			return
		}
		chunk--
		at = len(o.chunks[chunk])
	}
	c := slices.Insert(o.chunks[chunk], at, v)
	o.chunks[chunk] = c
	if len(c) > chunkSize {
		half := len(c) / 2
		o.chunks = slices.Insert(o.chunks, chunk+1, slices.Clone(c[half:]))
		o.chunks[chunk] = slices.Delete(c, half, len(c))
	}
}

func (o *ordered[T]) remove(v T) {
	chunk, at, found := o.seek(v)
	if !found {
		return
	}
	if c := slices.Delete(o.chunks[chunk], at, at+1); len(c) > 0 {
		o.chunks[chunk] = c
	} else {
		o.chunks = slices.Delete(o.chunks, chunk, chunk+1)
	}
}

// ascend yields the members from v on, in ascending order.
func (o *ordered[T]) ascend(v T) iter.Seq[T] {
	return func(yield func(T) bool) {
		chunk, at, _ := o.seek(v)
		for ; chunk < len(o.chunks); chunk, at = chunk+1, 0 {
			for _, member := range o.chunks[chunk][at:] {
				if !yield(member) {
					return
				}
			}
		}
	}
}

// below yields the members below v, in descending order.
func (o *ordered[T]) below(v T) iter.Seq[T] {
	return func(yield func(T) bool) {
		chunk, at, _ := o.seek(v)
		for ; chunk >= 0; chunk-- {
			if chunk < len(o.chunks) {
				for _, member := range slices.Backward(o.chunks[chunk][:at]) {
					if !yield(member) {
						return
					}
				}
			}
			if chunk > 0 {
				at = len(o.chunks[chunk-1])
			}
		}
	}
}

// descend yields all members, in descending order.
func (o *ordered[T]) descend() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, chunk := range slices.Backward(o.chunks) {
			for _, member := range slices.Backward(chunk) {
				if !yield(member) {
					return
				}
			}
		}
	}
}
