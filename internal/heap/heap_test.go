package heap

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type element struct{ rank, at int }

func (e *element) Before(o *element) bool { return e.rank < o.rank }
func (e *element) Stands(at int)          { e.at = at }

// TestTheFirstIsTheLowest whatever came, left and changed before, and each knows where it stands.
func TestTheFirstIsTheLowest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h Heap[*element]
		var all []*element
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			rank := rapid.IntRange(0, 20).Draw(t, "rank")
			switch what := rapid.IntRange(0, 3).Draw(t, "what"); {
			case what == 0 || len(all) == 0:
				e := &element{rank: rank}
				h.Push(e)
				all = append(all, e)
			case what == 1:
				e := all[rank%len(all)]
				e.rank = rapid.IntRange(0, 20).Draw(t, "other")
				h.Fix(e.at)
			default:
				e := all[rank%len(all)]
				if what == 2 {
					e = h[0]
					h.Pop()
				} else if got := h.Remove(e.at); got != e {
					t.Fatalf("%+v left instead of %+v", got, e)
				}
				if e.at != -1 {
					t.Fatalf("%+v has left", e)
				}
				all = slices.DeleteFunc(all, func(x *element) bool { return x == e })
			}
			if len(h) != len(all) {
				t.Fatalf("%d of %d are there", len(h), len(all))
			}
			for i, e := range h {
				if e.at != i || e.rank < h[0].rank || !slices.Contains(all, e) {
					t.Fatalf("%+v stands at %d behind %+v", e, i, h[0])
				}
			}
		}
		for last := -1; len(h) > 0; {
			e := h.Pop()
			if e.rank < last {
				t.Fatalf("%d came after %d", e.rank, last)
			}
			last = e.rank
		}
	})
}
