package core

import (
	"time"

	"github.com/perdure/perdure/internal/history"
)

// Turn is what one Step decided. Nothing of it is durable or done yet.
type Turn struct {
	Number int64 // in history; 0 if there are no events
	Time   int64
	Events []history.Event

	Rows     []Row    // calls whose row is written
	Closed   []int64  // calls whose row is deleted
	Attempts []Record // ledger records
	Tallies  []Tally  // only in a turn with events
	// Attributes are all attributes of the run, nil if unchanged. The map is read-only.
	Attributes map[string]string
	State      *State    // new state of the run's row, nil if unchanged
	Messages   []Message // to other runs, or to this one
	Gates      []ToGate  // messages to gates, which may arrive twice
	Replies    []Reply   // to callers that asked for updates, which may arrive twice
	// Transactions are the attempts that closed their calls and whose AttemptEnded had a
	// Transaction. An attempt that came too late is not listed.
	Transactions []AttemptRef

	// Work for after the turn is durable.
	Dispatch  []Dispatch
	Interrupt []Interrupt
	// Halted are recorded attempts whose calls were paused. The caller must not start those
	// that have not begun.
	Halted []AttemptRef

	// Offered are attempts that enter their queues; they have not started. Over and
	// Withdrawn are attempts that leave their queues: Over were claimed, and Withdrawn were
	// not claimed as of this step. GivenUp were claimed, and then lost or timed out without
	// a message of their end; if such a message has come meanwhile, the turn must not
	// become durable. Stopped are attempts whose worker is asked to end them.
	Offered                           []Dispatch
	Over, GivenUp, Withdrawn, Stopped []AttemptRef
	Unused                            []int64 // calls whose Granted slot is free again
	// Crashed are calls of activities that were alone in the probation lane when their node
	// died.
	Crashed []Crash
	// OffProbation are attempts that no longer need the probation lane.
	OffProbation []AttemptRef

	// Fired counts the timers and backoffs that came due. Late is how long the earliest of
	// them waited for this turn, in ns. Both are for observers.
	Fired int
	Late  int64

	// Closings are the activity calls and steps that this turn closes, if Config.Closings
	// is set. They are for observers.
	Closings []Closing

	Waiting []Waiting // calls that begin to wait for an operator, who is to be told

	Ended bool // the run is closed
	// Next is the start event of the next run of the chain, which this turn creates; nil
	// for none.
	Next *history.Start
	// Base is the history with which Next begins, nil for none.
	Base *Cut
	// Deferred are the indexes of the inputs that the run did not take. The caller passes
	// them again when Takes returns true. Once the run has ended, those addressed to the
	// latest run belong to the next run of the chain.
	Deferred []int
	Answered bool // this turn records the result of an update or an operation
	Again    bool // the run wants another step when this turn is durable

	Dropped int // inputs that came too late or twice
}

// Clear empties a turn that is no longer used, so that Reuse can take it.
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

// Reuse lets the next step build its turn in an empty one, from any run. It is optional and
// saves a fifth of the memory that a step allocates.
func (r *Run) Reuse(t *Turn) { r.spare = t }

// maxSpare is the capacity up to which a list is kept for reuse.
const maxSpare = 32

// usualTurn is the number of events in most turns: an attempt began and ended, and the code
// schedules the next call.
const usualTurn = 3

// Empty reports whether there is nothing to commit.
func (t *Turn) Empty() bool {
	return len(t.Events) == 0 && len(t.Rows) == 0 && len(t.Closed) == 0 && len(t.Attempts) == 0 && len(t.Gates) == 0 && len(t.Offered)+len(t.Over)+len(t.GivenUp)+len(t.Withdrawn)+len(t.Stopped) == 0 && t.State == nil
}

// Crash is an attempt during which its node died, and which was the only suspect there.
type Crash struct {
	AttemptRef
	Name  string // of the activity or step
	Step  bool   // an inline step
	Node  string
	Limit int // the call's CrashLimit
}

// Message is what a run sends to another run or to itself with its turn: an input of that
// run, or its start event.
type Message struct {
	WorkflowID string         // whose latest run reads it
	Run        string         // if set, only this run
	Input      Input          // Control or FromChild
	Start      *history.Start // instead of Input: the run to start
}

// Dispatch is an attempt to start. An attempt offered in a queue is stored as JSON, one row
// each, so zero fields are left out.
type Dispatch struct {
	Call      int64           `json:",omitzero"`
	Attempt   int             `json:",omitzero"`
	Max       int             `json:",omitzero"` // executions the policy allows
	Allowed   int             `json:",omitzero"` // executions that the rule for the latest failure allows
	Final     bool            `json:",omitzero"` // no attempt follows if this one fails
	Step      bool            `json:",omitzero"` // an inline step: its body is in the run's code
	Probation bool            `json:",omitzero"` // an attempt was lost before: run this one in the probation lane
	Name      string          `json:",omitzero"`
	Queue     string          `json:",omitzero"`
	Priority  int             `json:",omitzero"`
	Trace     string          `json:",omitzero"`
	Input     history.Payload `json:",omitzero"`
	Scheduled int64           `json:",omitzero"` // when its call was scheduled
	Queued    int64           `json:",omitzero"` // when this attempt was ready to run
	Started   int64           `json:",omitzero"`
	// Latest is when an attempt has waited too long for a slot or for a worker, 0 for never.
	Latest int64 `json:"-"`

	AttemptTimeout   time.Duration `json:",omitzero"` // 0: none
	HeartbeatTimeout time.Duration `json:",omitzero"` // 0: none
	// Details are those of the last heartbeat of an earlier attempt.
	Details history.Payload `json:",omitzero"`
}

// Interrupt is an attempt that is asked to end, or whose result is no longer wanted.
type Interrupt struct {
	Call    int64
	Attempt int
}

// Row is the durable state of a call that must be found without a replay.
type Row struct {
	Call    int64
	State   CallState
	Name    string
	Queue   string
	Attempt int
	Due     int64
	Data    []byte
}

// CallState is the state of a call between turns.
type CallState string

// States of calls that have a row. The store uses the same words.
const (
	Queued      CallState = "queued"
	Dispatched  CallState = "dispatched"
	External    CallState = "external"
	Offered     CallState = "offered" // in a queue, where a worker may claim it
	Remote      CallState = "remote"  // the attempt runs on a worker
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
	Full   bool // senders must send it no more signals
}

// Status is the status of a run. The store uses the same words.
type Status string

// The statuses.
const (
	StatusRunning        Status = "running"
	StatusPaused         Status = "paused" // until an operator resumes it
	StatusWaitingForCode Status = "waiting-for-code"
	StatusParked         Status = "parked"
	StatusCompleted      Status = "completed"
	StatusFailed         Status = "failed"
	StatusCanceled       Status = "canceled"
	StatusTerminated     Status = "terminated"
	StatusTimedOut       Status = "timed-out"
	StatusContinued      Status = "continued" // another run of the chain continues
	StatusStanding       Status = "#standing" // of a gate or schedule
)

// Detail is the document beside a status: the outcome of a closed run, or why an open run
// does not continue.
type Detail struct {
	Result  *history.Payload `json:"result,omitempty"`
	Failure *history.Failure `json:"failure,omitempty"`
	Reason  string           `json:"reason,omitempty"`
	// Next is the run that follows a continued one, and Initiator says why.
	Next      string `json:"next,omitempty"`
	Initiator string `json:"initiator,omitempty"`
	// Mismatch says where the code of a parked run differs from its history.
	Mismatch *Mismatch `json:"mismatch,omitempty"`
	Stack    string    `json:"stack,omitempty"`
	// Broken says what the code of a parked run did: see view.Wait.
	Broken string `json:"broken,omitempty"`
	// Since is when a run was held, in ns since 1970; 0 if unknown.
	Since int64 `json:"since,omitempty"`
	// Damaged says that part of the record of a parked run cannot be read.
	Damaged bool `json:"damaged,omitempty"`
	// Fingerprint is that of the code that was tried last.
	Fingerprint string `json:"fingerprint,omitempty"`
	// Deaths is how often processes died of the code of a parked run, 0 if it is parked for
	// another reason. An operator may let it go; then Fingerprint is empty.
	Deaths int `json:"deaths,omitempty"`
	// Shared says that these were deaths of several runs, for which the workflow is held as a
	// whole on that build.
	Shared bool `json:"shared,omitempty"`
	// Tried are the fingerprints of code that did not fit, on any node, since code last
	// did.
	Tried []string `json:"tried,omitempty"`
	// Suspect describes attempts to run the code that may have killed their nodes.
	Suspect *Suspicion `json:"suspect,omitempty"`
	// Says is the status text that the code set last.
	Says string `json:"says,omitempty"`
	// Paused says who paused an open run and when.
	Paused *Pause `json:"paused,omitempty"`
	// Pin is the build to which an open run is pinned, empty for none. History holds it
	// too.
	Pin string `json:"pin,omitempty"`
	// Awaited are the names of the signals that a full run waits for. It takes them all the
	// same.
	Awaited []string `json:"awaited,omitempty"`
}

// Suspicion describes a run whose code may have ended processes. Package trial has the same
// type.
type Suspicion struct {
	Deaths int      `json:"deaths,omitempty"` // consecutive deaths with this run alone
	Code   string   `json:"code,omitempty"`   // fingerprint of the code that was tried
	Nodes  []string `json:"nodes,omitempty"`  // IDs of the nodes that died while they tried it

	Workflow string `json:"workflow,omitempty"`
}

// Wake times of a run that waits for no particular time. The store has the same values.
const (
	Hot   int64 = 0
	Never int64 = 1<<63 - 1
)
