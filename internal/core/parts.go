package core

import (
	"slices"

	"github.com/perdure/perdure/internal/heap"
	"github.com/perdure/perdure/internal/history"
)

// A Run is made of parts, each with its own state and one reason to change. A part has
// pointers to the parts below it that it uses, and knows nothing of those above: it tells them
// what it did by what it returns, and by the turn that it fills.
//
//	Run         takes inputs and the commands of the code, lets time pass, closes the run
//	operations  operators' requests on calls and on the run
//	blocks      blocks of code that the code retries
//	code        runs the code, replays it and compares it with the record
//	facts       what events say of the run as a whole, and what its successor gets of it
//	children    runs that this one starts
//	signals     received and awaited            retries   the retry policy of the run itself
//	attempts    the life of attempts: slots, failures, backoff, pauses, losses
//	admission   whether the code may begin, if its key bounds that
//	gating      the position of calls at their gates
//	calls       the open calls, their states, due times and rows
//	ledger      records of attempts, summaries and tallies
//	row         the row of the run
//	journal     the turn being made: the run's identity, the time, the events to record

// journal is the turn being made, and what all parts share about the run.
type journal struct {
	config  Config
	start   history.Start
	program Program // nil: the code is missing or parked

	now int64 // engine time of the current turn
	// moment is how far the step has come: see passTime.
	moment int64
	turn   int64 // number of the last turn
	length int   // events in history before the current turn
	epoch  int64 // epoch under which the last loaded turn was committed
	out    *Turn // the turn being made; nil in a replay

	// afterCut holds the events after the cut in replayed turns. They take effect when the
	// code reaches the end of those turns.
	afterCut []history.Event

	place     int64      // the last result of Place
	codePlace int64      // the place of what the running code does, 0 if it does not run
	lastTimer timerPlace // the timer with that place, if it is one

	mustAdvance bool      // something happened that the code can see
	paused      *Pause    // set while the code must not run and no attempt may start
	mismatch    *Mismatch // the first difference between the code and the record

	cancellation cancellation
}

// cancellation is a request to cancel the run.
type cancellation struct {
	requested bool
	untold    bool // the code has not been told
	fresh     bool // the step in progress takes it
	reason    string
	at        int64 // its moment, in the step that takes it
}

// timerPlace is a timer that has fired.
type timerPlace struct{ place, turn, due int64 }

// Program is the code of a run as the machine sees it. The code calls the command methods
// of its Run only while Advance runs.
type Program interface {
	// Advance runs the code until all of it waits or it has ended. An error means that the
	// code panicked.
	Advance() error
	// CancelComes says where in history the request to cancel the run stands. The code issues
	// no command for it before Canceled.
	CancelComes(reason string)
	// Canceled tells the code that the run was asked to cancel. It is called once, right
	// before an Advance.
	Canceled(reason string)
	// Validate returns why an update is not accepted, or nil. It is called between two
	// turns of the code and changes nothing.
	Validate(update string, input history.Payload) error
	// Accept makes the handler of an update begin first in the next Advance. It returns
	// false if there is no handler.
	Accept(id, update string, input history.Payload) bool
	// Unread returns the calls that received a signal which the code has not read. It is
	// called when the run continues as new.
	Unread() []*Call
	// Halt stops the code from inside a command for good. It does not return.
	Halt()
}

// ledger records what happened to attempts.
type ledger struct {
	journal   *journal
	uncounted uncounted
}

// callTable holds the open calls.
type callTable struct {
	journal *journal

	byNumber   map[int64]*Call  // the open calls
	opened     *Call            // opened by the last event that opened a call
	blocks     map[int64]*Block // blocks that the code has not left
	lastCall   int64
	busy       int          // open calls that are dispatched or queued
	queued     int          // open calls that are queued
	unnotified int          // open calls that wait for an operator who was not told
	inQueues   int          // open calls that are offered or remote
	childCalls int          // open calls that started a run
	unserved   map[Lack]int // queued calls that cannot start on this node
	dues       heap.Heap[due]
	dirty      []*Call // calls whose row may change
	offered    []*Call // calls that this step puts into their queues
}

// gating asks for gates and gives them up.
type gating struct {
	journal *journal
	calls   *callTable
}

// attempts runs the attempts of activity calls and inline steps.
type attempts struct {
	journal *journal
	ledger  *ledger
	calls   *callTable
	gating  *gating

	operationIDs idSet   // IDs of operations on calls
	ready        []*Call // calls that want a slot
	reserved     []*Call // queued calls that have a reserved slot
}

// children starts runs and receives their outcomes.
type children struct{ *attempts }

// signals holds the received signals and the calls that await one.
type signals struct {
	journal  *journal
	attempts *attempts

	byName  map[string]*mailbox
	backlog int     // signals that no call has received yet, over all names
	unread  []*Call // calls that received a signal since the code last ran
	ids     idSet   // IDs of signals
}

// runRetry applies the retry policy of the run itself.
type runRetry struct{ journal *journal }

// facts is what the events of a run say of the run as a whole. Applying an event changes this and
// the parts below.
type facts struct {
	journal   *journal
	row       *runRow
	ledger    *ledger
	calls     *callTable
	attempts  *attempts
	signals   *signals
	admission *admission

	versions          map[string]int    // by change name, as the code asked for them
	updates           dedup[acceptance] // by ID
	chainOperationIDs idSet             // IDs of operations on the run and on earlier runs of its chain
	attributes        map[string]string // never modified: a change replaces the map
	ended             bool
}

// code runs the code of a run, and compares its commands with the record while that has them.
type code struct {
	journal  *journal
	ledger   *ledger
	calls    *callTable
	attempts *attempts
	signals  *signals
	facts    *facts

	ran       bool            // at least once
	updatable bool            // it has an update handler
	replaying bool            // the record has its commands
	expected  []history.Event // the commands of the recorded turn
	position  int             // of the next one
	rejoining rejoining
}

// operations carries out operations on calls and on the run.
type operations struct{ *facts }

// connect gives the parts that have a state those below them.
func (r *Run) connect() {
	j, l, t, g, a := &r.journal, &r.ledger, &r.calls, &r.gating, &r.attempts
	l.journal, t.journal = j, j
	g.journal, g.calls = j, t
	a.journal, a.ledger, a.calls, a.gating = j, l, t, g
	r.signals.journal, r.signals.attempts = j, a
	r.admission.journal, r.admission.gating = j, g
	f, k := &r.facts, &r.code
	f.journal, f.row, f.ledger, f.calls, f.attempts, f.signals, f.admission = j, &r.row, l, t, a, &r.signals, &r.admission
	k.journal, k.ledger, k.calls, k.attempts, k.signals, k.facts = j, l, t, a, &r.signals, f
}

// The other parts have no state of their own, and see what the part has that they stand on.
func (f *facts) children() children   { return children{f.attempts} }
func (f *facts) retries() runRetry    { return runRetry{f.journal} }
func (r *Run) operations() operations { return operations{&r.facts} }

// nextPlace returns the next place in the order of the run. See Run.Place.
func (j *journal) nextPlace() int64 {
	if j.codePlace != 0 {
		return j.codePlace
	}
	j.place++
	return j.place
}

// currentTurn returns the number of the turn in which the code runs.
func (j *journal) currentTurn() int64 {
	if j.out != nil {
		return j.turn + 1
	}
	return j.turn
}

// jitter returns the draw that jitters the delay after an attempt of a call.
func (j *journal) jitter(call int64, attempt int) float64 {
	return j.config.Draw(j.identity(call).Run, call, attempt)
}

// append adds an event to the turn being made.
func (j *journal) append(e history.Event) {
	j.out.Events = append(j.out.Events, e)
}

// send adds a message to the turn being made. A replay sends nothing.
func (j *journal) send(m Message) {
	if j.out != nil {
		j.out.Messages = append(j.out.Messages, m)
	}
}

// identity returns the identity under which the run made a call.
func (j *journal) identity(call int64) history.Identity {
	s := &j.start
	if s.Base != nil && call > 0 {
		for _, was := range s.Base.Was {
			if call < was.Before {
				return was
			}
		}
	}
	return identityOf(s)
}

// ofOtherChain reports whether a request is for another chain than this one, which had the
// workflow ID before or was meant to get it.
func (j *journal) ofOtherChain(chain string) bool { return chain != "" && chain != j.start.Chain }

// endsAfterCut reports whether a call ended in the run whose history this one continues,
// and its end has not taken effect yet. If the code gives the call up or the run ends
// first, that end comes too late, but the node that ran the attempts has counted the call.
func (j *journal) endsAfterCut(call int64) bool {
	return slices.ContainsFunc(j.afterCut, func(e history.Event) bool { return e.Call == call })
}
