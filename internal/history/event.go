package history

import (
	"github.com/perdure/perdure/internal/gates"
	"time"

	"github.com/perdure/perdure/retry"
)

// Kind says what an event is.
type Kind string

// Kinds of inputs: what happened to the run. A turn begins with them.
const (
	// AttemptStarted stands before the event that closes its call; attempts that
	// led to another one leave nothing in history (they are in the ledger).
	AttemptStarted     Kind = "AttemptStarted"
	CallCompleted      Kind = "CallCompleted"
	CallFailed         Kind = "CallFailed"
	CallCanceled       Kind = "CallCanceled"
	TimerFired         Kind = "TimerFired"
	SignalReceived     Kind = "SignalReceived"
	RunCancelRequested Kind = "RunCancelRequested"
	RunTerminated      Kind = "RunTerminated"
	// RunTimedOut closes a run whose time, or that of its chain, was up.
	RunTimedOut Kind = "RunTimedOut"
	// CallControlled is an operation on an open call: what a person asked for and
	// what came of it, or that the engine paused the call until a person decides.
	// All of them together are the audit of a run.
	CallControlled Kind = "CallControlled"
	// RunControlled is an operation on the run as a whole: what a person asked for
	// and what came of it. What it leads to follows in the same turn.
	RunControlled Kind = "RunControlled"
	// UpdateAccepted says that an update was asked for and passed its validator: its
	// handler begins with this turn.
	UpdateAccepted Kind = "UpdateAccepted"
	// CodeAdvanced marks a turn in which the code ran although nothing else of
	// the turn says so.
	CodeAdvanced Kind = "CodeAdvanced"
	// CodeDeferred ends a turn in which the code could not run (it is missing or
	// parked): it sees the turn's inputs in the next turn in which it runs.
	CodeDeferred Kind = "CodeDeferred"
	// RunPinned says that the run stays on the build with which its code began, of which
	// Name is the name.
	RunPinned Kind = "RunPinned"
)

// Kinds of commands: what the run's code asked for.
const (
	ActivityScheduled   Kind = "ActivityScheduled"
	StepScheduled       Kind = "StepScheduled"
	TimerStarted        Kind = "TimerStarted"
	TimerCanceled       Kind = "TimerCanceled"
	CallCancelRequested Kind = "CallCancelRequested"
	SideEffectRecorded  Kind = "SideEffectRecorded"
	// VersionMarked says which version of a change the code has in this run.
	VersionMarked Kind = "VersionMarked"
	// BlockStarted begins a block of code that is retried by Policy. The timers of the
	// block name it.
	BlockStarted Kind = "BlockStarted"
	// CallRefused stands in the place of a call, of which Note is the kind, that the
	// code began when it had as many as it may have.
	CallRefused   Kind = "CallRefused"
	SignalAwaited Kind = "SignalAwaited"
	SignalSent    Kind = "SignalSent"
	// ChildScheduled starts a run and waits for its result; DetachedScheduled starts
	// one and waits only until it is known that it exists.
	ChildScheduled    Kind = "ChildScheduled"
	DetachedScheduled Kind = "DetachedScheduled"
	// AttributeSet gives the run an attribute, of which Input is the value, and
	// AttributeRemoved takes one away.
	AttributeSet     Kind = "AttributeSet"
	AttributeRemoved Kind = "AttributeRemoved"
	// UpdateCompleted is the answer of the handler of an update.
	UpdateCompleted Kind = "UpdateCompleted"
	RunCompleted    Kind = "RunCompleted"
	RunFailed       Kind = "RunFailed"
	RunCanceled     Kind = "RunCanceled"
	// RunContinued closes a run that another one of its chain goes on for: as its
	// code asked for, or because it failed and is retried.
	RunContinued Kind = "RunContinued"
)

// Initiators of a run that follows another one in its chain. See also FiredBySchedule
// and ResetOfRun.
const (
	ContinueAsNew = "continue-as-new"
	RetryOfRun    = "retry"
)

// RunStarted is the kind of the start event, which stands before the first turn.
const RunStarted Kind = "RunStarted"

// Command reports whether events of this kind are commands.
func (k Kind) Command() bool {
	switch k {
	case ActivityScheduled, StepScheduled, TimerStarted, TimerCanceled, CallCancelRequested,
		SideEffectRecorded, VersionMarked, BlockStarted, CallRefused, SignalAwaited, SignalSent, ChildScheduled, DetachedScheduled, AttributeSet, AttributeRemoved, UpdateCompleted,
		RunCompleted, RunFailed, RunCanceled, RunContinued:
		return true
	}
	return false
}

// kinds are all but RunStarted, which is no event of a turn.
var kinds = func() map[string]Kind {
	all := map[string]Kind{}
	for _, k := range []Kind{
		AttemptStarted, CallCompleted, CallFailed, CallCanceled, TimerFired, SignalReceived, RunCancelRequested, RunTerminated, RunTimedOut,
		CallControlled, RunControlled, UpdateAccepted, CodeAdvanced, CodeDeferred, RunPinned,
		ActivityScheduled, StepScheduled, TimerStarted, TimerCanceled, CallCancelRequested, SideEffectRecorded, VersionMarked, BlockStarted, CallRefused,
		SignalAwaited, SignalSent, ChildScheduled, DetachedScheduled, AttributeSet, AttributeRemoved, UpdateCompleted,
		RunCompleted, RunFailed, RunCanceled, RunContinued,
	} {
		all[string(k)] = k
	}
	return all
}()

// known reports whether this version knows events of the kind.
func (k Kind) known() bool {
	_, is := kinds[string(k)]
	return is
}

// Terminal reports whether events of this kind end their run.
func (k Kind) Terminal() bool {
	switch k {
	case RunCompleted, RunFailed, RunCanceled, RunTerminated, RunTimedOut, RunContinued:
		return true
	}
	return false
}

// Event is one entry of a history. Which fields are set depends on Kind; all
// times are engine time in nanoseconds since 1970.
type Event struct {
	Kind Kind  `json:"kind"`
	Call int64 `json:"call,omitempty"` // number of the call it is about

	// Name of the activity, step, timer, side effect, signal, marked change, attribute,
	// or of the workflow of a child.
	Name string `json:"name,omitempty"`

	// Input of a scheduled activity, value of a signal or an attribute.
	Input Payload `json:"input,omitzero"`
	// Result of a completed call, side effect or run.
	Result Payload `json:"result,omitzero"`
	// Failure of a failed call or run, reason of a canceled one.
	Failure *Failure `json:"failure,omitempty"`

	// Policy and queue of a scheduled activity or step; absent if default. Policy of
	// a child is that of its runs.
	Policy *retry.Policy `json:"policy,omitempty"`
	Queue  string        `json:"queue,omitempty"`
	// Gates are what the attempts of a scheduled call pass through, by name. Priority
	// is its place among those who wait there and for a slot, absent if it has that of
	// its run; of a child it is that of its runs.
	Gates    []gates.Spec `json:"gates,omitempty"`
	Priority int          `json:"priority,omitempty"`
	// Trace is the trace parent of a scheduled call.
	Trace string `json:"trace,omitempty"`

	// Version of a marked change.
	Version int `json:"version,omitempty"`

	// Due is when a started timer fires, or when the code of the next run begins if
	// that waits for a backoff, or that of a child which is started with a delay.
	Due int64 `json:"due,omitempty"`
	// Block is the block of code of which a timer is the deadline or the backoff: the
	// number of its BlockStarted, or that of the timer. Deadlines of earlier versions
	// have none; the order of history decides for those that have one.
	Block int64 `json:"block,omitempty"`

	// Attempt that closed a call, where it ran, when it was queued and started,
	// when it ended. Attempt of a continued run is that of the next one.
	Attempt int    `json:"attempt,omitempty"`
	Node    string `json:"node,omitempty"`
	Queued  int64  `json:"queued,omitempty"`
	Started int64  `json:"started,omitempty"`
	Ended   int64  `json:"ended,omitempty"`
	// Retry summarises the attempts of a call that needed more than one.
	Retry *Summary `json:"retry,omitempty"`

	// ID of a signal, by which a second one is recognised; of a sent one the
	// workflow ID it goes to; of a child its workflow ID; of a continued run the run
	// ID of the next one.
	ID string `json:"id,omitempty"`
	// Place among the signals of its name, from 1, of one that a canceled call
	// had received and gives back.
	Place int64 `json:"place,omitempty"`
	// Reason is that of a cancellation, termination or operation.
	Reason string `json:"reason,omitempty"`
	// Closed says that a canceled call ended with its cancellation; otherwise its
	// running attempt is waited for.
	Closed bool `json:"closed,omitempty"`

	// Operation on a call (ID names the request), who asked for it, what came of
	// it, and what there is to say about that. By is empty for the engine itself.
	// The event that an operation leads to, a call's end for instance, has By and
	// Operation too. Note also says of a completed update that its handler panicked.
	Operation string `json:"operation,omitempty"`
	By        string `json:"by,omitempty"`
	Outcome   string `json:"outcome,omitempty"`
	Note      string `json:"note,omitempty"`

	// Initiator says why a run is continued: ContinueAsNew, then Name and Input are
	// those of the next run; RetryOfRun, then Failure says how this one failed
	// and Deadline after which time the next one may not begin any more; or
	// ResetOfRun, then Call is the first that the next one makes again.
	Initiator string `json:"initiator,omitempty"`
	Deadline  int64  `json:"deadline,omitempty"`

	// Child is what only a child and its end have.
	Child *Child `json:"child,omitempty"`
}

// Child is what an event says of a run that another one started.
type Child struct {
	// Run is the run ID of its first run, which names its chain; where it has ended,
	// that of its last; where its workflow ID was taken, that of the run which has it.
	Run string `json:"run"`
	// Status is how it ended, of the event that closes its call.
	Status string `json:"status,omitempty"`
	// OnParentClose is what becomes of a scheduled one when the run that started it
	// ends before it.
	OnParentClose OnParentClose `json:"on_parent_close,omitempty"`
	Reuse         Reuse         `json:"reuse,omitempty"` // of a scheduled one
	// Memo is shown with the runs of a scheduled one, Attributes are what they are
	// found by, and RunTimeout and ChainTimeout are how long each of them may take, and
	// all.
	Memo       Payload           `json:"memo,omitzero"`
	Attributes map[string]string `json:"attributes,omitempty"`
	// Headers are in what those of a scheduled one differ from those of its parent.
	Headers      map[string]string `json:"headers,omitempty"`
	RunTimeout   time.Duration     `json:"run_timeout,omitempty"`
	ChainTimeout time.Duration     `json:"chain_timeout,omitempty"`
}

// OnParentClose is what becomes of a child whose parent does not wait for it any
// more.
type OnParentClose string

// What can become of it.
const (
	CancelChild    OnParentClose = "" // it is asked to cancel
	TerminateChild OnParentClose = "terminate"
	AbandonChild   OnParentClose = "abandon" // nothing
)

// Summary is the retry summary of a call that needed more than one attempt.
type Summary struct {
	TotalAttempts   int    `json:"total_attempts"`
	TotalDurationMS int64  `json:"total_duration_ms"` // first schedule to the end of the last attempt
	Exhausted       bool   `json:"exhausted"`
	LastError       string `json:"last_error,omitempty"`
	// LastErrorType is the type name of that error. It is not on record: who shows the
	// event sets it, see Event.LastErrorType.
	LastErrorType string         `json:"last_error_type,omitempty"`
	Errors        []AttemptError `json:"errors,omitempty"`       // the first and the last ones
	ErrorsTotal   int            `json:"errors_total,omitempty"` // how many there were
	LostToCrashes int            `json:"lost_to_crashes,omitempty"`
	Drained       int            `json:"drained,omitempty"`
}

// AttemptError is one failed attempt in a Summary.
type AttemptError struct {
	Attempt int    `json:"attempt"`
	Type    string `json:"type"`
	Message string `json:"message"`
	At      int64  `json:"at_ms"` // ms since 1970
}

// Start is the start event of a run: everything its first turn depends on.
type Start struct {
	Kind       Kind    `json:"kind"` // RunStarted
	Format     int     `json:"v"`
	WorkflowID string  `json:"workflow_id"`
	Run        string  `json:"run"`
	Type       string  `json:"type"`
	Group      string  `json:"group,omitempty"`
	Chain      string  `json:"chain"`   // run ID of the chain's first run
	Attempt    int     `json:"attempt"` // of the chain's retry, 1 for the first
	Input      Payload `json:"input,omitzero"`
	Trace      string  `json:"trace,omitempty"`
	Created    int64   `json:"created"`
	// FirstTurn is the time before which the first turn may not be taken; 0 for
	// immediately.
	FirstTurn int64 `json:"first_turn,omitempty"`
	// After is the run that had the workflow ID before, of a chain that began after
	// another one had ended.
	After string `json:"after,omitempty"`
	Settings
	// ChainDeadline is when ChainTimeout is up, 0 for no limit.
	ChainDeadline int64 `json:"chain_deadline,omitempty"`

	// Of a run that follows another one of its chain: its place there, counted from
	// 1 and absent for the first, the run it follows, and why it does.
	Number    int    `json:"number,omitempty"`
	Previous  string `json:"previous,omitempty"`
	Initiator string `json:"initiator,omitempty"`
	// First is what the first run of the chain was started with; absent for that one.
	First *Origin `json:"first,omitempty"`
	// Of a run that is an attempt after a failed one: how that failed, the wait that
	// was chosen, when the first of these attempts was created, and the time after
	// which the code may not begin any more, 0 for none.
	Failure      *Failure      `json:"failure,omitempty"`
	Backoff      time.Duration `json:"backoff,omitempty"`
	FirstAttempt int64         `json:"first_attempt,omitempty"`
	Deadline     int64         `json:"deadline,omitempty"`

	// Parent is who started the chain, nil if that was no run or schedule.
	Parent *Parent `json:"parent,omitempty"`
	// Scheduled is the fire that started the chain, nil if none did.
	Scheduled *Scheduled `json:"scheduled,omitempty"`

	// Carried is what the run before had been told and its code had not read.
	Carried *Carried `json:"carried,omitempty"`

	// Base is the history with which a run begins that was reset or forked.
	Base *Base `json:"base,omitempty"`
}

// Parent is the call of a run that started another one.
type Parent struct {
	WorkflowID string `json:"workflow_id"`
	Run        string `json:"run"`
	Call       int64  `json:"call"`
	// Detached says that the call only waited until the run was started.
	Detached bool `json:"detached,omitempty"`
	// Chain is that of Run, empty if an earlier version has started the child.
	Chain string `json:"chain,omitempty"`
	// Reuse says which run that has ended the child may follow under its workflow ID.
	Reuse Reuse `json:"reuse,omitempty"`
}

// Reuse says which run that has ended makes room for a child under its workflow ID.
type Reuse string

// The rules.
const (
	ReuseOwn    Reuse = ""       // an earlier child of the same chain
	ReuseEnded  Reuse = "ended"  // any run
	ReuseFailed Reuse = "failed" // any run that has no result
	ReuseNever  Reuse = "never"  // none
)

// Carried is what outlives a run of a chain.
type Carried struct {
	// Signals that the code did not read, those of one name in the order in which they came.
	Signals []CarriedSignal `json:"signals,omitempty"`
	// Seen are the names and IDs of signals that would come for the second time,
	// oldest first.
	Seen [][2]string `json:"seen,omitempty"`
	// SeenAt and AskedAt are when the latest of Seen and of Asked came, in ms since 1970:
	// those that are still to be handed on whatever their number. The others are older.
	SeenAt  []int64 `json:"seen_at,omitempty"`
	AskedAt []int64 `json:"asked_at,omitempty"`
	// Updates are where updates were accepted that may be asked for again, oldest
	// first.
	Updates []CarriedUpdate `json:"updates,omitempty"`
	// Cancel says that the workflow was asked to cancel.
	Cancel *CarriedCancel `json:"cancel,omitempty"`
	// Paused says that the workflow is paused.
	Paused *CarriedPause `json:"paused,omitempty"`
	// Asked are the IDs of operations on the workflow that were carried out, oldest
	// first.
	Asked []string `json:"asked,omitempty"`
}

// CarriedSignal is a signal that the code did not read.
type CarriedSignal struct {
	Name  string  `json:"name"`
	Value Payload `json:"value,omitzero"`
}

// CarriedUpdate is an update and the turn that accepted it.
type CarriedUpdate struct {
	ID   string `json:"id"`
	Run  string `json:"run"`
	Turn int64  `json:"turn"`
	At   int64  `json:"at,omitempty"` // ms since 1970
}

// CarriedCancel is a request to cancel, which sticks to the chain.
type CarriedCancel struct {
	Reason string `json:"reason,omitempty"`
}

// CarriedPause is a pause of the workflow, which sticks to the chain until someone
// resumes it.
type CarriedPause struct {
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
	At     int64  `json:"at"` // ns since 1970
}
