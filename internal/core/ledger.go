package core

import (
	"strconv"
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
	Prune     int    // attempt whose record makes room, 0 for none
}

// AttemptDetail is what a ledger record says beyond its columns.
type AttemptDetail struct {
	ID      string        `json:"id"` // equal to no other attempt's, ever
	Node    string        `json:"node,omitempty"`
	Queued  int64         `json:"queued,omitempty"`
	Message string        `json:"message,omitempty"`
	Stack   string        `json:"stack,omitempty"`
	Delay   time.Duration `json:"delay,omitempty"` // chosen wait before the next attempt, ns
	Next    int64         `json:"next,omitempty"`  // when the next attempt is due, ns since 1970
	Rule    int           `json:"rule,omitempty"`  // the policy's rule that decided, from 1; 0: the policy itself
	Pause   bool          `json:"pause,omitempty"` // it waits for a person
	// Judged is what the policy was told of the failure, where the columns do not say it.
	Judged *Judged `json:"judged,omitempty"`
	// Recovered is the latest error of a call that this attempt completes; nil if none failed.
	Recovered *Recovered `json:"recovered,omitempty"`
	// Totals of the call with this attempt; nil in records of earlier versions.
	Totals *Totals `json:"totals,omitempty"`
}

// Recovered is an error after which a call succeeded: then the record of the latest attempt has
// no error of its own, and those before it need not be read to say what the retries were for.
type Recovered struct {
	ErrorType string `json:"error_type,omitempty"`
	Message   string `json:"message,omitempty"` // clipped
}

// How many attempts of a call the ledger keeps: the first and the last ones.
const (
	FirstAttempts = 100
	LastAttempts  = 1000
)

// CallID names a call uniquely: trace id of its attempts, idempotency key.
func CallID(run string, call int64) string { return run + "/" + strconv.FormatInt(call, 10) }

// AttemptID names an attempt uniquely.
func AttemptID(run string, call int64, attempt int) string {
	return run + "/" + strconv.FormatInt(call, 10) + "." + strconv.Itoa(attempt)
}

// sentID is the ID of a signal that workflow code sends. No user can choose such an ID
// (history.Reserved), and so no turn takes it before.
func sentID(run string, call int64) string { return "#send/" + CallID(run, call) }

// record keeps an attempt about which nothing had to be decided.
func (r *ledger) record(c *Call, outcome Outcome, f *history.Failure, reason string, ended int64) {
	r.keep(c, outcome, f, reason, AttemptDetail{}, ended)
}

// recordDecision keeps a failed attempt with what the policy decided.
func (r *ledger) recordDecision(c *Call, outcome Outcome, f *history.Failure, d retry.Decision, ended, next int64) {
	detail := AttemptDetail{Delay: d.Delay, Next: next, Rule: d.Rule + 1, Pause: d.Pause}
	detail.Judged = judged(outcome, f, d)
	r.keep(c, outcome, f, string(d.Reason), detail, ended)
}

// recordRefusal keeps that the coming attempt was not let begin.
func (r *ledger) recordRefusal(c *Call, f *history.Failure) {
	last := c.attempts
	c.StartedAt, c.Node = 0, ""
	if c.state == Backoff { // its gate was a little early
		c.QueuedAt = max(r.now, c.due)
	} else if c.QueuedAt < last.StartedAt {
		c.QueuedAt = r.now
	}
	r.record(c, RefusedByGate, f, string(retry.ReasonBreaker), r.now)
	c.StartedAt, c.Node, c.QueuedAt = last.StartedAt, last.Node, last.QueuedAt
}

func (r *ledger) keep(c *Call, outcome Outcome, f *history.Failure, reason string, detail AttemptDetail, ended int64) {
	rec := Record{
		Call: c.Number, Attempt: c.attempt, Name: c.Name, Outcome: outcome, Reason: reason,
		Started: c.StartedAt, Ended: ended,
	}
	detail.ID = AttemptID(r.start.Run, c.Number, c.attempt)
	detail.Node, detail.Queued = c.Node, c.QueuedAt
	c.Totals.add(outcome, c.QueuedAt, c.StartedAt, ended, detail.Delay)
	detail.Totals = &c.Totals
	if outcome == Completed && c.Last != nil {
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
	r.out.Attempts = append(r.out.Attempts, rec)
}

// summary is the retry summary of a call that is about to close, nil if nothing
// happened to its first attempt.
func (r *ledger) summary(c *Call, exhausted bool, ended int64) *history.Summary {
	if c.attempt <= 1 && c.Failures+c.Losses+c.Drains == 0 {
		return nil
	}
	s := &history.Summary{
		TotalAttempts:   c.attempt,
		TotalDurationMS: (ended - c.First) / int64(time.Millisecond),
		Exhausted:       exhausted,
		Errors:          c.Errors,
		ErrorsTotal:     c.ErrorsTotal,
		LostToCrashes:   c.Losses,
		Drained:         c.Drains,
	}
	if c.Last != nil {
		s.LastError = clip(c.Last.Message)
	}
	return s
}
