package suspects

import (
	"slices"
	"time"
)

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
