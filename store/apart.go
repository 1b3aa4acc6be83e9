package store

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
)

// maxShared is how many calls may share a row.
const maxShared = 1 << 16

// shared returns what is wrong with how many calls a row is about, "" if nothing is.
func (c *Call) shared() string {
	switch {
	case c.First == 0 || 0 < c.First && c.First < c.Number && c.Number-c.First < maxShared:
		return ""
	case c.First > 0 && c.First < c.Number:
		return fmt.Sprintf("is about more than %d calls", maxShared)
	}
	return fmt.Sprintf("cannot begin with call %d", c.First)
}

// Numbers returns the numbers of the calls that a row is about, in order. A row that is wrong about
// them is about its last one.
func (c *Call) Numbers() iter.Seq[int64] {
	first := c.Number - int64(c.Calls()) + 1
	return func(yield func(int64) bool) {
		for n := first; n <= c.Number && yield(n); n++ {
		}
	}
}

// Calls returns how many calls a row is about.
func (c *Call) Calls() int {
	if c.First == 0 || c.shared() != "" {
		return 1
	}
	return int(c.Number-c.First) + 1
}

// Has reports whether a row is about a call.
func (c *Call) Has(number int64) bool {
	return number <= c.Number && number > c.Number-int64(c.Calls())
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
