package storetest

import "github.com/perdure/perdure/store"

// CallRows keeps the rows of a run's calls by number, as a store does, for tests that watch turns.
type CallRows map[int64]store.Call

// Take applies a turn of the run. It returns the calls whose state the turn says, and those that
// have no row any more.
func (r CallRows) Take(t *store.Turn) (said []store.Call, gone []int64) {
	said = store.Apart(t.Calls)
	var before []store.Call
	for i := range t.Calls {
		if was, is := r[t.Calls[i].Number]; is {
			before = append(before, was)
		}
		r[t.Calls[i].Number] = t.Calls[i]
	}
	for _, number := range t.Closed {
		if was, is := r[number]; is {
			before = append(before, was)
		}
		delete(r, number)
	}
	if len(before) == 0 {
		return said, nil
	}
	stays := map[int64]bool{}
	for i := range said {
		stays[said[i].Number] = true
	}
	for _, c := range store.Apart(before) {
		if !stays[c.Number] {
			gone = append(gone, c.Number)
		}
	}
	return said, gone
}
