package history

import (
	"time"

	"github.com/perdure/perdure/retry"
)

// Kind is the kind of an event.
type Kind string

// Input events: what happened to the run. A turn begins with them.
const (
	// AttemptStarted precedes the event that closes its call. Attempts that led to another
	// one are not in history but in the ledger.
	AttemptStarted     Kind = "AttemptStarted"
	CallCompleted      Kind = "CallCompleted"
	CallFailed         Kind = "CallFailed"
	CallCanceled       Kind = "CallCanceled"
	TimerFired         Kind = "TimerFired"
	SignalReceived     Kind = "SignalReceived"
	RunCancelRequested Kind = "RunCancelRequested"
	RunTerminated      Kind = "RunTerminated"
	// RunTimedOut closes a run whose time, or that of its chain, ran out.
	RunTimedOut Kind = "RunTimedOut"
	// CallControlled is an operation on an open call: the request and its outcome. It also
	// records that the engine paused the call until an operator decides. All of them
	// together are the audit trail of a run.
	CallControlled Kind = "CallControlled"
	// RunControlled is an operation on the run as a whole: the request and its outcome. Its
	// effects follow in the same turn.
	RunControlled Kind = "RunControlled"
	// UpdateAccepted says that an update passed its validator. Its handler begins with this
	// turn.
	UpdateAccepted Kind = "UpdateAccepted"
	// CodeAdvanced marks a turn in which the code ran, if no other event of the turn shows
	// it.
	CodeAdvanced Kind = "CodeAdvanced"
	// CodeDeferred ends a turn in which the code could not run because it is missing or
	// parked. The code sees the turn's inputs in the next turn in which it runs.
	CodeDeferred Kind = "CodeDeferred"
	// RunPinned says that the run stays on the build with which its code began. Name is
	// that build.
	RunPinned Kind = "RunPinned"
)

// Command events: what the run's code asked for.
const (
	ActivityScheduled   Kind = "ActivityScheduled"
	StepScheduled       Kind = "StepScheduled"
	TimerStarted        Kind = "TimerStarted"
	TimerCanceled       Kind = "TimerCanceled"
	CallCancelRequested Kind = "CallCancelRequested"
	SideEffectRecorded  Kind = "SideEffectRecorded"
	// VersionMarked records the version of a change that the code has in this run.
	VersionMarked Kind = "VersionMarked"
	// BlockStarted begins a block of code that is retried by Policy. The timers of the
	// block refer to it.
	BlockStarted Kind = "BlockStarted"
	// CallRefused takes the place of a call that the code began while it had the maximum
	// number of pending calls. Note is the kind of that call.
	CallRefused   Kind = "CallRefused"
	SignalAwaited Kind = "SignalAwaited"
	SignalSent    Kind = "SignalSent"
	// ChildScheduled starts a run and waits for its result. DetachedScheduled starts a run
	// and waits only until the run is known to exist.
	ChildScheduled    Kind = "ChildScheduled"
	DetachedScheduled Kind = "DetachedScheduled"
	// AttributeSet sets an attribute of the run to Input. AttributeRemoved removes an
	// attribute.
	AttributeSet     Kind = "AttributeSet"
	AttributeRemoved Kind = "AttributeRemoved"
	// UpdateCompleted is the result of an update's handler.
	UpdateCompleted Kind = "UpdateCompleted"
	RunCompleted    Kind = "RunCompleted"
	RunFailed       Kind = "RunFailed"
	RunCanceled     Kind = "RunCanceled"
	// RunContinued closes a run that is followed by another one of its chain, because its
	// code asked for that, or because the run failed and is retried, or was reset.
	RunContinued Kind = "RunContinued"
)

// Initiators of a run that follows another one in its chain. See also FiredBySchedule and
// ResetOfRun.
const (
	ContinueAsNew = "continue-as-new"
	RetryOfRun    = "retry"
)

// RunStarted is the kind of the start event, which precedes the first turn.
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

// known reports whether this version knows events of the kind. RunStarted is no event of a turn.
func (k Kind) known() bool {
	switch k {
	case AttemptStarted, CallCompleted, CallFailed, CallCanceled, TimerFired, SignalReceived, RunCancelRequested, RunTerminated, RunTimedOut,
		CallControlled, RunControlled, UpdateAccepted, CodeAdvanced, CodeDeferred, RunPinned:
		return true
	}
	return k.Command()
}

// Terminal reports whether events of this kind close their run.
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
	Call int64 `json:"call,omitempty"` // number of the call that the event is about

	// Name of the activity, step, timer, side effect, signal, marked change, attribute,
	// or of the workflow of a child.
	Name string `json:"name,omitempty"`

	// Input of a scheduled activity, value of a signal or an attribute.
	Input Payload `json:"input,omitzero"`
	// Result of a completed call, side effect or run.
	Result Payload `json:"result,omitzero"`
	// Failure of a failed call or run, or why a call or run was canceled.
	Failure *Failure `json:"failure,omitempty"`

	// Policy and queue of a scheduled activity or step; absent if default. For a child, the
	// policy of its runs.
	Policy *retry.Policy `json:"policy,omitempty"`
	Queue  string        `json:"queue,omitempty"`
	// Verify says how to ask about attempts of a scheduled activity that may have had their
	// effect; absent if there is nobody to ask.
	Verify *Verify `json:"verify,omitempty"`
	// Gates are the gates of a scheduled call, sorted by name. Priority orders the call
	// among those that wait at a gate or for a slot; absent means that of its run. For a
	// child it is the priority of its runs.
	Gates    []GateSpec `json:"gates,omitempty"`
	Priority int        `json:"priority,omitempty"`
	// Trace is the trace parent of a scheduled call.
	Trace string `json:"trace,omitempty"`

	// Version of a marked change.
	Version int `json:"version,omitempty"`

	// Due is when a started timer fires. For the next run, if it waits for a backoff, or
	// for a child with a delay, it is when the code begins.
	Due int64 `json:"due,omitempty"`
	// Block is the block of code whose deadline or backoff a timer is: the number of its
	// BlockStarted, or the timer's own number.
	Block int64 `json:"block,omitempty"`
	// Shielded says that a request to cancel the run does not reach a scheduled call.
	Shielded bool `json:"shielded,omitempty"`

	// The attempt that closed a call: its number, where it ran, and when it was queued, was
	// started and ended. For a continued run, Attempt is that of the next run.
	Attempt int    `json:"attempt,omitempty"`
	Node    string `json:"node,omitempty"`
	Queued  int64  `json:"queued,omitempty"`
	Started int64  `json:"started,omitempty"`
	Ended   int64  `json:"ended,omitempty"`
	// Retry summarises the attempts of a call that needed more than one.
	Retry *Summary `json:"retry,omitempty"`

	// ID of a signal, which identifies duplicates. For a sent signal, the receiving
	// workflow ID; for a child, its workflow ID; for a continued run, the run ID of the
	// next one.
	ID string `json:"id,omitempty"`
	// Place, from 1, among the signals of its name, of a signal that a canceled call had
	// received and gives back.
	Place int64 `json:"place,omitempty"`
	// Reason of a cancellation, termination or operation.
	Reason string `json:"reason,omitempty"`
	// Closed says that the canceled call ended with its cancellation. Otherwise the call
	// waits for its attempt in flight.
	Closed bool `json:"closed,omitempty"`

	// Operation on a call (ID identifies the request), who asked for it, its outcome, and a
	// note about that. By is empty for the engine. An event that an operation causes, such
	// as the end of a call, has By and Operation too. The Note of a completed update also
	// says that its handler panicked.
	Operation string `json:"operation,omitempty"`
	By        string `json:"by,omitempty"`
	Outcome   string `json:"outcome,omitempty"`
	Note      string `json:"note,omitempty"`

	// Initiator says why a run is continued. With ContinueAsNew, Name and Input are those
	// of the next run. With RetryOfRun, Failure says how this run failed, and after
	// Deadline the next one must not begin. With ResetOfRun, Call is the first call that
	// the next run makes again.
	Initiator string `json:"initiator,omitempty"`
	Deadline  int64  `json:"deadline,omitempty"`

	// Child has the fields that only a child and its end use.
	Child *Child `json:"child,omitempty"`
}

// Verify says how to ask whether an attempt had its effect.
type Verify struct {
	SettleAfter time.Duration `json:"settle_after,omitempty"` // how long its request may still be under way
	Retry       *retry.Policy `json:"retry,omitempty"`        // for questions that fail; nil is the zero policy
	By          *VerifyBy     `json:"verify_by,omitempty"`    // nil: the activity's own function
}

// Questions returns the policy for questions; of nil it is that of the zero policy.
func (v *Verify) Questions() retry.Policy {
	if v == nil || v.Retry == nil {
		return retry.QuestionPolicy(retry.Policy{})
	}
	return retry.QuestionPolicy(*v.Retry)
}

// InForce returns the policy of a call: one that can be asked about is, unless the policy says
// otherwise. It copies the policy only if it changes it.
func (v *Verify) InForce(p *retry.Policy) *retry.Policy {
	if v == nil || p.OnUnknown != 0 {
		return p
	}
	own := *p
	own.OnUnknown = retry.VerifyUnknown
	return &own
}

// VerifyBy is another activity that says whether an attempt had its effect: what it returns is
// the result, and null means that the attempt had none.
type VerifyBy struct {
	Activity string  `json:"name"`
	Input    Payload `json:"input,omitzero"`
}

// Child describes a run that another one started.
type Child struct {
	// Run is the run ID of the child's first run, which names its chain. Once the child has
	// ended, it is that of its last run. If the workflow ID was taken, it is that of the
	// run that has it.
	Run string `json:"run"`
	// Status is how the child ended, in the event that closes its call.
	Status string `json:"status,omitempty"`
	// OnParentClose says what happens to a scheduled child when its parent ends first.
	OnParentClose OnParentClose `json:"on_parent_close,omitempty"`
	Reuse         Reuse         `json:"reuse,omitempty"` // of a scheduled child
	// Of a scheduled child: Memo is shown with its runs, and Attributes are what they are
	// found by. RunTimeout limits each run, and ChainTimeout all of them together.
	Memo       Payload           `json:"memo,omitzero"`
	Attributes map[string]string `json:"attributes,omitempty"`
	// Key and Weight are those of its runs.
	Key    string `json:"key,omitempty"`
	Weight int    `json:"weight,omitempty"`
	// Headers are the differences between the headers of a scheduled child and those of its
	// parent.
	Headers      map[string]string `json:"headers,omitempty"`
	RunTimeout   time.Duration     `json:"run_timeout,omitempty"`
	ChainTimeout time.Duration     `json:"chain_timeout,omitempty"`
}

// OnParentClose says what happens to a child whose parent no longer waits for it.
type OnParentClose string

// Parent-close policies.
const (
	CancelChild    OnParentClose = "" // the child is asked to cancel
	TerminateChild OnParentClose = "terminate"
	AbandonChild   OnParentClose = "abandon" // the child is left alone
)

// Summary is the retry summary of a call that needed more than one attempt.
type Summary struct {
	TotalAttempts   int    `json:"total_attempts"`
	TotalDurationMS int64  `json:"total_duration_ms"` // from when the call was scheduled to the end of its last attempt
	Exhausted       bool   `json:"exhausted"`
	LastError       string `json:"last_error,omitempty"`
	// LastErrorType is the type name of that error. It is not recorded: code that shows the
	// event sets it from Event.LastErrorType.
	LastErrorType string         `json:"last_error_type,omitempty"`
	Errors        []AttemptError `json:"errors,omitempty"`       // the first and the last ones
	ErrorsTotal   int            `json:"errors_total,omitempty"` // number of all errors
	LostToCrashes int            `json:"lost_to_crashes,omitempty"`
	Drained       int            `json:"drained,omitempty"`
	Questions     int            `json:"questions,omitempty"` // about attempts that may have had their effect
}

// AttemptError is one failed attempt in a Summary.
type AttemptError struct {
	Attempt int    `json:"attempt"`
	Type    string `json:"type"`
	Message string `json:"message"`
	At      int64  `json:"at_ms"` // ms since 1970
}

// Start is the start event of a run: everything that its first turn depends on.
type Start struct {
	Kind       Kind    `json:"kind"` // RunStarted
	Format     int     `json:"v"`
	WorkflowID string  `json:"workflow_id"`
	Run        string  `json:"run"`
	Type       string  `json:"type"`
	Group      string  `json:"group,omitempty"`
	Chain      string  `json:"chain"`   // run ID of the chain's first run
	Attempt    int     `json:"attempt"` // number within the chain's retries, 1 for the first
	Input      Payload `json:"input,omitzero"`
	Trace      string  `json:"trace,omitempty"`
	Created    int64   `json:"created"`
	// FirstTurn is the time before which the first turn must not be taken; 0 means
	// immediately.
	FirstTurn int64 `json:"first_turn,omitempty"`
	// After is the run that had the workflow ID before, if the chain began after another
	// one had ended.
	After string `json:"after,omitempty"`
	Settings
	// ChainDeadline is when ChainTimeout ends, 0 for no limit.
	ChainDeadline int64 `json:"chain_deadline,omitempty"`

	// For a run that follows another one of its chain: its number in the chain, counted
	// from 1 and absent for the first run, the run it follows, and why.
	Number    int    `json:"number,omitempty"`
	Previous  string `json:"previous,omitempty"`
	Initiator string `json:"initiator,omitempty"`
	// First is what the first run of the chain was started with; absent in that run itself.
	First *Origin `json:"first,omitempty"`
	// For a retry of a failed run: how that run failed, the backoff that was chosen, when
	// the first of these attempts was created, and the time after which the code must not
	// begin, 0 for none.
	Failure      *Failure      `json:"failure,omitempty"`
	Backoff      time.Duration `json:"backoff,omitempty"`
	FirstAttempt int64         `json:"first_attempt,omitempty"`
	Deadline     int64         `json:"deadline,omitempty"`

	// Parent is the call that started the chain, nil if no run or schedule did.
	Parent *Parent `json:"parent,omitempty"`
	// Scheduled is the fire that started the chain, nil if no schedule did.
	Scheduled *Scheduled `json:"scheduled,omitempty"`

	// Carried is what the previous run passed on, such as signals that its code had not
	// read.
	Carried *Carried `json:"carried,omitempty"`

	// Base is the history with which a reset or forked run begins.
	Base *Base `json:"base,omitempty"`
}

// Parent is the call that started another run.
type Parent struct {
	WorkflowID string `json:"workflow_id"`
	Run        string `json:"run"`
	Call       int64  `json:"call"`
	// Detached says that the call waited only until the run was started.
	Detached bool `json:"detached,omitempty"`
	// Chain is the chain of Run; empty for a schedule.
	Chain string `json:"chain,omitempty"`
	// Reuse says which closed run the child may follow under its workflow ID.
	Reuse Reuse `json:"reuse,omitempty"`
}

// Reuse says which closed run a child may follow under its workflow ID.
type Reuse string

// Reuse policies.
const (
	ReuseOwn    Reuse = ""       // an earlier child of the same chain
	ReuseEnded  Reuse = "ended"  // any run
	ReuseFailed Reuse = "failed" // any run without a result
	ReuseNever  Reuse = "never"  // none
)

// Carried is what a run passes on to the next run of its chain.
type Carried struct {
	// Signals that the code has not read; those of one name in order of arrival.
	Signals []CarriedSignal `json:"signals,omitempty"`
	// Seen are the names and IDs of received signals, oldest first. They identify
	// duplicates.
	Seen [][2]string `json:"seen,omitempty"`
	// SeenAt and AskedAt are when the latest of Seen and of Asked came, in ms since 1970.
	// These must be handed on regardless of their number. The others are older.
	SeenAt  []int64 `json:"seen_at,omitempty"`
	AskedAt []int64 `json:"asked_at,omitempty"`
	// Updates are the accepted updates with the turns that accepted them, oldest first.
	Updates []CarriedUpdate `json:"updates,omitempty"`
	// Cancel is set if the workflow was asked to cancel.
	Cancel *CarriedCancel `json:"cancel,omitempty"`
	// Paused is set if the workflow is paused.
	Paused *CarriedPause `json:"paused,omitempty"`
	// Asked are the IDs of operations that the workflow has carried out, oldest first.
	Asked []string `json:"asked,omitempty"`
	// Admission is the ticket of the chain, nil for none.
	Admission *Admission `json:"admission,omitempty"`
}

// Admission is the ticket of a chain at the gate that bounds how many runs of a key run at a
// time.
type Admission struct {
	Run   string `json:"run"`            // the run of the chain that asked
	Since int64  `json:"since"`          // when it asked, or was let in, ns
	Held  bool   `json:"held,omitempty"` // it was let in
}

// CarriedSignal is a signal that the code has not read.
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

// CarriedCancel is a cancel request, which applies to the whole chain.
type CarriedCancel struct {
	Reason string `json:"reason,omitempty"`
}

// CarriedPause is a pause of the workflow, which lasts across the chain until an operator
// resumes it.
type CarriedPause struct {
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
	At     int64  `json:"at"` // ns since 1970
}
