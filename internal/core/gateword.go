package core

import (
	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

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
