package witness

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// Kind says which promise a finding breaks.
type Kind string

// The kinds.
const (
	Lost     Kind = "lost"     // what was acknowledged, or what is on record as done, is not there
	Doubled  Kind = "doubled"  // an effect came once more than is on record
	Orphaned Kind = "orphaned" // something is left that nothing will touch again
	Wrong    Kind = "wrong"    // an answer is not true, a limit was not kept, a process said what none may say
)

// Finding is something that must not be.
type Finding struct {
	Kind Kind   `json:"kind"`
	What string `json:"what"`
}

// Error makes it the result of a job.
func (f Finding) Error() string { return f.What }

// String is for tests.
func (f Finding) String() string { return string(f.Kind) + ": " + f.What }

func found(kind Kind, format string, args ...any) error {
	return Finding{kind, fmt.Sprintf(format, args...)}
}

// amiss is the kind of finding for a difference in number.
func amiss(more int) Kind {
	switch {
	case more < 0:
		return Lost
	case more > 0:
		return Doubled
	}
	return Wrong
}

// kindOf is the kind of an error that ended a job, whose context may be why.
func kindOf(ctx context.Context, err error) Kind {
	switch f, is := errors.AsType[Finding](err); {
	case is:
		return f.Kind
	case ctx.Err() != nil, errors.Is(err, perdure.ErrNotFound):
		return Lost
	}
	return Wrong
}

// Tally is how much was done, by the book and by the record.
type Tally struct {
	Runs       int            `json:"runs"`
	Activities int            `json:"activities"` // bodies that began
	Signals    int            `json:"signals"`
	Timers     int            `json:"timers"`
	Gates      int            `json:"gates"`       // bodies that began behind one
	Queue      int            `json:"queue_tasks"` // bodies that began in a process that served the queue
	Steps      int            `json:"step_transactions"`
	Cancels    int            `json:"cancellations"`
	Attempts   map[string]int `json:"attempts"` // by outcome
}

func newTally(c Case) Tally {
	t := Tally{Runs: len(c.Runs), Attempts: map[string]int{}}
	for _, e := range c.Entries {
		if e.Phase != Begin {
			continue
		}
		t.Activities++
		switch {
		case isNarrow(e):
			t.Gates++
		case isQueued(e):
			t.Queue++
		}
	}
	return t
}

// count counts an event of a history.
func (j *judge) count(kind string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch kind {
	case "SignalReceived":
		j.tally.Signals++
	case "TimerFired":
		j.tally.Timers++
	case "RunCanceled":
		j.tally.Cancels++
	}
}

// note counts an attempt that is on record, and remembers whether it was lost.
func (j *judge) note(a view.Attempt) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lost[a.ID] = a.Outcome == "lost"
	j.tally.Attempts[a.Outcome]++
}
