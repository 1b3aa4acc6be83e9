package intercept

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/retry"
)

// Kind is the kind of an operation.
type Kind int

// The verbs of clients. Op.Name is the name of what is in brackets.
const (
	// Start starts a run [workflow]: perdure.Start, Run and StartTx. Headers may be set.
	Start Kind = iota + 1
	// Schedule makes or changes a schedule [schedule]. Headers may be set: they are those
	// of the runs that it starts.
	Schedule
	// Signal sends a signal [signal], also in a transaction of the caller.
	Signal
	// Query sends a query to a run [query].
	Query
	// Update sends an update to a run [update].
	Update
	// Cancel and Terminate end a run.
	Cancel
	Terminate
	// Result waits for the end of a workflow. Its error is that of the verb, the
	// *perdure.RunError included.
	Result
	// Operate is a verb of package ops that changes something [verb], such as "retry-now"
	// or "pause-gate". WorkflowID is empty for verbs that are not about a single run.
	Operate
	// Complete ends an attempt from outside, or reports that it is alive [verb]:
	// Complete, FailAttempt and HeartbeatAttempt of perdure.Engine.
	Complete
)

// The operations of engines.
const (
	// Attempt is one attempt of an activity or an inline step [activity or step].
	// activity.FromContext describes it.
	Attempt Kind = iota + 11
	// WorkflowStart is the beginning of a run's code [workflow].
	WorkflowStart
	// WorkflowEnd is the end of a run's code [workflow]. next returns its error; the
	// error that the interceptor returns is recorded. The error of a run that continues
	// as new is nil.
	WorkflowEnd
	// Call begins the call of an activity [activity], Step that of an inline step
	// [step]; Timer starts a timer, Send sends a signal to another workflow [signal], and
	// Receive begins to wait for one [signal].
	Call
	Step
	Timer
	Send
	Receive
	// Child starts another workflow, awaited or detached [workflow]. WorkflowID is that
	// of the child. Headers are those of the run; what the interceptor changes applies to
	// the child.
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

// Op is the operation that an interceptor wraps. It belongs to the interceptors of this
// operation and must not be kept.
type Op struct {
	Kind Kind
	// Name is the name of the activity, step, workflow, signal, query, update, schedule
	// or verb; empty if there is none.
	Name string
	// WorkflowID and RunID identify the run that the operation is about; RunID is empty
	// if only the workflow ID is known.
	WorkflowID, RunID string
	// Workflow is the name of the workflow, empty if it is not known.
	Workflow string
	// Call is the number of the call in its run, Attempt the number of the attempt; 0 if
	// there is none.
	Call    int64
	Attempt int
	// Headers are the headers of the run. For Start and Schedule they are those that the
	// run will have, for Child those of the child: what an interceptor sets, changes or
	// deletes there is recorded. For other kinds they are a copy, nil if there are none,
	// and a change is refused.
	Headers map[string]string
	// Parent is the run whose code starts a Child: its IDs, its workflow and its headers,
	// all copies. It is nil for other kinds.
	Parent *Op
}

// Next calls the next interceptor or, in the innermost, the operation itself. The context
// is that of Attempt's body, or of a client's verb; elsewhere it is not used.
type Next func(ctx context.Context) error

// Func is the function of an Interceptor. It is called concurrently.
type Func func(ctx context.Context, op *Op, next Next) error

// Interceptor wraps operations. It is immutable. Engines refuse its zero value.
type Interceptor struct {
	name   string
	around Func
	kinds  []Kind
}

// New returns an interceptor for operations of the given kinds, or of all kinds if none
// is given. The name appears in errors. Operations of kinds without an interceptor cost
// nothing more.
func New(name string, around Func, kinds ...Kind) Interceptor {
	return Interceptor{name, around, kinds}
}

// Name returns the name.
func (i Interceptor) Name() string { return i.name }

// Func returns the interceptor's function, nil for a zero Interceptor.
func (i Interceptor) Func() Func { return i.around }

// Kinds returns the kinds of operations that the interceptor wraps.
func (i Interceptor) Kinds() []Kind {
	if len(i.kinds) == 0 {
		return Kinds()
	}
	return append([]Kind(nil), i.kinds...)
}

// FaultError means that an interceptor broke a rule. It wraps its panic (a
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
