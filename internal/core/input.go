package core

import "github.com/perdure/perdure/internal/history"

// Input is something that happened to a run. Step takes a list of them; their
// order is kept in history. Due times are no inputs: the machine sees them by
// itself from the engine time it is given.
type Input interface{ input() }

// Outcome is how an attempt ended.
type Outcome string

// The outcomes, as the ledger shows them.
const (
	Completed Outcome = "completed"
	Failed    Outcome = "failed"
	TimedOut  Outcome = "timed-out"
	Lost      Outcome = "lost"     // its process died, or lost the run to another node
	Drained   Outcome = "drained"  // its process shut down; charges nothing
	Canceled  Outcome = "canceled" // its call was given up
	// RefusedByGate is no attempt: a gate let it not begin, which ended the call.
	RefusedByGate Outcome = "refused"
	// Pending is no end: the body has returned, and the attempt goes on outside.
	Pending Outcome = "pending"
)

// AttemptEnded says that an attempt ended. One for a call that is closed, or for
// an earlier attempt, is dropped and counted.
type AttemptEnded struct {
	Call    int64
	Attempt int
	Outcome Outcome // Completed, Failed, TimedOut, Drained, Canceled or Pending
	Result  history.Payload
	Failure *history.Failure // unless completed
	Ended   int64
	// Began is when the body began, if that was not when the turn said that put the
	// attempt on record: it had no slot yet. 0 otherwise. Unbegun says that the body did
	// not begin: there was no slot in time, or nobody wanted it any more.
	Began   int64
	Unbegun bool

	// Transaction says that the node holds something that belongs into the
	// transaction of the turn which closes the call with this result: see
	// Turn.Transactions.
	Transaction bool

	// Outside says that it was not the body of the attempt that said so: it has
	// returned already, or need not go on.
	Outside bool
}

// Granted says that a slot was reserved for a queued call. If the call no longer
// wants it, Turn.Unused says so. Group is how many suspects run together with a slot of
// the probation lane, 0 of another slot.
type Granted struct {
	Call  int64
	Group int
}

// SlotsOpen says that calls may ask for a slot again which were refused one
// without a place in the queue.
type SlotsOpen struct{}

// TakenOver says that the run was loaded: attempts in flight are lost, except
// those of which the node knows that they are still running. It must be the
// first input after Load.
type TakenOver struct {
	Alive []AttemptRef
	// Survivors are nodes that lost the run but did not die: their losses are
	// held against no call.
	Survivors []string
	// Unheard are nodes of which no more is known than that their lease ran out.
	Unheard []string
	// Excused are nodes that died while the code of the run was tried, perhaps of that:
	// their losses are held against no call either.
	Excused []string
}

// AttemptRef names an attempt of a run.
type AttemptRef struct {
	Call    int64
	Attempt int
}

// OffProbation says that an attempt in the probation lane has run for so long
// that others may enter it.
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
