package core

import (
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// An attempt that was lost, timed out or says so may have had its effect. If the policy does
// not simply repeat it, its call is in doubt: a Doubt stands in its row until it is settled.
// The program is asked by a question, which is an execution of the call as an attempt is: it
// has the next number, a slot or a place in the queue, a timeout, a record in the ledger, and
// is fenced and lost as attempts are. It passes no gates, is bound by neither Within nor
// QueueTimeout, and is not charged.
//
// An ending waits for the answer as it is. Nothing but a cancellation is decided before: also
// the last attempt is asked about, and the third crash.

// Doubt is an attempt that may have had its effect.
type Doubt struct {
	Attempt int              `json:"attempt"`
	ID      string           `json:"id"` // of the attempt
	Node    string           `json:"node,omitempty"`
	Started int64            `json:"started,omitempty"`
	Ended   int64            `json:"ended,omitempty"` // 0: not known, it was lost
	Outcome Outcome          `json:"outcome"`
	Failure *history.Failure `json:"failure,omitempty"` // nil if it was lost or drained
	Reason  retry.Reason     `json:"reason,omitempty"`  // why it was lost or drained

	// Asking says that the coming or running execution is a question. Otherwise a person
	// decides.
	Asking   bool `json:"asking,omitempty"`
	Question int  `json:"question,omitempty"` // number of the coming or latest question, from 1
	// Said is the failure of the latest question that ended, nil if it asks for another one.
	Said *history.Failure `json:"said,omitempty"`
	// Failed is how many questions failed, Since when the first was due, and Previous the wait
	// before the latest: what the policy for questions is asked with.
	Failed   int           `json:"failed,omitempty"`
	Since    int64         `json:"since,omitempty"`
	Previous time.Duration `json:"previous,omitempty"`
}

// asking reports whether the coming or running execution of the call is a question.
func (c *Call) asking() bool { return c.Doubt != nil && c.Doubt.Asking }

// settling reports whether a request of the attempt in doubt may still be under way: an answer
// would prove nothing, so nobody can have the question earlier.
func (c *Call) settling(now int64) bool { return c.asking() && c.Doubt.Since > now }

// attemptNumber returns the number of the coming or running attempt among attempts alone: without
// questions.
func (c *Call) attemptNumber() int { return c.attempt - c.Asked }

// terms returns the policy for the timeouts of the coming or running execution.
func (c *Call) terms() *retry.Policy {
	if c.asking() {
		questions := c.Verify.Questions()
		return &questions
	}
	return c.Policy
}

// policyFault returns why a policy cannot be in force for a call, "" if it can.
func (c *Call) policyFault(p *retry.Policy) string {
	if c.Verify == nil && p.Verifies() {
		return "its OnUnknown is VerifyUnknown, and the call has no Verify function to ask"
	}
	return ""
}
