package core

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/perdure/perdure/internal/history"
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
	// Draw returns the u in [0, 1) that jitters the delay after an attempt. It must depend
	// on its arguments only. Nil means the function Draw.
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
var ErrDeadlock = errors.New("the workflow's code waits forever: no activity, timer, signal or child is open that could wake it")

// Run is the step machine of one run. It drives the parts of the machine (see parts.go) and
// holds what belongs to none of them. It is not safe for concurrent use. After an error
// from Load or Step it must be dropped.
type Run struct {
	journal    journal
	row        runRow
	ledger     ledger
	calls      callTable
	gating     gating
	attempts   attempts
	operations operations
	children   children
	signals    signals
	retries    runRetry

	length int // events in history before the current turn

	versions   map[string]int    // by change name, as the code asked for them
	updates    recent[place]     // by ID
	done       idSet             // IDs of operations on the run and on earlier runs of its chain
	attributes map[string]string // never modified: a change replaces the map

	updatable bool // the code has an update handler
	codeRan   bool // at least once
	ended     bool

	damaged bool    // only part of the record could be read
	strays  []int64 // rows of calls that are not in the readable part

	// The record of the turn that is being replayed.
	replaying bool
	expected  []history.Event
	position  int
	mismatch  *Mismatch
	rejoining rejoining

	// codeFirst says that the time of the run is over, and that the code sees in this step
	// what came before.
	codeFirst bool

	spare *Turn // see Reuse
}

// New makes the machine of a run that has no turn and no code yet. See Bind.
func New(config Config, start history.Start) *Run {
	if config.Draw == nil {
		config.Draw = Draw
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

// Load replays turns and applies the rows and the state of a run. It must be the first call
// on a Run that has history. It returns a *Mismatch if the code differs from the history,
// or the program's error if the code panicked.
func (r *Run) Load(turns []StoredTurn, rows []Row, state State) error {
	if err := r.replayAll(turns); err != nil {
		return err
	}
	for _, row := range rows {
		c, ok := r.calls.byNumber[row.Call]
		if !ok && r.calls.keepsRow(row.Call) {
			continue
		}
		if !ok {
			return history.Damaged(fmt.Sprintf("the row of call %d", row.Call), errors.New("no call of its number is open in history"))
		}
		if err := r.calls.restore(c, row); err != nil {
			return err
		}
	}
	r.row.load(state, r.journal.program != nil)
	for _, n := range r.calls.openNumbers() {
		if c := r.calls.byNumber[n]; c.state == Queued {
			r.attempts.ready = append(r.attempts.ready, c)
		}
	}
	return nil
}

func (t *callTable) openNumbers() []int64 {
	if len(t.byNumber) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(t.byNumber))
}

func (r *Run) advance() error {
	r.journal.codePlace = r.Place()
	defer func() { r.journal.codePlace = 0 }()
	if r.journal.cancellation.untold {
		r.journal.cancellation.untold, r.journal.cancellation.fresh = false, false
		r.journal.program.Canceled(r.journal.cancellation.reason)
		if r.mismatch != nil {
			return r.mismatch // report the first difference
		}
	}
	if r.mismatch != nil {
		return r.mismatch // there is no handler for an update
	}
	if r.journal.config.Progress != nil {
		r.journal.config.Progress()
	}
	err := r.journal.program.Advance()
	r.journal.mustAdvance, r.codeRan = false, true
	r.signals.unread = nil
	if r.mismatch != nil {
		return r.mismatch
	}
	return err
}

// Step advances the run to now. It takes the inputs in order, skipping nil ones, and what is
// due between their moments, and then runs the code. The caller passes the inputs in the
// order of their moments (see Timed). It calls admit for each attempt that could start. If
// admit returns true, a slot is reserved or the attempt takes one when it begins (see
// Config.Unslotted); otherwise the call stays queued.
func (r *Run) Step(now int64, inputs []Input, admit func(*Call) bool) (*Turn, error) {
	r.journal.now = max(r.journal.now, now)
	if r.journal.out, r.spare = r.spare, nil; r.journal.out == nil {
		r.journal.out = &Turn{Events: make([]history.Event, 0, usualTurn)}
	}
	r.journal.out.Time = r.journal.now
	if r.damaged {
		r.stepDamaged(inputs)
	} else if err := r.stepWhole(inputs); err != nil {
		return nil, err
	} else {
		r.attempts.admitReady(admit, r.codeFirst)
	}
	r.calls.writeRows()
	r.attempts.handOut()
	r.settle()
	if len(r.journal.out.Events) > 0 {
		r.catchUp()
	}
	out := r.journal.out
	r.journal.out = nil
	if len(out.Events) > 0 {
		r.length += len(out.Events)
		r.journal.turn++
		out.Number = r.journal.turn
	}
	return out, nil
}

func (r *Run) step() error {
	if !r.codeRan {
		r.pinBegin()
	}
	before := len(r.journal.out.Events)
	resuming := before == 0
	if err := r.advance(); err != nil {
		return err
	}
	if !r.ended && len(r.calls.byNumber) == 0 && !r.updatable {
		return ErrDeadlock
	}
	if resuming && (len(r.journal.out.Events) == 0 || r.journal.turn > 0) {
		// No event says that the code ran here, so record it before the events it caused.
		r.journal.out.Events = slices.Insert(r.journal.out.Events, 0, history.Event{Kind: history.CodeAdvanced})
	}
	return nil
}

// happened records an event and applies it.
func (r *Run) happened(e history.Event) {
	r.journal.emit(e)
	r.apply(&e)
}

// Takes reports whether the run can take an input in the next step. A run that rejoins its
// history takes nothing before its code has rejoined; without code it can only be ended. An
// update needs code that can validate it, unless it is already on record. The end of an
// attempt from a queue waits for the message that the attempt was claimed.
func (r *Run) Takes(in Input) bool {
	if r.damaged {
		return endsDamaged(in)
	}
	switch in := in.(type) {
	case TakenOver:
		return true
	case AttemptEnded:
		return !r.Rejoins() && !(in.Outside && r.calls.unclaimed(in))
	case UpdateArrived:
		_, known := r.updates.get(in.ID)
		return !r.Rejoins() && (known || r.judgesUpdates())
	case Control:
		ends := in.Operation == TerminateTheRun || in.Operation == ResetTheRun && in.Cut != nil
		return !r.Rejoins() || r.journal.program == nil && ends && !r.done.has(in.ID)
	}
	return !r.Rejoins()
}

// take handles one input.
func (r *Run) take(in Input) {
	switch in := in.(type) {
	case AttemptEnded:
		r.attempts.attemptEnded(in)
	case Heartbeat:
		r.attempts.heartbeat(in)
	case Granted:
		r.attempts.granted(in)
	case OffProbation:
		r.attempts.offProbation(in)
	case Claimed:
		r.attempts.claimed(in)
	case WorkerGone:
		r.attempts.workerGone(in)
	case TakenOver:
		r.attempts.takenOver(in)
	case FromGate:
		r.attempts.fromGate(in)
	case SlotsOpen:
		r.attempts.askAgain()
	case UpdateArrived:
		r.update(in)
	case Control:
		switch {
		case r.attempts.asked.has(in.ID):
			r.journal.out.Dropped++
		case in.Operation.OfRun():
			r.controlRun(in)
		default:
			r.operations.carryOut(in)
		}
	case Told:
		r.calls.told(in)
	case FromChild:
		r.children.ended(in)
	}
}

// refuse drops an input of a closed run. It returns false if the next run of the chain may
// take the input.
func (r *Run) refuse(in Input) bool {
	switch in := in.(type) {
	case UpdateArrived:
		return false
	case Granted:
		r.journal.out.Dropped++
		r.journal.out.Unused = append(r.journal.out.Unused, in.Call)
	case FromGate:
		r.gating.decline(in)
	default:
		if r.journal.out.Next != nil {
			return false
		}
		r.journal.out.Dropped++
	}
	return true
}

// settle computes the state of the run's row at the end of a step.
func (r *Run) settle() {
	wake, full := Never, r.row.state.Full
	var awaited []string
	if !r.ended && !r.damaged {
		if full = r.signals.full(full); full {
			awaited = r.signals.awaited()
		}
	}
	r.row.show(r.ended, r.journal.paused, awaited)
	if !r.ended && !r.damaged {
		wake = r.wakeAfterStep()
	}
	if r.row.stateChanged || wake != r.row.state.Wake || full != r.row.state.Full || r.journal.out.Ended {
		r.row.stateChanged = false
		r.row.state.Wake, r.row.state.Full = wake, full
		next := r.row.state
		r.journal.out.State = &next
	}
}

// wakeAfterStep returns the wake time for the row. A row may stay Hot while the run waits
// only for a near time, which saves writes. A run that was in line leaves the line.
func (r *Run) wakeAfterStep() int64 {
	due := r.NextDue()
	if due != Never && len(r.calls.dues) > 0 && r.calls.dues[0].at == due {
		due = min(r.calls.dues[0].call.due, r.Deadline()) // readers of the row want the due time, not the earlier look
	}
	switch {
	case r.calls.busy > 0 || r.calls.untold > 0 || r.journal.out.Again:
		return Hot
	case due != Never && due-r.journal.now <= r.journal.config.Near && r.row.state.Wake >= Hot && r.row.state.Wake <= due:
		return r.row.state.Wake
	}
	return due
}

// NextDue returns when the run must be stepped if no input comes, or Never.
func (r *Run) NextDue() int64 {
	if r.ended || r.damaged {
		return Never
	}
	due := min(r.firstDue(), r.Deadline())
	if r.Rejoins() {
		return due
	}
	return min(due, r.calls.nextDue(), r.signals.roomAt(r.row.state.Full))
}

// firstTurn returns the time before which the code must not run.
func (r *Run) firstTurn() int64 {
	if r.codeRan {
		return 0
	}
	return r.journal.start.FirstTurn
}

// firstDue returns when the code first runs, or Never if it need not wait for a time.
func (r *Run) firstDue() int64 {
	if at := r.firstTurn(); at > r.journal.now && r.journal.program != nil {
		return at
	}
	return Never
}

// Ended reports whether the run is closed.
func (r *Run) Ended() bool { return r.ended }

// Idle reports whether the run can be evicted: no attempt runs or waits for a slot, and no
// hook is still to be called for a pause.
func (r *Run) Idle() bool { return r.calls.busy == 0 && r.calls.untold == 0 }

// AwaitsSlots reports whether everything in flight is a call that waits for a slot. Such
// calls have rows.
func (r *Run) AwaitsSlots() bool {
	return r.calls.queued > 0 && r.calls.busy == r.calls.queued && r.calls.untold == 0
}

// NotRegistered is what Config.Lacks returns of a call whose activity the node does not have.
const NotRegistered = "its activity is not registered"

// Lack is an activity and why its calls cannot start here.
type Lack struct{ Activity, Why string }

// Compare orders lacks.
func (l Lack) Compare(other Lack) int {
	return cmp.Or(cmp.Compare(l.Activity, other.Activity), cmp.Compare(l.Why, other.Why))
}

// Unserved returns, sorted, what Config.Lacks said of calls that are queued therefore.
func (r *Run) Unserved() []Lack {
	if len(r.calls.unserved) == 0 {
		return nil // without the iterator's allocations: every turn asks
	}
	return slices.SortedFunc(maps.Keys(r.calls.unserved), Lack.Compare)
}

// AwaitsMessage reports whether the code waits for a signal or for another run. A message
// may then come soon, however far off the next due time is.
func (r *Run) AwaitsMessage() bool {
	if r.calls.childCalls > 0 || r.calls.inQueues > 0 {
		return true
	}
	for _, m := range r.signals.byName {
		if len(m.waiting) > 0 {
			return true
		}
	}
	return false
}
