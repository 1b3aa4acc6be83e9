package core

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// Record is the ledger's record of one closed attempt.
type Record struct {
	Call      int64
	Attempt   int
	Name      string
	Outcome   Outcome
	ErrorType string
	Reason    string
	Started   int64 // 0: it never started
	Ended     int64
	Data      []byte // an encoded AttemptDetail
	Prune     int    // number of the attempt whose record is pruned for this one, 0 for none
}

// AttemptDetail is what a ledger record holds beyond its columns.
type AttemptDetail struct {
	ID      string        `json:"id"` // globally unique
	Node    string        `json:"node,omitempty"`
	Queued  int64         `json:"queued,omitempty"`
	Message string        `json:"message,omitempty"`
	Stack   string        `json:"stack,omitempty"`
	Delay   time.Duration `json:"delay,omitempty"` // wait chosen before the next attempt, ns
	Next    int64         `json:"next,omitempty"`  // when the next attempt is due, ns since 1970
	Rule    int           `json:"rule,omitempty"`  // the policy rule that decided, from 1; 0: the policy itself
	Pause   bool          `json:"pause,omitempty"` // the call now waits for an operator
	// Question is, of a question, which one about the attempt it is, from 1; 0 for an attempt.
	Question int `json:"question,omitempty"`
	// Judged is what the policy was told about the failure and the columns do not hold.
	Judged *Judged `json:"judged,omitempty"`
	// Recovered is the last error of a call that this attempt completes, nil if no attempt
	// failed.
	Recovered *Recovered `json:"recovered,omitempty"`
	// Totals are the call's totals including this attempt.
	Totals *Totals `json:"totals,omitempty"`
}

// Recovered is the error after which a call succeeded. The record of the successful attempt
// has no error of its own, so readers learn the cause of the retries without reading
// earlier records.
type Recovered struct {
	ErrorType string `json:"error_type,omitempty"`
	Message   string `json:"message,omitempty"` // clipped
}

// The ledger keeps the first and the last attempts of a call.
const (
	FirstAttempts = 100
	LastAttempts  = 1000
)

// record adds an attempt that needed no decision.
func (l *ledger) record(c *Call, outcome Outcome, f *history.Failure, reason string, ended int64) {
	l.append(c, outcome, f, reason, AttemptDetail{}, ended)
}

// recordDecision adds a failed attempt with the policy's decision, or a question with what follows it.
func (l *ledger) recordDecision(c *Call, outcome Outcome, f *history.Failure, d retry.Decision, ended int64) {
	detail := AttemptDetail{Delay: d.Delay, Next: nextOf(d), Rule: d.Rule + 1, Pause: d.Pause}
	if !c.asking() {
		detail.Judged = newJudged(outcome, f, d)
	}
	l.append(c, outcome, f, string(d.Reason), detail, ended)
}

// recordRefusal adds the refusal of the coming attempt.
func (l *ledger) recordRefusal(c *Call, f *history.Failure) {
	last := c.Progress
	c.StartedAt, c.Node = 0, ""
	if c.state == Backoff { // its gate answered slightly early
		c.QueuedAt = max(l.journal.now, c.due)
	} else if c.QueuedAt < last.StartedAt {
		c.QueuedAt = l.journal.now
	}
	l.record(c, RefusedByGate, f, string(retry.ReasonBreaker), l.journal.now)
	c.StartedAt, c.Node, c.QueuedAt = last.StartedAt, last.Node, last.QueuedAt
}

func (l *ledger) append(c *Call, outcome Outcome, f *history.Failure, reason string, detail AttemptDetail, ended int64) {
	if c.asking() {
		if detail.Question = c.Doubt.Question; outcome != Found && outcome != Absent {
			outcome = Unknown
		}
		c.Totals.Questions++
	}
	rec := Record{Call: c.Number, Attempt: c.attempt, Name: c.Name, Outcome: outcome, Reason: reason, Started: c.StartedAt, Ended: ended}
	detail.ID = AttemptID(l.journal.start.Run, c.Number, c.attempt)
	detail.Node, detail.Queued = c.Node, c.QueuedAt
	c.Totals.add(outcome, c.QueuedAt, c.StartedAt, ended, detail.Delay)
	detail.Totals = &c.Totals
	if (outcome == Completed || outcome == Found) && c.Last != nil {
		detail.Recovered = &Recovered{c.Last.TypeName(), clip(c.Last.Message)}
	}
	if f != nil {
		rec.ErrorType = f.TypeName()
		detail.Message, detail.Stack = f.Message, f.StackTrace()
	}
	if old := c.attempt - LastAttempts; old > FirstAttempts {
		rec.Prune = old
	}
	rec.Data = seal(detail)
	l.journal.out.Attempts = append(l.journal.out.Attempts, rec)
}

// summaryNow returns the summary of a call that closes without the end of its attempt. The
// coming attempt does not start, so it does not count.
func (l *ledger) summaryNow(c *Call) *history.Summary {
	s := l.summary(c, false, l.journal.now)
	if s != nil && !inFlight(c.state) && c.Undecided == nil && !c.asking() {
		s.TotalAttempts--
	}
	return s
}

// summary returns the retry summary of a call that is about to close, or nil if its first
// attempt had no failure, loss or drain.
func (l *ledger) summary(c *Call, exhausted bool, ended int64) *history.Summary {
	if c.attempt <= 1 && c.Failures+c.Losses+c.Drains == 0 {
		return nil
	}
	s := &history.Summary{
		TotalAttempts: c.attemptNumber(), Questions: c.Asked, TotalDurationMS: (ended - c.First) / int64(time.Millisecond), Exhausted: exhausted,
		Errors: c.Errors, ErrorsTotal: c.ErrorsTotal, LostToCrashes: c.Losses, Drained: c.Drains,
	}
	if c.Last != nil {
		s.LastError = clip(c.Last.Message)
	}
	return s
}

// Judged is a failure as a policy sees it, so that another policy can judge it later. The
// ledger's columns hold only the outermost error.
type Judged struct {
	Types    []string          `json:"types,omitempty"` // of the error and all that it wraps
	Canceled bool              `json:"canceled,omitempty"`
	Terminal bool              `json:"terminal,omitempty"`
	Timeout  retry.TimeoutKind `json:"timeout,omitempty"`
	Limit    time.Duration     `json:"limit,omitempty"`   // the limit that was exceeded, ns
	Asked    bool              `json:"asked,omitempty"`   // the error asks for its own delay
	After    time.Duration     `json:"after,omitempty"`   // ns
	At       int64             `json:"at,omitempty"`      // ns since 1970, 0 for After
	Unknown  bool              `json:"unknown,omitempty"` // it may have had its effect
}

// Failure returns the failure for retry.Decide.
func (j *Judged) Failure() retry.Failure {
	f := retry.Failure{Types: j.Types, Canceled: j.Canceled, Terminal: j.Terminal, Timeout: j.Timeout, Asked: j.Asked, After: j.After, Unknown: j.Unknown}
	if j.At != 0 {
		f.At = time.Unix(0, j.At)
	}
	return f
}

// newJudged returns nil if the columns of the record say everything about the failure.
func newJudged(outcome Outcome, f *history.Failure, d retry.Decision) *Judged {
	err := f.Err()
	c := retry.Classify(err)
	j := &Judged{Types: c.Types, Canceled: c.Canceled, Terminal: c.Terminal, Timeout: c.Timeout, Asked: c.Asked, After: c.After, Unknown: c.Unknown}
	if timeout, ok := errors.AsType[*retry.TimeoutError](err); ok {
		j.Limit = timeout.Limit
	}
	if !c.At.IsZero() {
		j.At = c.At.UnixNano()
	}
	told := JudgedBy(outcome, f.TypeName(), d.Reason, d.Delay)
	if j.Limit == 0 && j.At == 0 && j.same(told) {
		return nil
	}
	return j
}

// JudgedBy returns the failure as far as the columns of its record tell: the outermost
// type, and the decision of the policy that was in force.
func JudgedBy(outcome Outcome, errorType string, reason retry.Reason, delay time.Duration) *Judged {
	j := &Judged{Types: []string{errorType}, Canceled: errorType == retry.TypeCanceled, Terminal: reason == retry.ReasonTerminal}
	if reason == retry.ReasonServerDelay {
		j.Asked, j.After = true, delay
	}
	if outcome == TimedOut {
		for _, kind := range []retry.TimeoutKind{retry.TimeoutAttempt, retry.TimeoutHeartbeat, retry.TimeoutQueue} {
			if kind.TypeName() == errorType {
				j.Timeout, j.Unknown = kind, kind != retry.TimeoutQueue
			}
		}
	}
	return j
}

func (j *Judged) same(other *Judged) bool {
	return slices.Equal(j.Types, other.Types) && j.Canceled == other.Canceled && j.Terminal == other.Terminal &&
		j.Timeout == other.Timeout && j.Asked == other.Asked && j.After == other.After && j.Unknown == other.Unknown
}

// Tally is what a turn adds to the counters of an activity or step: closed calls by
// outcome.
type Tally struct {
	Name string
	// Took is the class of the time from when they were scheduled to their end: see Within.
	Took      time.Duration
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
	took time.Duration
	n    int
}

func (u *uncounted) add(name string, took time.Duration) {
	u.total++
	for i := range u.names {
		if f := &u.names[i]; f.name == name && f.took == took {
			f.n++
			return
		}
	}
	u.names = append(u.names, firstTries{name, took, 1})
}

// count notes the end of a call by its closing event.
func (l *ledger) count(c *Call, e *history.Event) {
	l.observeClosing(c, e)
	if !c.attempted() || l.journal.endsAfterCut(c.Number) {
		return
	}
	if e.Kind == history.CallCompleted && e.Retry == nil && e.Operation == "" {
		if l.uncounted.add(c.Name, c.took(e, l.journal.now)); l.uncounted.total >= maxUncounted {
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
			l.journal.out.Tallies = append(l.journal.out.Tallies, Tally{Name: f.name, Took: f.took, FirstTry: f.n, Attempts: f.n})
		}
	}
	l.uncounted.names, l.uncounted.total = l.uncounted.names[:0], 0
}

// took returns the class of the time from when a call was scheduled to its end.
func (c *Call) took(e *history.Event, now int64) time.Duration {
	return Within(time.Duration(cmp.Or(e.Ended, now) - c.First))
}

// tally returns what the end of a call counts, unless it is a first-try success.
func (c *Call) tally(e *history.Event, now int64) Tally {
	t := Tally{Name: c.Name, Took: c.took(e, now), Attempts: c.attemptNumber()}
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
