package core

import (
	"time"

	"github.com/perdure/perdure/internal/history"
)

// Tally is what a turn adds to the counters of an activity or step: closed calls,
// by how they ended.
type Tally struct {
	Name      string
	FirstTry  int // succeeded at the first attempt
	Recovered int // succeeded later
	Exhausted int // used up their attempts, time or budget
	Failed    int // stopped for another reason
	Canceled  int // given up
	ByHand    int // a person said how they end
	Attempts  int // of all of them
	// Retrying is the time from the end of the first attempt to the end of the
	// call, of those that had more than one.
	Retrying time.Duration
}

// Successes at the first try are most of what happens, and counting each where
// it happens would cost a second row a step. So they are counted together: with
// the next call that ends in any other way, whose turn writes more rows anyway,
// or when there are maxUncounted of them, or when the run ends. All this is
// worked out from the history alone, so that a run that is loaded knows what is
// counted already: neither a crash nor a takeover loses one or counts it twice.
// The rule is therefore part of the format.
const maxUncounted = 32

// uncounted are successes at the first try that no turn has counted yet.
type uncounted struct {
	names []firstTries
	total int
}

type firstTries struct {
	name string
	n    int
}

func (u *uncounted) add(name string) {
	u.total++
	for i := range u.names {
		if u.names[i].name == name {
			u.names[i].n++
			return
		}
	}
	u.names = append(u.names, firstTries{name, 1})
}

// count notes the end of a call, by the event that says so.
func (r *ledger) count(c *Call, e *history.Event) {
	r.closes(c, e)
	if !c.attempted() || r.endedElsewhere(c.Number) {
		return
	}
	if e.Kind == history.CallCompleted && e.Retry == nil && e.Operation == "" {
		if r.uncounted.add(c.Name); r.uncounted.total >= maxUncounted {
			r.countFirstTries()
		}
		return
	}
	if r.out != nil {
		r.out.Tallies = append(r.out.Tallies, c.tally(e, r.now))
	}
	r.countFirstTries()
}

// countFirstTries makes the turn count what was not counted yet; in a replay it
// did.
func (r *ledger) countFirstTries() {
	if r.out != nil {
		for _, f := range r.uncounted.names {
			r.out.Tallies = append(r.out.Tallies, Tally{Name: f.name, FirstTry: f.n, Attempts: f.n})
		}
	}
	r.uncounted.names, r.uncounted.total = r.uncounted.names[:0], 0
}

// tally is what the end of a call counts that was no success at the first try.
func (c *Call) tally(e *history.Event, now int64) Tally {
	t := Tally{Name: c.Name, Attempts: c.attempt}
	givenUp := e.Kind != history.CallCompleted && e.Kind != history.CallFailed && e.Kind != history.CallCanceled
	if givenUp || e.Operation != "" {
		t.Attempts = c.made() // wherever it stood
	}
	if t.Attempts > 1 && c.Totals.FirstEnded != 0 { // else all were made in another run
		ended := e.Ended
		if ended == 0 {
			ended = now
		}
		t.Retrying = time.Duration(max(0, ended-c.Totals.FirstEnded))
	}
	switch {
	case e.Operation != "":
		t.ByHand = 1
	case e.Kind == history.CallCompleted:
		t.Recovered = 1
	case e.Kind != history.CallFailed:
		t.Canceled = 1
	case e.Retry != nil && e.Retry.Exhausted:
		t.Exhausted = 1
	default:
		t.Failed = 1
	}
	return t
}

// made is how many attempts a call has had that is given up: one that did not
// begin is none.
func (c *Call) made() int {
	if inFlight(c.state) || c.Undecided != nil {
		return c.attempt
	}
	return c.attempt - 1
}
