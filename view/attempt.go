package view

import "time"

// The outcomes of attempts.
const (
	OutcomeRunning   = "running"
	OutcomeExternal  = "external" // in flight; it is completed from outside, by a token
	OutcomeCompleted = "completed"
	OutcomeFailed    = "failed"
	OutcomeTimedOut  = "timed-out"
	OutcomeLost      = "lost"    // with its process, or with the lease of its node: see retry.ReasonWorkerLost
	OutcomeDrained   = "drained" // given back by a shutdown
	OutcomeCanceled  = "canceled"
	OutcomeRefused   = "refused" // by a gate, before it started

	// Of questions about attempts, see Attempt.Question.
	OutcomeFound   = "found"   // the attempt had its effect
	OutcomeAbsent  = "absent"  // it had none
	OutcomeUnknown = "unknown" // there was no answer
)

// Attempt is one attempt of one call. The tries of blocks of code that are retried are in
// the ledger under the name workflow.Retry and the number of the block; listings of one
// run omit them.
type Attempt struct {
	Call    int64  `json:"call"`    // number in its run
	Name    string `json:"name"`    // of the activity or step
	Number  int    `json:"attempt"` // place among the attempts of its call, from 1
	ID      string `json:"id"`      // globally unique, never reused: see activity.Info
	Outcome string `json:"outcome"` // see OutcomeRunning
	// Reason says why another attempt followed, or why none did.
	Reason    string `json:"reason,omitempty"`
	ErrorType string `json:"error_type,omitempty"` // of the error it ended with, see retry.TypeName; empty without one
	// Message is the text of the error. For an attempt that was lost with its worker it
	// says that the worker has reported since; only listings of one run know that.
	Message string        `json:"message,omitempty"`
	Stack   string        `json:"stack,omitempty"`   // of a panic
	Node    string        `json:"node,omitempty"`    // node or worker that ran it: see Node.ID
	Queued  *time.Time    `json:"queued,omitempty"`  // when it was ready to run
	Started *time.Time    `json:"started,omitempty"` // when its body began; nil if it has not
	Ended   *time.Time    `json:"ended,omitempty"`   // nil while it is in flight
	Delay   time.Duration `json:"delay,omitempty"`   // backoff chosen before the next attempt
	Next    *time.Time    `json:"next,omitempty"`    // when the next attempt is due
	Rule    int           `json:"rule,omitempty"`    // of the policy that decided, from 1; 0: the policy itself
	// Question is zero for an attempt. A question about the attempt before (activity.Verify) is
	// an entry of its own with the next number; Question counts those about it from 1.
	Question int `json:"question,omitempty"`
	// RunID is the run that made the attempt, if that is not the run that was read. A
	// reset or forked run keeps calls of another run; the attempts that did not end such
	// a call are in that run's ledger.
	RunID string `json:"run_id,omitempty"`
	// NotKept is the number of attempts of the call, right before this one, that the
	// ledger has no record of. Only listings of one run set it.
	NotKept int `json:"not_kept,omitempty"`
}

// FoundAttempt is an attempt with its run.
type FoundAttempt struct {
	WorkflowID string `json:"workflow_id"` // of the run in whose ledger it is
	RunID      string `json:"run_id"`      // of that run
	Workflow   string `json:"workflow"`    // name of the definition, or of the flow file
	Attempt
}

// CallAttempts sums up the attempts of one call. The sums are exact even if the ledger
// does not keep a record of each attempt.
type CallAttempts struct {
	WorkflowID string `json:"workflow_id"` // of the run of the call
	RunID      string `json:"run_id"`      // of the run of the call
	Workflow   string `json:"workflow"`    // name of the definition, or of the flow file
	Call       int64  `json:"call"`        // number in its run
	Name       string `json:"name"`        // of the activity or step

	Attempts  int `json:"attempts"`            // that have ended
	Completed int `json:"completed,omitempty"` // attempts that succeeded: at most 1
	Failed    int `json:"failed,omitempty"`    // attempts that returned an error or panicked
	TimedOut  int `json:"timed_out,omitempty"` // attempts that exceeded a timeout of the policy
	Lost      int `json:"lost,omitempty"`      // with their process or its lease
	Drained   int `json:"drained,omitempty"`   // given back by a shutdown
	Canceled  int `json:"canceled,omitempty"`  // attempts that were canceled with their call or run
	Questions int `json:"questions,omitempty"` // questions about attempts, which are no attempts

	Run      time.Duration `json:"run,omitempty"`      // time the bodies ran
	Backoff  time.Duration `json:"backoff,omitempty"`  // sum of the delays that were chosen
	Retrying time.Duration `json:"retrying,omitempty"` // from the end of the first attempt to the end of the latest
	First    *time.Time    `json:"first,omitempty"`    // when the first attempt was ready to run
	Last     *time.Time    `json:"last,omitempty"`     // when the latest one ended

	// Outcome, Reason, ErrorType and Message are those of the latest attempt.
	Outcome   string `json:"outcome"`
	Reason    string `json:"reason,omitempty"`
	ErrorType string `json:"error_type,omitempty"`
	Message   string `json:"message,omitempty"`

	// RecoveredFrom is the latest error of a call that succeeded later, cut after 200
	// bytes, and RecoveredFromType its type. Both are empty if the call has not
	// succeeded, or if its earlier attempts were lost and did not fail.
	RecoveredFrom     string `json:"recovered_from,omitempty"`
	RecoveredFromType string `json:"recovered_from_type,omitempty"`

	// NotKept is the number of attempts that the ledger has no record of: those
	// between the first 100 and the last 1,000.
	NotKept int `json:"not_kept,omitempty"`
}

// AttemptFilter selects attempts and calls of the ledger, over all runs. The zero value
// selects all.
type AttemptFilter struct {
	Workflow  string    // name of the definition, or of the flow file
	Activity  string    // name of the activity or step
	ErrorType string    // of the error the attempt ended with, see retry.TypeName
	Outcome   string    // see OutcomeRunning
	Reason    string    // see Attempt.Reason
	Since     time.Time // only attempts that ended at this time or later; zero: all
	Until     time.Time // only attempts that ended before this time; zero: all
	MoreThan  int       // only attempts with a higher number; only calls with more attempts
	After     string    // cursor that came with the page before; empty: the first page
	Limit     int       // per page, at most 1,000,000; 0: 100; see also ops.ErrorStats
}

// TokenAttempt is the attempt that a token identifies: see activity.ErrPending.
type TokenAttempt struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	Workflow   string `json:"workflow"`        // name of the definition, or of the flow file
	Activity   string `json:"activity"`        // or step
	Queue      string `json:"queue,omitempty"` // in which the attempt was offered; empty: in none
	Call       int64  `json:"call"`            // number in its run
	Attempt    int    `json:"attempt"`         // place among the attempts of its call, from 1
}
