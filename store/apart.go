package store

import (
	"cmp"
	"iter"
	"slices"
)

// Numbers returns the numbers of the calls that a row is about, in order.
func (c *Call) Numbers() iter.Seq[int64] {
	first := c.First
	if first == 0 {
		first = c.Number
	}
	return func(yield func(int64) bool) {
		for n := first; n <= c.Number && yield(n); n++ {
		}
	}
}

// Calls returns how many calls a row is about.
func (c *Call) Calls() int {
	if c.First == 0 {
		return 1
	}
	return int(c.Number-c.First) + 1
}

// Apart returns rows of a run with one for each call, by number.
func Apart(rows []Call) []Call {
	calls := 0
	for i := range rows {
		calls += rows[i].Calls()
	}
	if calls == len(rows) {
		return rows
	}
	apart := make([]Call, 0, calls)
	for i := range rows {
		for n := range rows[i].Numbers() {
			row := rows[i]
			row.Number, row.First = n, 0
			apart = append(apart, row)
		}
	}
	slices.SortFunc(apart, func(a, b Call) int { return cmp.Compare(a.Number, b.Number) })
	return apart
}
