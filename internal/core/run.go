package core

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/retry"
)

// Config configures the machine of a run.
type Config struct {
	// Node names the process in ledger and history.
	Node string
	// Policy applies to calls without a policy of their own; nil is the zero policy.
	Policy *retry.Policy
	// Retry is the policy that the run's code declares for failed runs, nil for none.
	Retry *retry.Policy
	// MaxHistory limits the events on record, MaxPending the open calls; 0 means no limit.
	MaxHistory, MaxPending int
	// MaxBacklog is how many unread signals make the run full; 0 means no limit.
	MaxBacklog int
	// PerKey is how many runs of a key may run at a time; 0 means no limit. See admission.
	PerKey int
	// Draw returns the u in [0, 1) that jitters the delay after an attempt. It must depend
	// on its arguments only. Nil means Uniform.
	Draw func(run string, call int64, attempt int) float64
	// Owner names the node that owned the run's partition in an epoch.
	Owner func(epoch int64) string
	// Progress, if set, is called before each turn of the code, including replayed ones.
	Progress func()
	// Stopped, if set, reports whether an operator has stopped calls like this one: they
	// get no slot until resumed, and their queue time does not run.
	Stopped func(*Call) bool
	// Lacks, if set, returns why attempts of such calls cannot start here even with a slot,
	// or "". While they cannot, the calls ask for no gates and return the slots they are
	// granted, and their rows have the reason.
	Lacks func(*Call) string
	// Tell says that a hook is called for each call that begins to wait for an operator.
	Tell bool
	// Build pins runs that begin here to a build; empty means that any build may continue
	// them.
	Build string
	// Closings makes turns list the calls that they close, for observers.
	Closings bool
	// Near is how far off a due time may be while the run stays Hot, in ns.
	Near int64
	// Ahead is how long before the end of a backoff its attempt may be recorded, in ns. The
	// caller starts the attempt at Dispatch.Started.
	Ahead int64
	// Unslotted, if set, reports whether an attempt may be recorded without a slot, which
	// it then takes when it begins. Such an attempt is recorded Early before the end of its
	// backoff, in ns. Calls with gates or a queue and calls on probation always need a slot
	// first.
	Unslotted func() bool
	Early     int64
}

// Past is the decoded record of a run, from which its machine is loaded.
type Past struct {
	Start history.Start
	Turns []StoredTurn
	Rows  []Row
	State State

	// Last is the number of the last turn. If the record is damaged, Turns ends earlier.
	Last int64
}

// StoredTurn is a committed turn as Load takes it.
type StoredTurn = history.RecordedTurn

// ErrDeadlock says that the code waits for something that cannot happen, such as a receive
// from a channel that no coroutine sends to.
var ErrDeadlock = errors.New("the workflow's code waits forever: no activity, timer, signal or child is open that could wake it " + see.CodeRules)

// Run is the step machine of one run. It drives the parts of the machine (see parts.go) and
// holds what belongs to none of them. It is not safe for concurrent use. After an error
// from Load or Step it must be dropped.
type Run struct {
	journal   journal
	row       runRow
	ledger    ledger
	calls     callTable
	gating    gating
	attempts  attempts
	signals   signals
	admission admission
	facts     facts
	code      code

	damaged bool    // only part of the record could be read
	strays  []int64 // rows of calls that are not in the readable part
	// codeFirst says that the time of the run is over, and that the code sees in this step
	// what came before.
	codeFirst bool
	spare     *Turn // see Reuse
}

// New makes the machine of a run that has no turn and no code yet. See Bind.
func New(config Config, start history.Start) *Run {
	if config.Draw == nil {
		config.Draw = Uniform
	}
	r := &Run{row: runRow{state: State{Status: StatusRunning, Wake: Hot}}, facts: facts{attributes: start.Attributes}}
	r.journal.config, r.journal.start, r.journal.mustAdvance = config, start, true
	r.calls.byNumber = map[int64]*Call{}
	r.connect()
	r.facts.inherit(start.Carried)
	return r
}

// Bind sets the program of the machine. Programs are usually made from the machine. Call
// Bind before Load and Step.
func (r *Run) Bind(program Program) { r.journal.program = program }

// Load replays turns and applies the rows and the state of a run. It must be the first call
// on a Run that has history. It returns a *Mismatch if the code differs from the history,
// or the program's error if the code panicked.
func (r *Run) Load(turns []StoredTurn, rows []Row, state State) error {
	if err := r.code.replayAll(turns); err != nil {
		return err
	}
	for _, row := range rows {
		if err := r.calls.load(row); err != nil {
			return err
		}
	}
	r.loadRow(state, r.journal.program != nil)
	r.attempts.askSlotsAgain()
	return nil
}

// LoadDamaged is Load for a run whose record can be read only in part. turns are those
// before the damage, and last is the number of the last turn on record. Such a run takes
// only inputs that end it. Nothing falls due and no attempt starts, because what follows
// the damage may have closed any call.
func (r *Run) LoadDamaged(turns []StoredTurn, last int64, rows []Row, state State) error {
	r.damaged = true
	if err := r.code.replayAll(turns); err != nil {
		return err
	}
	r.journal.turn = max(r.journal.turn, last)
	for _, row := range rows {
		if r.calls.load(row) != nil {
			r.strays = append(r.strays, row.Call)
		}
	}
	r.loadRow(state, false)
	return nil
}

// loadRow takes over what only the row of the run holds.
func (r *Run) loadRow(state State, withCode bool) {
	r.row.load(state, withCode)
	r.admission.ticket = cmp.Or(r.row.admission, r.admission.ticket)
}

// Place returns the next place in the order of the run, from 1. It orders what becomes ready
// for the code, and is the same in every replay. What the code makes ready while it runs has
// one place.
func (r *Run) Place() int64 { return r.journal.nextPlace() }

// Self returns the start event as the code sees it. A run that was reset or forked has the
// identity of the run whose history it continues, up to the call at which its own history
// begins.
func (r *Run) Self() history.Start {
	s := r.journal.start
	if s.Base != nil {
		was := r.journal.identity(r.calls.lastCall + 1)
		s.WorkflowID, s.Run, s.Attempt = was.WorkflowID, was.Run, was.Attempt
		s.Created, s.FirstTurn, s.ChainDeadline = was.Created, was.FirstTurn, was.ChainDeadline
	}
	return s
}

// Start returns the run's start event.
func (r *Run) Start() history.Start { return r.journal.start }

// Began returns Start without a copy. It is read-only.
func (r *Run) Began() *history.Start { return &r.journal.start }

// Now returns the time of the current turn, in ns since 1970.
func (r *Run) Now() int64 { return r.journal.now }

// NextCall returns the number of the next call.
func (r *Run) NextCall() int64 { return r.calls.lastCall + 1 }

// Jitter returns the jitter draw for an attempt of a call.
func (r *Run) Jitter(call int64, attempt int) float64 { return r.journal.jitter(call, attempt) }

// DefaultPolicy returns the policy of calls without a policy of their own, nil for the zero
// policy.
func (r *Run) DefaultPolicy() *retry.Policy { return r.journal.config.Policy }

// CancelRequested reports whether the run was asked to cancel.
func (r *Run) CancelRequested() bool { return r.journal.cancellation.requested }

// CallID returns the external name of a call. A call that an earlier run of the workflow
// began, and that was started again after a reset, keeps the name it had there; so does a call
// that is made again, if whoever asked for the reset or fork said so.
func (r *Run) CallID(call int64, name string) string {
	return CallID(keyRun(&r.journal.start, call, name), call)
}

// AttemptIDs returns the external names of a call and of one of its attempts.
func (r *Run) AttemptIDs(call int64, name string, attempt int) (ofCall, ofAttempt string) {
	ofAttempt = AttemptID(r.journal.start.Run, call, attempt)
	if r.journal.start.Base != nil {
		return r.CallID(call, name), ofAttempt
	}
	return ofAttempt[:strings.LastIndexByte(ofAttempt, '.')], ofAttempt // shares the string of ofAttempt
}

// AwaitsEnd reports whether the end of an attempt is still to come. That includes an
// offered attempt whose claim has not arrived.
func (r *Run) AwaitsEnd(a AttemptRef) bool {
	c := r.calls.byNumber[a.Call]
	return c != nil && c.attempt == a.Attempt && (inFlight(c.state) || c.state == Offered)
}

// Length returns the number of recorded events, not counting the start event.
func (r *Run) Length() int { return r.journal.length }

// Backlog returns the number of signals that the code has not read.
func (r *Run) Backlog() int { return r.signals.backlog }

// Ended reports whether the run is closed.
func (r *Run) Ended() bool { return r.facts.ended }

// Idle reports whether the run can be evicted: no attempt runs or waits for a slot, and no
// hook is still to be called for a pause.
func (r *Run) Idle() bool { return r.calls.busy == 0 && r.calls.unnotified == 0 }

// AwaitsSlots reports whether everything in flight is a call that waits for a slot. Such
// calls have rows.
func (r *Run) AwaitsSlots() bool {
	return r.calls.queued > 0 && r.calls.busy == r.calls.queued && r.calls.unnotified == 0
}

// Lack is an activity and why its calls cannot start here.
type Lack struct{ Activity, Why string }

// Compare orders lacks.
func (l Lack) Compare(other Lack) int {
	return cmp.Or(cmp.Compare(l.Activity, other.Activity), cmp.Compare(l.Why, other.Why))
}

// NotRegistered is what Config.Lacks returns of a call whose activity the node does not have.
const NotRegistered = "its activity is not registered"

// Unserved returns, sorted, what Config.Lacks said of calls that are queued therefore.
func (r *Run) Unserved() []Lack {
	if len(r.calls.unserved) == 0 {
		return nil // without the iterator's allocations: every turn asks
	}
	return slices.SortedFunc(maps.Keys(r.calls.unserved), Lack.Compare)
}

// AwaitsMessage reports whether the code waits for a signal, for another run, or to begin. A message
// may then come soon, however far off the next due time is.
func (r *Run) AwaitsMessage() bool {
	if r.calls.childCalls > 0 || r.calls.inQueues > 0 || r.admission.waits() {
		return true
	}
	for _, m := range r.signals.byName {
		if len(m.waiting) > 0 {
			return true
		}
	}
	return false
}

// Damaged reports whether only a part of the run's record could be read.
func (r *Run) Damaged() bool { return r.damaged }

// State returns the state of the run's row after the last step.
func (r *Run) State() State { return r.row.state }

// Say sets the status text of the run. It is not a command and not in history: code that
// replays sets the same text again. The text is part of the run's row, which is written
// only if the text differs.
func (r *Run) Say(text string) { r.row.says = text }

// Says returns the status text in the run's row.
func (r *Run) Says() string { return r.row.writtenSays }

// Pin returns the build to which the run is pinned, empty for none.
func (r *Run) Pin() string { return r.row.pin }

// Awaited returns the names in the run's row of signals that it takes although it is full.
func (r *Run) Awaited() []string { return r.row.awaited }

// OnRecord reports whether the record holds the command that the code issues now. Code that
// reaches the end of a cut turn continues with the next turn, or goes live.
func (r *Run) OnRecord() bool { return r.code.onRecord() }

// Replaying reports whether the code repeats recorded commands.
func (r *Run) Replaying() bool { return r.code.replaying }
