package core

import (
	"cmp"
	"time"

	"github.com/perdure/perdure/internal/history"
)

// Tally is what a turn adds to the counters of an activity or step: closed calls by
// outcome.
type Tally struct {
	Name      string
	FirstTry  int // succeeded with the first attempt
	Recovered int // succeeded later
	Exhausted int // used up their attempts, time or budget
	Failed    int // failed for another reason
	Canceled  int // given up
	ByHand    int // closed by an operator
	Attempts  int // of all these calls
	// Retrying is the time from the end of the first attempt to the end of the call, summed
	// over calls with more than one attempt.
	Retrying time.Duration
}

// First-try successes are the common case, and counting each where it happens would cost a
// second row per step. They are therefore counted together: with the next call that ends in
// another way, whose turn writes more rows anyway, when there are maxUncounted of them, or
// when the run ends. The counts derive from the history alone, so a loaded run knows which
// calls are already counted, and neither a crash nor a takeover loses or doubles one. The
// rule is therefore part of the format.
const maxUncounted = 32

// uncounted holds the first-try successes that no turn has counted yet.
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

// count notes the end of a call by its closing event.
func (l *ledger) count(c *Call, e *history.Event) {
	l.observeClosing(c, e)
	if !c.attempted() || l.journal.endsAfterCut(c.Number) {
		return
	}
	if e.Kind == history.CallCompleted && e.Retry == nil && e.Operation == "" {
		if l.uncounted.add(c.Name); l.uncounted.total >= maxUncounted {
			l.countFirstTries()
		}
		return
	}
	if l.journal.out != nil {
		l.journal.out.Tallies = append(l.journal.out.Tallies, c.tally(e, l.journal.now))
	}
	l.countFirstTries()
}

// countFirstTries adds the uncounted calls to the turn. A replay only clears them: the
// recorded turn counted them.
func (l *ledger) countFirstTries() {
	if l.journal.out != nil {
		for _, f := range l.uncounted.names {
			l.journal.out.Tallies = append(l.journal.out.Tallies, Tally{Name: f.name, FirstTry: f.n, Attempts: f.n})
		}
	}
	l.uncounted.names, l.uncounted.total = l.uncounted.names[:0], 0
}

// tally returns what the end of a call counts, unless it is a first-try success.
func (c *Call) tally(e *history.Event, now int64) Tally {
	t := Tally{Name: c.Name, Attempts: c.attemptNumber()}
	givenUp := e.Kind != history.CallCompleted && e.Kind != history.CallFailed && (e.Kind != history.CallCanceled || c.attempted())
	if givenUp || e.Operation != "" {
		t.Attempts = c.attemptsMade() // wherever it stood
	}
	if t.Attempts > 1 && c.Totals.FirstEnded != 0 { // else another run made all attempts
		t.Retrying = time.Duration(max(0, cmp.Or(e.Ended, now)-c.Totals.FirstEnded))
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

// observeClosing tells observers of the end of a call, by its closing event or an empty one. A
// replay tells nothing: the turn that was made durable has already done so.
func (l *ledger) observeClosing(c *Call, e *history.Event) {
	if l.journal.out == nil || !l.journal.config.Closings || !c.attempted() || l.journal.endsAfterCut(c.Number) {
		return
	}
	told := Closing{Call: c.Number, Name: c.Name, Status: ClosedCanceled, Attempts: c.tally(e, l.journal.now).Attempts, Scheduled: c.First, Ended: cmp.Or(e.Ended, l.journal.now)}
	switch e.Kind {
	case history.CallCompleted:
		told.Status = ClosedCompleted
		if c.attempt == 1 {
			told.Started = c.StartedAt
		}
	case history.CallFailed:
		told.Status, told.ErrorType = ClosedFailed, e.Failure.TypeName()
	case "":
		told.Status = ClosedAbandoned
	}
	l.journal.out.Closings = append(l.journal.out.Closings, told)
}

// Closing tells observers that a turn closed an activity call or step.
type Closing struct {
	Call      int64
	Name      string
	Status    ClosingStatus
	ErrorType string // of its failure, if it failed
	Attempts  int    // how many it had
	Scheduled int64
	// Started is when its attempt started, if it completed with its first one, of which there is no
	// record in Attempts; else 0.
	Started int64
	Ended   int64
}

// ClosingStatus is how a call ended.
type ClosingStatus string

// How calls end. An abandoned call was open when its run ended.
const (
	ClosedCompleted ClosingStatus = "completed"
	ClosedFailed    ClosingStatus = "failed"
	ClosedCanceled  ClosingStatus = "canceled"
	ClosedAbandoned ClosingStatus = "abandoned"
)

// Totals are exact sums over all closed attempts that the ledger recorded, pruned or not.
// They are part of the call's row and of each ledger record, as of that attempt. The latest
// record therefore has the call's totals, which need no row and no write of their own.
type Totals struct {
	Completed int `json:"completed,omitempty"`
	Failed    int `json:"failed,omitempty"`
	TimedOut  int `json:"timed_out,omitempty"`
	Lost      int `json:"lost,omitempty"`
	Drained   int `json:"drained,omitempty"`
	Canceled  int `json:"canceled,omitempty"`
	Questions int `json:"questions,omitempty"` // which are no attempts

	Run     time.Duration `json:"run,omitempty"`     // run time of the bodies, ns
	Backoff time.Duration `json:"backoff,omitempty"` // chosen waits, ns

	First      int64 `json:"first,omitempty"`       // when the first attempt was ready to run
	FirstEnded int64 `json:"first_ended,omitempty"` // when the first attempt ended
	Last       int64 `json:"last,omitempty"`        // when the latest attempt ended
}

// Attempts returns the number of closed attempts.
func (t *Totals) Attempts() int {
	return t.Completed + t.Failed + t.TimedOut + t.Lost + t.Drained + t.Canceled
}

// Retrying returns the time from the end of the first attempt to the end of the latest:
// what retries added to the duration.
func (t *Totals) Retrying() time.Duration { return time.Duration(t.Last - t.FirstEnded) }

// add counts a closed attempt. An attempt that never ran has started 0.
func (t *Totals) add(outcome Outcome, queued, started, ended int64, delay time.Duration) {
	n := t.counter(outcome)
	if n == nil {
		return // not an attempt
	}
	*n++
	if started > 0 {
		t.Run += time.Duration(ended - started)
	}
	t.Backoff += delay
	if t.Attempts() == 1 {
		t.First, t.FirstEnded = queued, ended
	}
	t.Last = ended
}

func (t *Totals) counter(outcome Outcome) *int {
	switch outcome {
	case Completed:
		return &t.Completed
	case Failed:
		return &t.Failed
	case TimedOut:
		return &t.TimedOut
	case Lost:
		return &t.Lost
	case Drained:
		return &t.Drained
	case Canceled:
		return &t.Canceled
	}
	return nil
}
