package core

import (
	"time"

	"github.com/perdure/perdure/internal/history"
)

// Turn is what one Step decided. Nothing of it has happened yet.
type Turn struct {
	Number int64 // in history; 0 if there are no events
	Time   int64
	Events []history.Event

	Rows     []Row    // calls whose row is written
	Closed   []int64  // calls whose row is deleted
	Attempts []Record // ledger records
	Tallies  []Tally  // only in a turn with events
	// Attributes are all that the run has from now on, nil if they are unchanged.
	// It is read-only.
	Attributes map[string]string
	State      *State    // new state of the run's row, nil if unchanged
	Messages   []Message // to other runs, or to this one
	Gates      []ToGate  // messages to gates, which may arrive twice
	Replies    []Reply   // to who asked for updates, which may arrive twice
	// Transactions are the attempts that closed their calls and whose
	// AttemptEnded had a Transaction. An attempt that came too late has none.
	Transactions []AttemptRef

	// To be done once the turn is durable.
	Dispatch  []Dispatch
	Interrupt []Interrupt
	// Halted are attempts on record whose calls were paused: those that have not begun
	// are not to.
	Halted []AttemptRef

	// Offered are attempts that go into their queues; they have not started. Over and
	// Withdrawn are attempts that leave them: Over were claimed, and Withdrawn were not
	// when the step was made. GivenUp were claimed, and lost or timed out without a word of
	// their end: if there is one meanwhile, the turn must not become durable. Stopped are
	// attempts of which the worker is asked to end them.
	Offered                           []Dispatch
	Over, GivenUp, Withdrawn, Stopped []AttemptRef
	Unused                            []int64 // calls whose Granted slot is free again
	// OffProbation are attempts that need the probation lane no more.
	OffProbation []AttemptRef

	// Fired counts the timers and backoffs whose time had come, and Late is how many
	// nanoseconds the earliest of them waited for this turn. They are for observers.
	Fired int
	Late  int64

	// Closings are the calls of activities and steps that are closed, if Config.Closings
	// asks for them. They are for observers.
	Closings []Closing

	Waiting []Waiting // calls that begin to wait for a person, who is to be told

	Ended bool // the run is closed
	// Next is how the next run of the chain begins, which is made with this turn;
	// nil if there is none.
	Next *history.Start
	// Base is the history with which Next begins, nil for none.
	Base *Cut
	// Deferred are the inputs, by index, that the run did not take. They are given again
	// when Takes says so; once the run has ended they belong to the next run of the
	// chain, if they were for whichever run is the latest.
	Deferred []int
	Answered bool // the result of an update or of an operation is on record with this turn
	Again    bool // the run wants another step as soon as this turn is durable

	Dropped int // inputs that came too late or twice
}

// Clear empties a turn of which nothing is used any more, so that Reuse can take it.
func (t *Turn) Clear() {
	events, dispatch := t.Events, t.Dispatch
	*t = Turn{}
	if cap(events) <= maxSpare {
		clear(events)
		t.Events = events[:0]
	}
	if cap(dispatch) <= maxSpare {
		clear(dispatch)
		t.Dispatch = dispatch[:0]
	}
}

// Reuse lets the next step make its turn of an empty one, of whichever run. It may be left
// out; it spares a fifth of the memory that a step takes.
func (r *Run) Reuse(t *Turn) { r.spare = t }

// maxSpare is how long a list may be that is kept.
const maxSpare = 32

// usualTurn is how many events most turns have: an attempt has begun and ended, and the code
// asks for the next call.
const usualTurn = 3

// Empty reports whether there is nothing to commit.
func (t *Turn) Empty() bool {
	return len(t.Events) == 0 && len(t.Rows) == 0 && len(t.Closed) == 0 && len(t.Attempts) == 0 && len(t.Gates) == 0 && len(t.Offered)+len(t.Over)+len(t.GivenUp)+len(t.Withdrawn)+len(t.Stopped) == 0 && t.State == nil
}

// Message is what a run tells another one, or itself, with its turn: an input of
// that run, or how it begins.
type Message struct {
	WorkflowID string         // whose latest run shall read it
	Run        string         // if set, only this run
	Input      Input          // Control or FromChild
	Start      *history.Start // instead: the run that is to begin
}

// Dispatch is an attempt to be started. One that is offered in a queue is stored as JSON: what
// is zero is left out, for a row is written for each.
type Dispatch struct {
	Call      int64           `json:",omitzero"`
	Attempt   int             `json:",omitzero"`
	Max       int             `json:",omitzero"` // executions the policy allows
	Allowed   int             `json:",omitzero"` // executions that the rule for the latest failure allows
	Final     bool            `json:",omitzero"` // no more attempt follows a failure of this one
	Step      bool            `json:",omitzero"` // an inline step: its body is in the run's code
	Probation bool            `json:",omitzero"` // it was lost before: run it in the probation lane
	Name      string          `json:",omitzero"`
	Queue     string          `json:",omitzero"`
	Priority  int             `json:",omitzero"`
	Trace     string          `json:",omitzero"`
	Input     history.Payload `json:",omitzero"`
	Scheduled int64           `json:",omitzero"` // when its call was scheduled
	Queued    int64           `json:",omitzero"` // when this attempt was ready to run
	Started   int64           `json:",omitzero"`
	// Latest is when an attempt that begins without a slot has waited too long for one,
	// 0: never.
	Latest int64 `json:"-"`

	AttemptTimeout   time.Duration `json:",omitzero"` // 0: none
	HeartbeatTimeout time.Duration `json:",omitzero"` // 0: none
	// Details are what the last heartbeat of an earlier attempt said.
	Details history.Payload `json:",omitzero"`
}

// Interrupt is an attempt whose result is not wanted any more, or which is
// asked to end.
type Interrupt struct {
	Call    int64
	Attempt int
}

// Row is the durable state of a call that must be found without replay.
type Row struct {
	Call    int64
	State   CallState
	Name    string
	Queue   string
	Attempt int
	Due     int64
	Data    []byte
}

// CallState is where a call stands between turns.
type CallState string

// The states of a call that has a row. The same words stand in the store.
const (
	Queued      CallState = "queued"
	Dispatched  CallState = "dispatched"
	External    CallState = "external"
	Offered     CallState = "offered" // in a queue, in which a worker may claim it
	Remote      CallState = "remote"  // its attempt runs on a worker
	Backoff     CallState = "backoff"
	Gated       CallState = "gated"
	Paused      CallState = "paused"
	Quarantined CallState = "quarantined"

	TicketWaiting CallState = "#waiting"
	TicketHolding CallState = "#holding"
	TicketResting CallState = "#resting"
)

// State is the part of a run's row that turns change.
type State struct {
	Status Status
	Wake   int64
	Closed int64
	Detail []byte
	Full   bool // it is to be sent no more signals
}

// Status of a run. The same words stand in the store.
type Status string

// The statuses.
const (
	StatusRunning        Status = "running"
	StatusPaused         Status = "paused" // until a person resumes it
	StatusWaitingForCode Status = "waiting-for-code"
	StatusParked         Status = "parked"
	StatusCompleted      Status = "completed"
	StatusFailed         Status = "failed"
	StatusCanceled       Status = "canceled"
	StatusTerminated     Status = "terminated"
	StatusTimedOut       Status = "timed-out"
	StatusContinued      Status = "continued" // another run of the chain goes on
	StatusStanding       Status = "#standing" // of a gate
)

// Detail is the document beside a status: the outcome of a closed run, or why an
// open one does not go on.
type Detail struct {
	Result  *history.Payload `json:"result,omitempty"`
	Failure *history.Failure `json:"failure,omitempty"`
	Reason  string           `json:"reason,omitempty"`
	// Next is the run that goes on for a continued one, and Initiator why.
	Next      string `json:"next,omitempty"`
	Initiator string `json:"initiator,omitempty"`
	// Mismatch says where the code of a parked run differs from its history.
	Mismatch *Mismatch `json:"mismatch,omitempty"`
	Stack    string    `json:"stack,omitempty"`
	// Since is when a run was held, in ns since 1970; 0 if it is not known.
	Since int64 `json:"since,omitempty"`
	// Damaged says that part of what is on record of a parked run cannot be read.
	Damaged bool `json:"damaged,omitempty"`
	// Fingerprint of the code that was tried last.
	Fingerprint string `json:"fingerprint,omitempty"`
	// Tried are the fingerprints of code that did not fit, on this node or another, since
	// code did.
	Tried []string `json:"tried,omitempty"`
	// Suspect says what came of trying a run's code on another node, if that died of it
	// perhaps.
	Suspect *Suspicion `json:"suspect,omitempty"`
	// Says is what the code last said of where it stands.
	Says string `json:"says,omitempty"`
	// Paused says who paused an open run, and when.
	Paused *Pause `json:"paused,omitempty"`
	// Pin is the build on which an open run stays, empty if it may go on with any. History
	// says so, too.
	Pin string `json:"pin,omitempty"`
}

// Suspicion is what goes with a run whose code may have ended processes. Package trial has
// the same.
type Suspicion struct {
	Deaths int      `json:"deaths,omitempty"` // with which it was alone, in a row
	Code   string   `json:"code,omitempty"`   // fingerprint of what was tried
	Nodes  []string `json:"nodes,omitempty"`  // IDs of those that died while it was tried
}

// Wake times of a run with no time to tell. The store has the same values.
const (
	Hot   int64 = 0
	Never int64 = 1<<63 - 1
)
