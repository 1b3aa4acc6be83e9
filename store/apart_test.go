package store

import (
	"math"
	"slices"
	"testing"
)

func TestApart(t *testing.T) {
	rows := []Call{{Number: 1, State: Backoff}, {Number: 9, First: 6, State: Queued, Name: "a"}, {Number: 5, First: 2, State: Dispatched}}
	var got []int64
	for _, c := range Apart(rows) {
		if c.First != 0 || c.Calls() != 1 || (c.Number > 5) != (c.Name == "a") {
			t.Errorf("%+v", c)
		}
		if of := slices.IndexFunc(rows, func(r Call) bool { return r.Has(c.Number) }); of < 0 || rows[of].State != c.State {
			t.Errorf("call %d is said to be in row %d", c.Number, of)
		}
		got = append(got, c.Number)
	}
	if want := []int64{1, 2, 3, 4, 5, 6, 7, 8, 9}; !slices.Equal(got, want) {
		t.Errorf("these are the calls: %v", got)
	}
}

// TestApartOfWrongRows: a row that is wrong about how many calls share it takes no memory for them.
func TestApartOfWrongRows(t *testing.T) {
	for _, first := range []int64{-1, math.MinInt64, 1, 1 << 40, 1<<40 + 1, math.MaxInt64} {
		c := Call{Number: 1 << 40, First: first, State: Queued}
		apart := Apart([]Call{c})
		if c.Calls() != 1 || len(apart) != 1 || apart[0].Number != c.Number || len(slices.Collect(c.Numbers())) != 1 || c.shared() == "" {
			t.Errorf("a row that begins with call %d is about %d calls: %+v", first, c.Calls(), apart)
		}
	}
}
