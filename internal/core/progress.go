package core

import (
	"slices"
	"time"

	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// Progress is how far an activity call or inline step has come. Its exported fields are the
// data of the call's row.
type Progress struct {
	state   CallState
	attempt int // number of the current or coming attempt

	First     int64         `json:"first"`              // when the call was scheduled
	QueuedAt  int64         `json:"queued,omitempty"`   // when the current or coming attempt was ready to run
	StartedAt int64         `json:"started,omitempty"`  // when the attempt in flight was started
	Node      string        `json:"node,omitempty"`     // on which node
	Failures  int           `json:"failures,omitempty"` // charged against MaxAttempts
	Losses    int           `json:"losses,omitempty"`   // attempts lost with their process or its lease
	Drains    int           `json:"drains,omitempty"`   // attempts that a shutdown gave back
	Previous  time.Duration `json:"previous,omitempty"` // the last delay
	Cancel    bool          `json:"cancel,omitempty"`   // the code asked to cancel the call

	BeatAt  int64           `json:"beat_at,omitempty"` // the last recorded heartbeat of any attempt
	Details history.Payload `json:"details,omitzero"`  // details of the last heartbeat
	// Unserved says why the node that has the run cannot start the attempt that is queued.
	Unserved string `json:"unserved,omitempty"`
	// Pause says why the call waits for an operator, or will once the attempt in flight has
	// ended.
	Pause *Pause `json:"pause,omitempty"`
	// Forced says that an operator wants the coming attempt regardless of the time.
	Forced bool `json:"forced,omitempty"`
	// Untold says that the hook for pauses has perhaps not been called yet.
	Untold bool `json:"untold,omitempty"`

	// Inline says that the call is an inline step. It is set when the row is written, for its
	// readers.
	Inline bool `json:"inline,omitempty"`

	// LostAt is when the last attempt was lost with its process. It is 0 if an attempt has
	// since ended or run for long.
	LostAt int64 `json:"lost,omitempty"`
	// OnProbation says that attempts were lost in short succession: the next one runs in
	// the probation lane.
	OnProbation bool `json:"probation,omitempty"`
	// Group is how many suspects run in the probation lane together with the call, or ran
	// when they were lost, itself included; 0 before the first time. With an attempt in
	// flight, 0 means that a version wrote the row that ran one suspect at a time.
	Group int `json:"group,omitempty"`
	// CrashedOn lists the nodes that died while they ran the call alone on probation. They
	// count against CrashLimit. A node that turns out to have survived is removed.
	CrashedOn []string `json:"crashed_on,omitempty"`

	// AtGates is the call's position at each of its gates, in their order.
	AtGates []atGate `json:"passes,omitempty"`
	// Collecting is since when the call holds some of its gates while it waits for others,
	// 0 if it does not. Returned is how often since the last attempt it gave gates back for
	// that reason although it held them in order.
	Collecting int64 `json:"collecting,omitempty"`
	Returned   int   `json:"returned,omitempty"`
	// Undecided is the failed attempt while a budget has yet to say whether another one may
	// follow.
	Undecided *undecided `json:"undecided,omitempty"`
	// slotGroup is the group size of the slot for the coming attempt.
	slotGroup int
	// gateOutcome is what the attempt that ends showed about what is behind the gates.
	gateOutcome gates.Outcome

	// Doubt is the attempt that may have had its effect, while that is not settled; nil for
	// none. Asked is how many numbers of executions are those of questions.
	// Owing says that the coming attempt follows a question about a failure, and budgets have not
	// been asked about it.
	Doubt *Doubt `json:"doubt,omitempty"`
	Asked int    `json:"asked,omitempty"`
	Owing bool   `json:"owing,omitempty"`

	Errors      []history.AttemptError `json:"errors,omitempty"`
	ErrorsTotal int                    `json:"errors_total,omitempty"`
	Last        *history.Failure       `json:"last,omitempty"`

	// renewed says that the call was made in another run and started again here. The turn
	// that scheduled it does not say when its first attempt began.
	renewed bool

	// Task is the attempt in the call's queue, 0 for none. Claimed says that a worker has
	// taken it.
	Task    int  `json:"task,omitempty"`
	Claimed bool `json:"claimed,omitempty"`
	// endReported says that the end of the claimed attempt is among the inputs of this step.
	endReported bool
	// abandoned says that the claimed attempt was lost or timed out in this step, without a
	// message of its end.
	abandoned bool

	Totals Totals `json:"totals,omitzero"` // over the attempts in the ledger
}

func (p *Progress) remember(number int, f *history.Failure, at int64) {
	p.ErrorsTotal++
	p.Last = f
	if len(p.Errors) == firstErrors+lastErrors {
		p.Errors = slices.Delete(p.Errors, firstErrors, firstErrors+1)
	}
	p.Errors = append(p.Errors, history.AttemptError{
		Attempt: number, Type: f.TypeName(), Message: clip(f.Message), At: at / int64(time.Millisecond),
	})
}

// clearProbation takes a call off probation because its process survived.
func (p *Progress) clearProbation() { p.OnProbation, p.Group, p.LostAt = false, 0, 0 }

// timesOut returns when an external attempt times out, and as what.
func (p *Progress) timesOut(policy *retry.Policy) (int64, retry.TimeoutError) {
	end, as := int64(Never), retry.TimeoutError{}
	if policy.AttemptTimeout > 0 {
		end, as = addTime(p.StartedAt, policy.AttemptTimeout), retry.TimeoutError{Kind: retry.TimeoutAttempt, Limit: policy.AttemptTimeout}
	}
	if policy.HeartbeatTimeout > 0 {
		if silent := addTime(max(p.StartedAt, p.BeatAt), policy.HeartbeatTimeout); silent < end {
			end, as = silent, retry.TimeoutError{Kind: retry.TimeoutHeartbeat, Limit: policy.HeartbeatTimeout}
		}
	}
	return end, as
}

// TimesOut returns when an external attempt times out.
func (p *Progress) TimesOut(policy *retry.Policy) int64 {
	at, _ := p.timesOut(policy)
	return at
}

// Awaits returns the index of the gate at which the call waits, or -1, and whether it waits
// for the verdict of a budget.
func (p *Progress) Awaits() (at int, verdict bool) {
	return slices.IndexFunc(p.AtGates, atGate.waits), p.Undecided != nil
}

// HasGates reports whether attempts of the call pass gates.
func (p *Progress) HasGates() bool { return len(p.AtGates) > 0 }

// DecodeProgress reads the data of a call's row. If the data is encoded and cannot be
// decoded, DecodeProgress returns an error and the progress that the document's face shows.
func DecodeProgress(data []byte) (*Progress, error) {
	p := &Progress{}
	switch err := history.Unseal(data, p); {
	case history.IsCoded(err):
		return p, history.Damaged("the row of the call", err)
	case err != nil:
		return nil, history.Damaged("the row of the call", err)
	}
	return p, nil
}

// atGate is the state of a call at one of its gates. The call has a ticket there, with a
// number among the call's tickets at this gate.
type atGate struct {
	State  gateState `json:"state,omitempty"`
	Ticket int       `json:"ticket,omitempty"`
	// Judged says that this gate's budget allowed the attempt after the undecided one. The
	// gate may repeat that.
	Judged bool `json:"judged,omitempty"`
	// Returns is how often the ticket's slot was given back unused.
	Returns int `json:"returns,omitempty"`
	// Probe says that this gate granted the attempt as the probe of its breaker, which makes
	// calls wait.
	Probe bool `json:"probe,omitempty"`
}

func (p atGate) holds() bool { return p.State == held }
func (p atGate) waits() bool { return p.State == asked }

// becomes changes the state; a grant is over with its attempt.
func (p *atGate) becomes(s gateState) { p.State, p.Probe = s, false }

type gateState string

// undecided is a failed attempt while a gate's budget has yet to say whether another one
// may follow.
type undecided struct {
	Outcome Outcome          `json:"outcome"`
	Failure *history.Failure `json:"failure,omitempty"`
	Ended   int64            `json:"ended"`
	Judges  int              `json:"judges"` // number of gates that have not answered
}

// A retry summary keeps the first and the last errors.
const (
	firstErrors = 5
	lastErrors  = 5
)

const (
	noTicket gateState = ""       // no ticket
	asked    gateState = "asked"  // the gate will say when the coming attempt may start
	held     gateState = "held"   // the gate granted the current or coming attempt
	resting  gateState = "behind" // the ticket keeps its place and rests until it is asked for again
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
