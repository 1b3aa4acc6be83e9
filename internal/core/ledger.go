package core

import (
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
	rec.Data, _ = history.Seal(detail) // strings and numbers only: cannot fail
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
