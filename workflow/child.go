package workflow

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// RunChild starts another workflow and waits for its result. The child is a run as
// any other: with a workflow ID, a history and calls of its own, on whatever node
// serves its ID. It is started with the turn, exactly once, and what it comes to
// reaches this run exactly once, whoever dies in between.
//
// The error is a *ChildError if the child did not complete, a *ChildIDInUseError if
// its workflow ID belongs to another run, and a *retry.AbortedError if the call was
// given up (by Select or Timeout). A child that continues as new or is retried has
// not ended: what counts is the last run of its chain.
//
// A cancellation of the scope, or of this run, is passed on: the child is asked to
// cancel and waited for, as it may have to clean up. A child that is given up, or
// still open when this run ends in whatever way (it completes, is terminated, is
// continued or retried), is asked to cancel and not waited for, unless OnParentClose
// says otherwise.
func RunChild[In, Out any](wf *Context, w Workflow[In, Out], in In, opts ...ChildOption) (Out, error) {
	return RunChildAsync(wf, w, in, opts...).Get(wf)
}

// RunChildAsync starts another workflow and returns at once.
func RunChildAsync[In, Out any](wf *Context, w Workflow[In, Out], in In, opts ...ChildOption) Child[Out] {
	wf.enter()
	p, id := startChild(wf, w, in, opts, false)
	return Child[Out]{Future[Out]{p}, id}
}

// StartDetached starts another workflow whose end is nobody's business here: it
// outlives this run, and no cancellation reaches it. It waits only until it is known
// that the run exists. The error is a *ChildIDInUseError if its workflow ID belongs
// to another run.
func StartDetached[In, Out any](wf *Context, w Workflow[In, Out], in In, opts ...ChildOption) (DetachedRun, error) {
	return StartDetachedAsync(wf, w, in, opts...).Get(wf)
}

// StartDetachedAsync starts another workflow and returns at once. It is started with
// the turn, also if nobody waits for the answer or this run ends with that turn; then
// it is not known whether its workflow ID was free.
func StartDetachedAsync[In, Out any](wf *Context, w Workflow[In, Out], in In, opts ...ChildOption) Child[DetachedRun] {
	wf.enter()
	p, id := startChild(wf, w, in, opts, true)
	return Child[DetachedRun]{Future[DetachedRun]{p}, id}
}

// Child is the coming result of a run that this one started. Its zero value is not
// usable.
type Child[Out any] struct {
	Future[Out]
	id string
}

// ID returns the workflow ID of the child, by which it can be sent signals: those
// that are sent after it was started find it.
func (c Child[Out]) ID() string { return c.id }

// DetachedRun is a run that was started by StartDetached.
type DetachedRun struct {
	WorkflowID string
	RunID      string
}

// ChildOption is a setting of a run that another one starts.
type ChildOption func(*childOptions)

type childOptions struct {
	core.StartChild
	id     *string
	policy ParentClosePolicy
	fault  error
}

// ChildID gives the child a workflow ID, at most 1,000 bytes, which no other run may
// have. Without it the ID is made of this run's workflow ID, the child's name, the number
// of the call and the end of this run's ID, such as "order-17/ship/3-5f0c9e8a71b2": each
// run of a chain has children of its own.
func ChildID(id string) ChildOption { return func(o *childOptions) { o.id = &id } }

// ChildRetryPolicy lets the child be tried again from its beginning when it fails, as
// RetryPolicy says, which it is preferred to. It holds for all runs of the chain. Only
// the last failure is seen here.
func ChildRetryPolicy(p retry.Policy) ChildOption {
	return func(o *childOptions) { o.Retry = &p }
}

// ChildDelay lets the code of the child begin only after d. The run exists before.
func ChildDelay(d time.Duration) ChildOption { return func(o *childOptions) { o.Delay = d } }

// ChildMemo attaches a value, at most 16 KiB of JSON, that descriptions show with all
// runs of the child.
func ChildMemo(v any) ChildOption {
	return func(o *childOptions) {
		var err error
		if o.Memo, err = history.Encode(v); err != nil {
			o.fault = fmt.Errorf("memo: %w", err)
		}
	}
}

// ChildAttributes gives all runs of the child names and values by which they are
// found, as perdure.Attributes does with the same limits. It has none of this run's by
// itself. Asking for them several times adds them up.
func ChildAttributes(all map[string]string) ChildOption {
	return func(o *childOptions) {
		if o.Attributes == nil {
			o.Attributes = map[string]string{}
		}
		maps.Copy(o.Attributes, all)
	}
}

// ChildPriority gives all runs of the child another priority than that of this run,
// which they have without it: see perdure.Priority. It is between -1,000 and 1,000.
func ChildPriority(p int) ChildOption { return func(o *childOptions) { o.Priority = p } }

// ChildRunTimeout limits how long each run of the child may take, from when its code
// may begin. One that is open then has failed with a *retry.TimeoutError; its retry
// policy decides whether another one follows. 0 is no limit.
func ChildRunTimeout(d time.Duration) ChildOption {
	return func(o *childOptions) { o.RunTimeout = d }
}

// ChildChainTimeout limits how long all runs of the child may take together; nothing
// follows then. 0 is no limit; one that is shorter than ChildRunTimeout is refused.
func ChildChainTimeout(d time.Duration) ChildOption {
	return func(o *childOptions) { o.ChainTimeout = d }
}

// OnParentClose says what becomes of the child when nobody waits for it any more:
// because the run that started it ended, in whatever way, or gave it up.
func OnParentClose(p ParentClosePolicy) ChildOption {
	return func(o *childOptions) { o.policy = p }
}

// ParentClosePolicy is what becomes of a child for which nobody waits any more.
type ParentClosePolicy string

// The policies.
const (
	// ParentCloseCancel asks the child to cancel, so that it can clean up. It is the
	// default.
	ParentCloseCancel ParentClosePolicy = "cancel"
	// ParentCloseTerminate ends the child at once.
	ParentCloseTerminate ParentClosePolicy = "terminate"
	// ParentCloseAbandon lets the child go on.
	ParentCloseAbandon ParentClosePolicy = "abandon"
)

var onParentClose = map[ParentClosePolicy]history.OnParentClose{
	"": history.CancelChild, ParentCloseCancel: history.CancelChild,
	ParentCloseTerminate: history.TerminateChild, ParentCloseAbandon: history.AbandonChild,
}

// startChild begins the call of a child, and says under which ID.
func startChild[In, Out any](wf *Context, w Workflow[In, Out], in In, opts []ChildOption, detached bool) (*pending, string) {
	run := wf.instance.run
	o := childOptions{StartChild: core.StartChild{Workflow: w.name, Detached: detached}}
	o.Priority = run.Start().Priority
	for _, option := range opts {
		option(&o)
	}
	id := run.ChildID(w.name)
	if o.id != nil {
		id, o.WorkflowID = *o.id, *o.id
	}
	if wf.scope.err != nil {
		return refuse(w.name, wf.scope.aborted(w.name)), id
	}
	input, err := history.Encode(in)
	if err != nil {
		err = fmt.Errorf("its input: %w", err)
	}
	if err := errors.Join(o.check(detached), err); err != nil {
		return refuse(w.name, retry.Terminal(fmt.Errorf("the child %q cannot be started: %w", w.name, err))), id
	}
	o.Input = input
	return wf.follow(run.StartChild(o.StartChild)), id
}

// check refuses what no child could be started with, and sets what the options say.
func (o *childOptions) check(detached bool) error {
	if err := history.CheckName("workflow name", o.Workflow); err != nil {
		return err
	}
	if o.id != nil {
		if err := history.CheckID("workflow ID", *o.id); err != nil {
			return err
		}
	}
	policy, known := onParentClose[o.policy]
	o.OnParentClose = policy
	switch {
	case !known:
		return &history.InputError{What: "parent close policy", Problem: fmt.Sprintf("is %q; it is cancel, terminate or abandon", string(o.policy))}
	case detached && o.policy != "":
		return &history.InputError{What: "parent close policy", Problem: "is set: a detached run has no parent that could close"}
	}
	return cmp.Or(history.CheckDelay(o.Delay), o.Settings.Check(), o.fault)
}

// ChildError is the end of a child that did not complete. It wraps the error of the
// child's code, for which errors.Is and errors.As hold as inside the child: that of a
// canceled one is, or wraps, context.Canceled.
type ChildError struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`           // of the last run of its chain
	Workflow   string `json:"workflow"`         // name
	Status     string `json:"status"`           // failed, canceled, terminated or timed-out
	Reason     string `json:"reason,omitempty"` // given by whoever terminated it
	Err        error  `json:"-"`                // nil if it was terminated
}

// ChildIDInUseError says that a child was not started, because its workflow ID belongs
// to another run, which may have ended.
type ChildIDInUseError struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`   // of the run that has it
	Status     string `json:"status"`   // of that run, when the child was to begin
	Workflow   string `json:"workflow"` // name of the one that was to be started
}

func init() {
	retry.RegisterErrorType[*ChildError]("workflow.ChildError")
	retry.RegisterErrorType[*ChildIDInUseError]("workflow.ChildIDInUseError")
}

func (e *ChildError) Error() string {
	text := fmt.Sprintf("child %q of workflow %q ", e.WorkflowID, e.Workflow)
	switch e.Status {
	case string(core.StatusFailed):
		text += "failed"
	case string(core.StatusTimedOut):
		text += "timed out"
	default:
		text += "was " + e.Status
	}
	if e.Reason != "" {
		text += " (" + e.Reason + ")"
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the error of the child's code.
func (e *ChildError) Unwrap() error { return e.Err }

func (e *ChildIDInUseError) Error() string {
	return fmt.Sprintf("child of workflow %q was not started: workflow ID %q belongs to run %s (%s); a child needs an ID that no other run has", e.Workflow, e.WorkflowID, e.RunID, e.Status)
}

// childError is why a child has no result; err is how its code failed, or how its call
// was given up.
func childError(call *core.Call, err error) error {
	switch c := call.Child; c.Status {
	case core.ChildStarted, string(core.StatusCompleted):
		return err
	case core.ChildIDInUse:
		return &ChildIDInUseError{WorkflowID: c.WorkflowID, RunID: c.Run, Status: c.Reason, Workflow: call.Name}
	default:
		return &ChildError{WorkflowID: c.WorkflowID, RunID: c.Run, Workflow: call.Name, Status: c.Status, Reason: c.Reason, Err: err}
	}
}

// startedRun is what the call of a detached run comes to.
func startedRun(c *core.ChildCall) history.Payload {
	started, _ := history.Encode(DetachedRun{WorkflowID: c.WorkflowID, RunID: c.Run}) // strings only: cannot fail
	return started
}
