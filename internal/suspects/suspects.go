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

// most returns how large a group with this suspect may be: half of the last one.
func (s Suspect) most() int {
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
func Compare(a, b Suspect) int {
	return cmp.Or(cmp.Compare(a.Charged, b.Charged), cmp.Compare(a.most(), b.most()))
}

// Next returns how many of the waiting calls, which are in order, form the next group. A group
// has suspects of one kind only, because others would be halved with them, and at most room
// members, but at least one. Passed is the size of the last group if its process survived it,
// else 0: the next group may be as large.
func Next[W any](waiting []W, of func(W) Suspect, room, passed int) int {
	if len(waiting) == 0 {
		return 0
	}
	first, alike := of(waiting[0]), 1
	for alike < len(waiting) && Compare(first, of(waiting[alike])) == 0 {
		alike++
	}
	size := min(alike, first.most())
	if first.most() == math.MaxInt {
		size = min(alike, max((alike+1)/2, passed))
	}
	return max(1, min(size, room))
}
