package core

import (
	"time"

	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// Input is something that happened to a run. Step takes a list of inputs, and history keeps
// their order. Due times are not inputs: the machine derives them from the engine time.
type Input interface{ input() }

// Outcome is how an attempt ended.
type Outcome string

// Outcomes, as the ledger shows them.
const (
	Completed Outcome = "completed"
	Failed    Outcome = "failed"
	TimedOut  Outcome = "timed-out"
	Lost      Outcome = "lost"     // its process died, or lost the run to another node
	Drained   Outcome = "drained"  // its process shut down; charges nothing
	Canceled  Outcome = "canceled" // its call was given up
	// RefusedByGate is not an attempt: a gate refused it, which closed the call.
	RefusedByGate Outcome = "refused"
	// Found, Absent and Unknown are the outcomes of questions about an attempt: it had its
	// effect, it had none, there is no answer. See doubt.go.
	Found   Outcome = "found"
	Absent  Outcome = "absent"
	Unknown Outcome = "unknown"
	// Pending is not an end: the body has returned, and the attempt continues outside.
	Pending Outcome = "pending"
)

// AttemptEnded says that an attempt ended. The machine drops and counts one for a closed
// call or an earlier attempt.
type AttemptEnded struct {
	Call    int64
	Attempt int
	// Outcome is Completed, Failed, TimedOut, Drained, Canceled or Pending. A question that
	// found that its attempt was done is Completed with the result; other answers are Absent
	// and Unknown.
	Outcome Outcome
	Result  history.Payload
	Failure *history.Failure // unless completed
	After   time.Duration    // of Unknown: when to ask again, 0 for by the policy
	Ended   int64
	// Began is when the body began, if it waited for a slot after its turn was recorded; 0
	// otherwise. Unbegun says that the body did not begin: no slot was free in time, or the
	// attempt was not wanted any more.
	Began   int64
	Unbegun bool

	// Transaction says that the node holds data that belongs in the transaction of the turn
	// that closes the call with this result. See Turn.Transactions.
	Transaction bool

	// Outside says that the end comes from outside the body, which has returned already or
	// need not finish.
	Outside bool
}

// Granted says that a slot is reserved for a queued call. If the call no longer wants it,
// Turn.Unused says so. Group is how many suspects run together with a slot of the probation
// lane, 0 for any other slot.
type Granted struct {
	Call  int64
	Group int
}

// SlotsOpen says that calls that were refused a slot without a place in the queue may ask
// again.
type SlotsOpen struct{}

// TakenOver says that the run was loaded. All attempts in flight are lost except those in
// Alive, which this node still runs. It must be the first input after Load.
type TakenOver struct {
	Alive []AttemptRef
	// Survivors are nodes that lost the run but did not die. Their losses count against no
	// call.
	Survivors []string
	// Unheard are nodes of which only the expiry of their lease is known.
	Unheard []string
	// Excused are nodes that died while they tried the run's code, perhaps because of it.
	// Their losses count against no call either.
	Excused []string
	// CopiedAt is when the run was copied from another database, ns; 0 if it was not. Attempts
	// that began before are lost by that.
	CopiedAt int64
}

// AttemptRef names an attempt of a run.
type AttemptRef struct {
	Call    int64
	Attempt int
}

// OffProbation says that an attempt has run in the probation lane long enough for others to
// enter it.
type OffProbation struct{ AttemptRef }

// Told says that the hook for pauses was called for a call.
type Told struct{ AttemptRef }

func (AttemptEnded) input() {}
func (Granted) input()      {}
func (OffProbation) input() {}
func (SlotsOpen) input()    {}
func (TakenOver) input()    {}
func (Control) input()      {}
func (Told) input()         {}
func (Claimed) input()      {}
func (WorkerGone) input()   {}
func (Heartbeat) input()    {}
func (More) input()         {}

// Claimed says that a worker has claimed an offered attempt and runs it.
type Claimed struct {
	AttemptRef
	Worker string // the worker's ID, which the ledger records
	At     int64
}

// WorkerGone says that the worker that ran an attempt is gone.
type WorkerGone struct {
	AttemptRef
	Worker string
	// Survived says that the worker's process lives or ended by itself. Survivors are such
	// workers: their losses no longer count against the call.
	Survived  bool
	Survivors []string
}

// Heartbeat says that an attempt in flight is alive and how far it has come. One for a
// closed call or an earlier attempt is dropped and counted.
//
// The last details are in the call's row. They stay there when the attempt fails, is lost
// or is given back, so that the next attempt receives them. The code of the run never sees
// them, so they are not in history.
type Heartbeat struct {
	Call    int64
	Attempt int
	Details history.Payload // absent: the earlier details stay
	At      int64
}

// Timed is an input with its moment. Without it, the moment is that of the input before, and
// of the first one the beginning. The end of an attempt and a heartbeat say themselves when
// they happened. That a worker claimed an attempt has no moment: it comes first, because it is
// so whatever the run decides.
type Timed struct {
	Input
	At int64
}

// More says that an input of this moment waits and is passed to a later step. Nothing that is
// due later happens in this one. It is the last input.
type More struct {
	At   int64
	Ends []AttemptEnded // those from outside that wait: they count, too
}

// moment returns an input and its moment, 0 if it has none.
func moment(in Input) (Input, int64) {
	switch in := in.(type) {
	case Timed:
		return in.Input, in.At
	case AttemptEnded:
		return in, in.Ended
	case Heartbeat:
		return in, in.At
	}
	return in, 0
}

// GateWord is the kind of a message to or from a gate.
type GateWord string

// Messages from a run. Each is sent by the turn that makes it true.
const (
	// GateEnter: an attempt is ready to run and asks for the gate.
	GateEnter GateWord = "enter"
	// GateBackoff: the attempt has ended, and the next one is due at Until.
	GateBackoff GateWord = "backoff"
	// GateReturn: the granted attempt does not start yet because the call waits for another
	// gate. The call keeps its place in line and asks again later.
	GateReturn GateWord = "return"
	// GateDone: the call has ended, or wants nothing from the gate for now.
	GateDone GateWord = "done"
)

// Messages from an operator.
const (
	GatePause  GateWord = "pause"  // no attempt starts; running ones continue
	GateResume GateWord = "resume" // ends a pause
	GateEdit   GateWord = "edit"   // override the declaration with Edits
	GateProbe  GateWord = "probe"  // end the cooldown of the breaker
	GateReset  GateWord = "reset"  // forget the state of Parts
)

// Messages from a gate.
const (
	// GateGranted: the attempt may start. It may be repeated, so that a slot held by no
	// call is noticed.
	GateGranted GateWord = "granted"
	// GateRefused: no attempt of the call may start, and its ticket is gone.
	GateRefused GateWord = "refused"
	// GateAllowed: the budget allows the attempt that follows a failure.
	GateAllowed GateWord = "allowed"
)

// TicketKey identifies the ticket of a call at a gate. A call that leaves and comes back
// gets another one.
type TicketKey struct {
	Workflow string `json:"workflow"` // ID
	Run      string `json:"run"`
	Call     int64  `json:"call"`
	Ticket   int    `json:"ticket"`
}

// ToGate is a message to a gate. It may arrive twice, but not before earlier messages of
// the run.
type ToGate struct {
	Gate    string    `json:"gate"`
	Word    GateWord  `json:"word"`
	Ticket  TicketKey `json:"ticket"`
	Attempt int       `json:"attempt"` // the attempt that asks or has ended
	// Returns is how often the ticket's slot was given back before.
	Returns int `json:"returns,omitempty"`

	// Of GateEnter: the call's position among the waiting ones, and the gate's declaration;
	// the latest declaration wins. Of operators' messages except GateResume: the
	// declaration that the operator saw, in case the gate has been forgotten since.
	Priority int               `json:"priority,omitempty"`
	RunKey   string            `json:"run_key,omitempty"`
	Weight   int               `json:"weight,omitempty"`
	Came     int64             `json:"came,omitempty"`  // when the call came to its first gate, if that is another one
	Once     bool              `json:"once,omitempty"`  // a failure ends the call
	Retry    bool              `json:"retry,omitempty"` // it follows a question about a failure, and costs tokens
	Spec     *history.GateSpec `json:"spec,omitempty"`

	// Of GateBackoff and GateDone: how the attempt ended.
	Outcome gates.Outcome `json:"outcome,omitempty"`

	// Of GateBackoff: when the next attempt is due, whether the slot is given up whatever
	// the gate's mode is, and whether the call waits for the budget's verdict.
	Until int64 `json:"until,omitempty"`
	Yield bool  `json:"yield,omitempty"`
	Judge bool  `json:"judge,omitempty"`

	// Of operators' messages: the idempotency key, empty for none, which holds while the
	// note is kept; who, and why.
	Request string `json:"request,omitempty"`
	By      string `json:"by,omitempty"`
	Why     string `json:"why,omitempty"`

	// Of GateEdit: the edits, and whether they replace earlier ones.
	Edits *history.GateEdit `json:"edits,omitempty"`
	Anew  bool              `json:"anew,omitempty"`
	// Of GateReset: PartBreaker, PartBudget.
	Parts []string `json:"parts,omitempty"`
	// Of GateProbe and GateReset: the run key whose own breaker or budget is meant, "" for all.
	Key string `json:"key,omitempty"`
}

// FromGate is a message from a gate to a run. It may arrive twice.
type FromGate struct {
	Gate    string       `json:"gate"`
	Word    GateWord     `json:"word"`
	Ticket  TicketKey    `json:"ticket"`
	Attempt int          `json:"attempt"`           // the attempt that may start or has ended
	Returns int          `json:"returns,omitempty"` // of GateGranted: as in the request
	Probe   bool         `json:"probe,omitempty"`   // of GateGranted: it is the probe of a breaker that makes calls wait
	Reason  retry.Reason `json:"reason,omitempty"`
}

// Decline returns the reply to a gate for a call that does not want the message or no
// longer exists. It returns false if no reply is needed.
func (f FromGate) Decline() (ToGate, bool) {
	return ToGate{Gate: f.Gate, Word: GateDone, Ticket: f.Ticket, Attempt: f.Attempt, Outcome: gates.Neutral}, f.Word == GateGranted
}

func (ToGate) input()   {}
func (FromGate) input() {}
