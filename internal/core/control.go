package core

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// Operation is what an operator can do to a pending activity call or inline step, or to a
// run.
type Operation string

// Operations on calls. History and the command line use the same words.
const (
	RetryNow   Operation = "retry-now"   // the next attempt starts without waiting
	Skip       Operation = "skip"        // completes the call with a result
	FailNow    Operation = "fail"        // fails the call with an error
	PauseCall  Operation = "pause"       // no further attempt until the call is resumed
	ResumeCall Operation = "resume"      // continues where it was paused
	EditPolicy Operation = "edit-policy" // another policy from the next decision on
	Ask        Operation = "ask"         // asks again whether the attempt in doubt had its effect
)

// CallOperations lists the operations on calls.
var CallOperations = []Operation{RetryNow, Skip, FailNow, PauseCall, ResumeCall, EditPolicy, Ask}

// Control asks for an operation on calls of a run, or on the run. The machine drops one
// whose ID it has seen. A Control without an ID cancels, terminates or signals a run and
// gets no answer: history holds only its effect, if any.
type Control struct {
	ID        string    `json:"id,omitempty"`
	Operation Operation `json:"operation"`
	Calls     Selection `json:"calls,omitzero"`
	Only      []int64   `json:"only,omitempty"` // if set, only these of the selected calls
	By        string    `json:"by,omitempty"`
	Reason    string    `json:"reason,omitempty"`

	Result  history.Payload  `json:"result,omitzero"`   // of Skip
	Failure *history.Failure `json:"failure,omitempty"` // of FailNow
	Policy  *retry.Policy    `json:"policy,omitempty"`  // of EditPolicy
	Change  string           `json:"change,omitempty"`  // of EditPolicy without a policy: see retry.Policy.Edit

	Signal   string          `json:"signal,omitempty"`    // name, of SignalTheRun
	SignalID string          `json:"signal_id,omitempty"` // of SignalTheRun; ID if empty
	Value    history.Payload `json:"value,omitzero"`      // of SignalTheRun

	// Builds are, of RetryNow, the builds of the live processes of the group, each with all
	// nodes that have or had it. A quarantined call that crashed on all of them is refused.
	// Nil: it is retried, whatever it crashed on.
	Builds map[string][]string `json:"builds,omitempty"`
	Force  bool                `json:"-"` // of RetryNow: the caller of an engine wants Builds to be nil

	From string `json:"from,omitempty"` // of MoveTheRun: only runs on this build, empty for any
	To   string `json:"to,omitempty"`   // of MoveTheRun: the build to move to

	Chain string `json:"chain,omitempty"` // if set, only runs of this chain

	Call     int64 `json:"call,omitempty"`      // of ResetTheRun: the first call to make again
	KeepKeys bool  `json:"keep_keys,omitempty"` // of ResetTheRun: under the idempotency keys that they had
	// Of ResetTheRun: Cut is the history with which the next run begins, or Fault says why
	// there is none. The caller of Step sets them.
	Cut   *Cut  `json:"-"`
	Fault error `json:"-"`
}

// Selection selects pending activity calls and inline steps of a run: those that match all
// of its fields. The zero value selects all.
type Selection struct {
	Call      int64    `json:"call,omitempty"`       // number, 0 for any
	Name      string   `json:"name,omitempty"`       // of the activity or step, "" for any
	States    []string `json:"states,omitempty"`     // as descriptions show them, none for any
	ErrorType string   `json:"error_type,omitempty"` // of the last failure, "" for any
}

// StateRunning is the state that descriptions show for a call with an attempt in flight.
const StateRunning = "running"

// ShownState returns the word that descriptions use for a state.
func ShownState(s CallState) string {
	if s == Dispatched || s == Remote {
		return StateRunning
	}
	return string(s)
}

// Has reports whether a call with this description is selected.
func (s Selection) Has(call int64, name, state, errorType string) bool {
	return (s.Call == 0 || s.Call == call) && (s.Name == "" || s.Name == name) &&
		(len(s.States) == 0 || slices.Contains(s.States, state)) && (s.ErrorType == "" || s.ErrorType == errorType)
}

// Outcomes of an operation, as CallControlled events hold them.
const (
	Applied    = "applied"
	Unchanged  = "unchanged"   // the call already was in that state
	Refused    = "refused"     // the call's state does not allow it
	NotPending = "not-pending" // the call does not exist or has ended
)

// CrashedEverywhere reports whether a call crashed nodes of each build.
func CrashedEverywhere(builds map[string][]string, crashedOn []string) bool {
	for _, nodes := range builds {
		if !slices.ContainsFunc(nodes, func(n string) bool { return slices.Contains(crashedOn, n) }) {
			return false
		}
	}
	return len(builds) > 0
}

// CrashesAgain says why a quarantined call is not retried.
func CrashesAgain(times int) string {
	return fmt.Sprintf("it crashed its process %d times, and every live node has a build on which it did: deploy another build first, or skip or fail it, or force it", times)
}

// The operations on a run as a whole.
const (
	CancelTheRun    Operation = "cancel"     // the code is asked to end
	TerminateTheRun Operation = "terminate"  // the run ends without asking its code
	SignalTheRun    Operation = "signal"     // sends a signal
	PauseTheRun     Operation = "pause-run"  // the code does not run and no attempt starts
	ResumeTheRun    Operation = "resume-run" // ends a pause-run
	ResetTheRun     Operation = "reset"      // the next run of the chain goes on from a call
	MoveTheRun      Operation = "move-runs"  // the run moves to another build
)

// RunOperations lists the operations on runs.
var RunOperations = []Operation{CancelTheRun, TerminateTheRun, SignalTheRun, PauseTheRun, ResumeTheRun, ResetTheRun, MoveTheRun}

// OfRun reports whether the operation applies to a run as a whole.
func (o Operation) OfRun() bool { return slices.Contains(RunOperations, o) }

// Unanswered reports whether no caller waits for the outcome of a request.
func (c *Control) Unanswered() bool {
	return c.ID == "" && (c.Operation == CancelTheRun || c.Operation == TerminateTheRun || c.Operation == SignalTheRun)
}

// named returns the operation for the event that it causes, "" for an unanswered request.
func (c *Control) named() string {
	if c.Unanswered() {
		return ""
	}
	return string(c.Operation)
}

// signalID returns the ID of the signal that a request sends.
func (c *Control) signalID() string { return cmp.Or(c.SignalID, c.ID) }

// TakesBlocks reports whether the operation applies to blocks too when it names no call.
func (o Operation) TakesBlocks() bool { return o == RetryNow || o == EditPolicy }

// Pause says why a call or a run waits for an operator, and since when.
type Pause struct {
	By     string `json:"by,omitempty"` // who paused it; empty for the engine
	Reason string `json:"reason,omitempty"`
	At     int64  `json:"at"`            // ns since 1970
	Due    int64  `json:"due,omitempty"` // when the interrupted backoff ends
	// Exhausted says that the engine paused the call because its attempts, time or budget are
	// used up.
	Exhausted bool `json:"exhausted,omitempty"`
	// OfRun says that the run is paused: the call resumes with it.
	OfRun bool `json:"of_run,omitempty"`
}

// Waiting is a call that the engine itself made wait for an operator.
type Waiting struct {
	AttemptRef
	Name     string
	State    CallState // Paused, Quarantined or InDoubt
	Reason   string
	Failures int
	Failure  *history.Failure // the last one, nil if no attempt failed
	At       int64
}
