package suspects

import (
	"slices"
	"time"
)

// Shared is what is known of all calls of one activity on one build: which of them died alone,
// one after the other, since one survived. If it is the activity that ends processes, each of
// its calls does, and a search that quarantines one call after the other costs deaths without
// end. A single call that does so is not enough, since it alone may be to blame.
//
// The zero value knows nothing.
type Shared struct {
	alone []string // the calls, each once
}

// Died notes that a call of the activity died alone.
func (s *Shared) Died(call string) {
	if !slices.Contains(s.alone, call) {
		s.alone = append(slices.Clone(s.alone), call)
	}
}

// Deaths returns how many calls died alone.
func (s *Shared) Deaths() int { return len(s.alone) }

// Convicted reports whether as many calls of the activity died as one call of it may, and at
// least two.
func (s *Shared) Convicted(crashLimit int) bool { return len(s.alone) >= max(crashLimit, 2) }

// Patience returns how long a process must have lived before it tries the next call of the
// activity. Processes that are killed from outside in quick succession then die while none is
// tried.
func (s *Shared) Patience() time.Duration {
	return time.Duration(max(0, len(s.alone)-1)) * time.Second
}

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
