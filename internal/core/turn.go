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
	Closed   []int64  // rows that are deleted, by number
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
	Dispatch []Dispatch
	// Interrupt are attempts that are asked to end, or whose result is no longer wanted.
	Interrupt []AttemptRef
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
	*t = Turn{Events: reuse(t.Events), Dispatch: reuse(t.Dispatch), Closings: reuse(t.Closings)}
}

func reuse[T any](list []T) []T {
	if cap(list) > maxSpare {
		return nil
	}
	clear(list)
	return list[:0]
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

	// Leased says that the attempt would not simply be repeated if it was lost, so its body must
	// not act when others may take it for lost.
	Leased           bool          `json:",omitzero"`
	AttemptTimeout   time.Duration `json:",omitzero"` // 0: none
	HeartbeatTimeout time.Duration `json:",omitzero"` // 0: none
	// Details are those of the last heartbeat of an earlier attempt.
	Details history.Payload `json:",omitzero"`
	// Doubt says that the execution is a question, and about which attempt; nil for an attempt.
	Doubt *Doubt `json:",omitzero"`
	// VerifyBy is the activity that answers the question, nil for the activity itself.
	VerifyBy *history.VerifyBy `json:",omitzero"`
}

// Question returns which question about an attempt it is, from 1; 0 for an attempt.
func (d *Dispatch) Question() int {
	if d.Doubt == nil {
		return 0
	}
	return d.Doubt.Question
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
	InDoubt     CallState = "in-doubt" // an attempt may have had its effect: a person decides

	TicketWaiting CallState = "#waiting"
	TicketHolding CallState = "#holding"
	TicketResting CallState = "#resting"
	GateShare     CallState = "#share"   // what a gate remembers of a run key
	GateTripped   CallState = "#tripped" // the same, of one whose own breaker is not closed
)
