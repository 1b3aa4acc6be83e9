package intercept

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/retry"
)

// Kind is what an operation is.
type Kind int

// The verbs of clients. Name is that of what is in brackets.
const (
	// Start starts a run [workflow]: perdure.Start, Run and StartTx. Headers may be set.
	Start Kind = iota + 1
	// Schedule makes or changes a schedule [schedule]. Headers may be set: they are those
	// of the runs that it starts.
	Schedule
	// Signal sends a signal [signal], in a transaction of the caller's too.
	Signal
	// Query asks a run [query].
	Query
	// Update asks a run for an update [update].
	Update
	// Cancel and Terminate end a run.
	Cancel
	Terminate
	// Result waits for the end of a workflow. Its error is that of the verb, the
	// *perdure.RunError included.
	Result
	// Operate is a verb of package ops that changes something [verb], such as "retry-now"
	// or "pause-gate". WorkflowID is empty for those that are about no single run.
	Operate
	// Complete ends an attempt from outside, or says that it is alive [verb]:
	// perdure.CompleteAttempt, FailAttempt and HeartbeatAttempt.
	Complete
)

// What engines run.
const (
	// Attempt is one attempt of an activity or an inline step [activity or step].
	// activity.FromContext tells more of it.
	Attempt Kind = iota + 11
	// WorkflowStart is the begin of a run's code [workflow].
	WorkflowStart
	// WorkflowEnd is the end of a run's code [workflow]: next returns its error, and an
	// error that is returned instead is the one on record. The error of a run that
	// continues as new is nil.
	WorkflowEnd
	// Call begins the call of an activity [activity], Step that of an inline step
	// [step]; Timer starts a timer, Send sends a signal to another workflow [signal], and
	// Receive begins to wait for one [signal].
	Call
	Step
	Timer
	Send
	Receive
	// Child starts another workflow, awaited or detached [workflow]. WorkflowID is its
	// own. Headers, which are those of the run, may be changed: they are the child's.
	Child

	last = Child
)

var names = [...]string{
	Start: "start", Schedule: "schedule", Signal: "signal", Query: "query", Update: "update", Cancel: "cancel",
	Terminate: "terminate", Result: "result", Operate: "operate", Complete: "complete", Attempt: "attempt",
	WorkflowStart: "workflow start", WorkflowEnd: "workflow end", Call: "call", Step: "step", Timer: "timer",
	Send: "send", Receive: "receive", Child: "child",
}

// String returns the kind in small letters.
func (k Kind) String() string {
	if k >= Start && k <= last {
		return names[k]
	}
	return fmt.Sprintf("kind %d", int(k))
}

// Kinds returns all kinds.
func Kinds() []Kind {
	all := make([]Kind, 0, last)
	for k := Start; k <= last; k++ {
		all = append(all, k)
	}
	return all
}

// Op is the operation that an interceptor stands around. It belongs to the interceptors of
// this operation and must not be kept.
type Op struct {
	Kind Kind
	// Name is that of the activity, step, workflow, signal, query, update, schedule or
	// verb; empty where there is none.
	Name string
	// WorkflowID and RunID are those of the run that it is about; RunID is empty where only
	// the workflow is known.
	WorkflowID, RunID string
	// Workflow is the name of the workflow, empty where it is not known.
	Workflow string
	// Call is the number of the call in its run, and Attempt which attempt of it; 0
	// where there is none.
	Call    int64
	Attempt int
	// Headers are those of the run. Of Start and Schedule they are those that it will have,
	// of Child those of the child: what an interceptor sets, changes or deletes there is
	// recorded. Elsewhere they are a copy, nil if there are none, and a change is refused.
	Headers map[string]string
	// Parent is the run whose code starts a Child: its IDs, its workflow and its headers, all
	// copies. It is nil elsewhere.
	Parent *Op
}

// Next does what is stood around: the next interceptor, then the operation itself. The
// context is that of Attempt's body, or of a client's verb; elsewhere it is not used.
type Next func(ctx context.Context) error

// Func is what an Interceptor does around an operation. It is called concurrently.
type Func func(ctx context.Context, op *Op, next Next) error

// Interceptor stands around operations. It is immutable. Its zero value is refused.
type Interceptor struct {
	name   string
	around Func
	kinds  []Kind
}

// New returns an interceptor for operations of some kinds, or of all if none is given.
// The name stands in errors. Where no interceptor is for a kind, operations of the kind
// cost nothing more.
func New(name string, around Func, kinds ...Kind) Interceptor {
	return Interceptor{name, around, kinds}
}

// Name returns the name.
func (i Interceptor) Name() string { return i.name }

// Func returns what the interceptor does, nil for a zero Interceptor.
func (i Interceptor) Func() Func { return i.around }

// Kinds returns what the interceptor is for.
func (i Interceptor) Kinds() []Kind {
	if len(i.kinds) == 0 {
		return Kinds()
	}
	return append([]Kind(nil), i.kinds...)
}

// FaultError says what an interceptor did that it must not do. It wraps its panic (a
// *retry.PanicError) or the error that it hid, if there is one.
type FaultError struct {
	Interceptor string `json:"interceptor"` // its name
	Operation   string `json:"operation"`   // what it stood around
	Problem     string `json:"problem"`
	Err         error  `json:"-"`
}

func init() { retry.RegisterErrorType[*FaultError]("intercept.FaultError") }

func (e *FaultError) Error() string {
	text := fmt.Sprintf("interceptor %q around %s %s", e.Interceptor, e.Operation, e.Problem)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the panic or the hidden error.
func (e *FaultError) Unwrap() error { return e.Err }
