package core

import (
	"errors"

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
type StoredTurn struct {
	Number int64
	Epoch  int64
	Time   int64
	Events []history.Event
}

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

	length int // events in history before the current turn

	versions          map[string]int    // by change name, as the code asked for them
	updates           dedup[acceptance] // by ID
	chainOperationIDs idSet             // IDs of operations on the run and on earlier runs of its chain
	attributes        map[string]string // never modified: a change replaces the map

	updatable bool // the code has an update handler
	codeRan   bool // at least once
	ended     bool
	damaged   bool // only part of the record could be read
	replaying bool
	// codeFirst says that the time of the run is over, and that the code sees in this step
	// what came before.
	codeFirst bool

	strays []int64 // rows of calls that are not in the readable part

	// The record of the turn that is being replayed.
	expected  []history.Event
	position  int
	mismatch  *Mismatch
	rejoining rejoining

	spare *Turn // see Reuse
}

// New makes the machine of a run that has no turn and no code yet. See Bind.
func New(config Config, start history.Start) *Run {
	if config.Draw == nil {
		config.Draw = Uniform
	}
	r := &Run{
		attributes: start.Attributes,
		row:        runRow{state: State{Status: StatusRunning, Wake: Hot}},
	}
	r.journal.config, r.journal.start, r.journal.mustAdvance = config, start, true
	r.calls.byNumber = map[int64]*Call{}
	r.connect()
	r.inherit(start.Carried)
	return r
}

// Bind sets the program of the machine. Programs are usually made from the machine. Call
// Bind before Load and Step.
func (r *Run) Bind(program Program) { r.journal.program = program }
