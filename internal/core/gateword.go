package core

import (
	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/retry"
)

// GateWord is what runs and gates say to each other.
type GateWord string

// What a run says. Each is said in the turn that makes it true.
const (
	// GateEnter: an attempt is ready to run and asks for the gate.
	GateEnter GateWord = "enter"
	// GateBackoff: the attempt has ended, and the next one is due at Until.
	GateBackoff GateWord = "backoff"
	// GateReturn: the attempt that was granted does not start yet, because another gate
	// makes it wait. The call keeps its place in line, and asks again.
	GateReturn GateWord = "return"
	// GateDone: the call has ended, or wants nothing of the gate for now.
	GateDone GateWord = "done"
)

// What a person says to a gate.
const (
	GatePause  GateWord = "pause"  // no attempt starts; what runs goes on
	GateResume GateWord = "resume" // ends a pause
	GateEdit   GateWord = "edit"   // do what Edits name, whatever the code declares
	GateProbe  GateWord = "probe"  // end the cooldown of the breaker
	GateReset  GateWord = "reset"  // forget what the Parts remember
)

// What a gate says.
const (
	// GateGranted: the attempt may start. It may be said again, so that a slot
	// that no call holds is noticed.
	GateGranted GateWord = "granted"
	// GateRefused: no attempt of the call may start; its ticket is gone.
	GateRefused GateWord = "refused"
	// GateAllowed: the budget allows the attempt that follows a failure.
	GateAllowed GateWord = "allowed"
)

// TicketKey names the ticket of a call at a gate. A call that leaves and comes
// back has another one.
type TicketKey struct {
	Workflow string `json:"workflow"` // ID
	Run      string `json:"run"`
	Call     int64  `json:"call"`
	Ticket   int    `json:"ticket"`
}

// ToGate is what a run tells a gate. It may arrive twice, but not before what the
// run said earlier.
type ToGate struct {
	Gate    string    `json:"gate"`
	Word    GateWord  `json:"word"`
	Ticket  TicketKey `json:"ticket"`
	Attempt int       `json:"attempt"` // that asks, or has ended
	// Returns is how often the ticket's slot was given back before.
	Returns int `json:"returns,omitempty"`

	// Of GateEnter: where the call stands among those who wait, and what the gate
	// is to do; the latest one to say it is right. Of what a person says, except
	// GateResume: what was declared when the gate was looked at, in case it is forgotten by then.
	Priority int         `json:"priority,omitempty"`
	Came     int64       `json:"came,omitempty"` // to its first gate, if this is another one
	Spec     *gates.Spec `json:"spec,omitempty"`

	// Of GateBackoff and GateDone: how the attempt ended.
	Outcome gates.Outcome `json:"outcome,omitempty"`

	// Of GateBackoff: when the next attempt is due, whether the slot is given up
	// whatever the gate's mode is, and whether the budget's verdict is awaited.
	Until int64 `json:"until,omitempty"`
	Yield bool  `json:"yield,omitempty"`
	Judge bool  `json:"judge,omitempty"`

	// Of what a person says: its idempotency key, or empty, which holds as long as its note
	// is kept; who, and why.
	Request string `json:"request,omitempty"`
	By      string `json:"by,omitempty"`
	Why     string `json:"why,omitempty"`

	// Of GateEdit: what is to be different, and whether earlier edits end.
	Edits *GateEdits `json:"edits,omitempty"`
	Anew  bool       `json:"anew,omitempty"`
	// Of GateReset: PartBreaker, PartBudget.
	Parts []string `json:"parts,omitempty"`
}

// FromGate is what a gate tells a run. It may arrive twice.
type FromGate struct {
	Gate    string       `json:"gate"`
	Word    GateWord     `json:"word"`
	Ticket  TicketKey    `json:"ticket"`
	Attempt int          `json:"attempt"`           // that may start, or has ended
	Returns int          `json:"returns,omitempty"` // of GateGranted: as it was asked for
	Reason  retry.Reason `json:"reason,omitempty"`
}

// Decline is the answer to a gate for a call that does not want what it is told,
// or no longer exists; false if none is needed.
func (f FromGate) Decline() (ToGate, bool) {
	return ToGate{Gate: f.Gate, Word: GateDone, Ticket: f.Ticket, Attempt: f.Attempt, Outcome: gates.Neutral}, f.Word == GateGranted
}

func (ToGate) input()   {}
func (FromGate) input() {}
