package suspects

import (
	"cmp"
	"math"
	"slices"
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

// Crash is the death of a process in which a call, or the code of a run, ran alone.
type Crash struct {
	Name       string // the activity, or the inline step as switches name it; of a run: its workflow
	Node       string // that died
	Limit      int    // of such deaths
	Attempt    string // its ID, of a call
	WorkflowID string // of a call
	Run        string // "" for a call
}

// Shared is what is known of the code that all calls of one activity, or all runs of one
// workflow, run on one build: which of them died alone, one after the other, since one survived.
// A single one that does so is not enough, since it alone may be to blame.
//
// The zero value knows nothing.
type Shared struct {
	alone []string // the calls or runs, each once
}

// Died notes that a call or run died alone.
func (s *Shared) Died(culprit string) {
	if !slices.Contains(s.alone, culprit) {
		s.alone = append(slices.Clone(s.alone), culprit)
	}
}

// Deaths returns how many died alone.
func (s *Shared) Deaths() int { return len(s.alone) }

// Convicted reports whether as many died as a single one may, and at least two.
func (s *Shared) Convicted(limit int) bool { return len(s.alone) >= max(limit, 2) }

// Patience returns how long a process must have lived before it tries the next one.
func (s *Shared) Patience() time.Duration { return patience(len(s.alone) - 1) }

// patience returns how long a process must have lived, by the number of deaths, before it tries
// what was alone at them. Processes that are killed from outside in quick succession then die
// while it is not being tried.
func patience(deaths int) time.Duration { return time.Duration(max(0, deaths)) * time.Second }

// crowd is the size from which on a group that died is taken for a sign that all of its calls
// end their process.
const crowd = 4

// Single reports whether a suspect is tried alone although halving would try it with others:
// its whole group died, and no call of its activity has survived here. Else calls that all end
// their process would cost a death per halving before one of them is alone. If it survives,
// the others are halved.
func (s Suspect) Single(activitySurvived bool) bool {
	return s.Group >= crowd && !activitySurvived
}
