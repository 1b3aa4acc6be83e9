package suspects

import (
	"cmp"
	"math"
	"time"
)

// Window is how soon after a loss another loss makes a call a suspect.
const Window = 10 * time.Minute

// Suspect is what is known of a call that may crash its process.
type Suspect struct {
	Charged int // deaths of processes in which it ran alone
	Group   int // size of the group it ran in when it was last lost; 0: it was not a suspect yet
}

// Alone reports whether a suspect that ran in a group of this size was the only one.
func Alone(group int) bool { return group <= 1 }

// half returns how large a group with this suspect may be: half of the last one.
func (s Suspect) half() int {
	switch {
	case s.Charged > 0:
		return 1
	case s.Group == 0:
		return math.MaxInt
	}
	return (s.Group + 1) / 2
}

// Compare orders suspects by when they run: those that were charged least often first, and
// among these the ones in the smallest groups, so that one search ends before another begins.
// A group has suspects of one kind only, because others would be halved with them.
func Compare(a, b Suspect) int {
	return cmp.Or(cmp.Compare(a.Charged, b.Charged), cmp.Compare(a.half(), b.half()))
}

// Most returns how many of so many suspects that are alike run together. Those that were lost
// together, and never before as suspects, run in two groups. Passed is the size of the last
// group if its process survived it, else 0: the next one may be as large.
func (s Suspect) Most(alike, passed int) int {
	if s.half() == math.MaxInt {
		return max((alike+1)/2, passed)
	}
	return s.half()
}

// Next returns how many of the waiting suspects, which are in order, form the next group: the
// first one, and those after it that are alike, up to most of them. One that single chooses is
// tried by itself. There must be one that waits.
func Next[W any](waiting []W, single func(W) bool, alike func(a, b W) bool, most func(alike int) int) int {
	n := 1
	for !single(waiting[0]) && n < len(waiting) && !single(waiting[n]) && alike(waiting[0], waiting[n]) {
		n++
	}
	return max(1, min(n, most(n)))
}
