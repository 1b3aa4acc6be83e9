package core

import "github.com/perdure/perdure/internal/history"

// A Run is made of parts, each with its own state and one reason to change. A part embeds
// the part below it, so it can use what is below and nothing that is above:
//
//	Run         takes inputs, conducts the code, replays, closes the run
//	operations  what people ask of calls        children  runs that this one starts
//	signals     received and awaited            runRetry  the policy of the run itself
//	execution   the life of attempts: slots, failures, backoff, pauses, losses
//	gating      what calls have and ask for at their gates
//	callTable   the open calls, their states, due times and rows
//	ledger      records of attempts, summaries and tallies
//	journal     the turn being made: who the run is, the time, what goes on record

// journal is the turn being made, and what all parts know of the run.
type journal struct {
	config  Config
	start   history.Start
	program Program // nil: the code is missing or parked

	now   int64 // engine time of the current turn
	turn  int64 // number of the last turn
	epoch int64 // under which the last loaded turn was committed
	out   *Turn // the turn being made, nil in a replay

	// later is what came behind the cut in the turns that are replayed, and takes effect
	// when the code has come to their end.
	later []history.Event

	mustAdvance bool   // something happened that the code can see
	paused      *Pause // why the code does not go on and no attempt starts, nil if it is not paused
	cancellation
}

// cancellation is a request to cancel the run.
type cancellation struct {
	requested bool
	reason    string
	untold    bool // the code does not know yet
}

// ledger keeps what happened to attempts for those who ask later.
type ledger struct {
	journal
	uncounted uncounted
}

// callTable holds the open calls.
type callTable struct {
	ledger
	calls      map[int64]*Call  // open
	opened     *Call            // by the last event that opened one
	blocks     map[int64]*Block // of code, that it has not left
	lastCall   int64
	busy       int // open calls that are dispatched or queued
	queued     int // open calls that are queued
	untold     int // open calls that wait for a person who was not told
	outside    int // open calls that are external, offered or remote
	inQueues   int // open calls that are offered or remote
	childCalls int // open calls of runs that this one started
	dues       dueHeap
	dirty      []*Call // calls whose row may change
	offered    []*Call // calls that this step puts into their queues
}

// gating asks for gates and gives them up.
type gating struct{ callTable }

// execution is the life of the attempts of activity calls and inline steps.
type execution struct {
	gating
	asked    idSet   // IDs of operations
	ready    []*Call // calls that want a slot
	reserved []*Call // queued calls for which one is reserved
}

// operations carries out what people ask of calls.
type operations struct{ *execution }

// children starts runs and learns what becomes of them.
type children struct{ *execution }

// signals holds what was received, and the calls that await it.
type signals struct {
	*execution
	byName  map[string]*mailbox
	backlog int     // signals not received yet, of all names
	unread  []*Call // receptions of signals that came since the code ran last
	seen    idSet   // IDs of signals
}

// runRetry is what the policy of the run says of the end of a run.
type runRetry struct{ *journal }
