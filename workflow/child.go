package workflow

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/retry"
)

// RunChild starts another workflow and waits for its result. The child is a run like any
// other: it has its own workflow ID, history and calls, on the node that serves its ID.
// It is started with the turn, exactly once, and its outcome reaches this run exactly
// once, whichever process dies in between.
//
// The error is a *ChildError if the child did not complete, a *ChildIDInUseError if its
// workflow ID belongs to another run, and a *retry.AbortedError if the call was given up
// (by Select or Timeout). A child that continues as new or is retried has not ended: its
// outcome is that of the last run of its chain.
//
// If the scope or this run is canceled, RunChild asks the child to cancel and waits for
// it, because it may have to clean up. A child that is given up, or is still open when
// this run closes in any way (it completes, is terminated, continued or retried), is
// asked to cancel and not waited for, unless OnParentClose says otherwise.
func RunChild[In, Out any](wf *Context, w Workflow[In, Out], in In, opts ...ChildOption) (Out, error) {
	return RunChildAsync(wf, w, in, opts...).Get(wf)
}

// RunChildAsync starts another workflow and does not wait for it.
func RunChildAsync[In, Out any](wf *Context, w Workflow[In, Out], in In, opts ...ChildOption) Child[Out] {
	wf.enter()
	p, id := startChild(wf, w, in, opts, false)
	return Child[Out]{Future[Out]{p}, id}
}

// StartDetached starts another workflow that is independent of this run: it outlives this
// run and is not canceled with it. StartDetached waits only until the new run exists. The
// error is a *ChildIDInUseError if its workflow ID belongs to another run.
func StartDetached[In, Out any](wf *Context, w Workflow[In, Out], in In, opts ...DetachedOption) (DetachedRun, error) {
	return StartDetachedAsync(wf, w, in, opts...).Get(wf)
}

// StartDetachedAsync is StartDetached without the wait. The workflow is started with the
// turn, even if the code never calls Get or this run ends with that turn; then it is
// unknown whether the workflow ID was free.
func StartDetachedAsync[In, Out any](wf *Context, w Workflow[In, Out], in In, opts ...DetachedOption) Child[DetachedRun] {
	wf.enter()
	p, id := startChild(wf, w, in, opts, true)
	return Child[DetachedRun]{Future[DetachedRun]{p}, id}
}

// Child is the future result of a run that this one started. Its zero value is not
// usable.
type Child[Out any] struct {
	Future[Out]
	id string
}

// ID returns the workflow ID of the child. Signals can be sent to it immediately: a
// signal that is sent after the start finds the child.
func (c Child[Out]) ID() string { return c.id }

// DetachedRun is a run that StartDetached started.
type DetachedRun struct {
	WorkflowID string
	RunID      string
}

// OnParentClose sets what happens to the child when it is no longer awaited: because its
// parent closed, in any way, or gave it up.
func OnParentClose(p ParentClosePolicy) ChildOption {
	return seal.SetChild(func(s *seal.StartSettings) { s.OnParentClose = string(p) })
}

// ChildReuse sets which earlier runs may have had the workflow ID of the child: see
// Reuse.
func ChildReuse(r Reuse) DetachedOption {
	return seal.SetDetached(func(s *seal.StartSettings) { s.Reuse = string(r) })
}

// Reuse says which ended runs a child may replace under its workflow ID. It never
// replaces an open run.
type Reuse string

// The rules.
const (
	// ReuseOwn allows the ID of an earlier child with the same workflow, of this run or
	// of an earlier one of its chain. It is the default, so a block or a run that is
	// retried can start its children again.
	ReuseOwn Reuse = "own"
	// ReuseEnded allows the ID of any run that has ended.
	ReuseEnded Reuse = "ended"
	// ReuseFailed allows the ID of any run that has ended without a result: it failed,
	// was canceled or terminated, or timed out.
	ReuseFailed Reuse = "failed"
	// ReuseNever requires an ID that no run has had.
	ReuseNever Reuse = "never"
)

var reuse = map[Reuse]history.Reuse{
	"": history.ReuseOwn, ReuseOwn: history.ReuseOwn, ReuseEnded: history.ReuseEnded,
	ReuseFailed: history.ReuseFailed, ReuseNever: history.ReuseNever,
}

// ParentClosePolicy says what happens to a child that is no longer awaited.
type ParentClosePolicy string

// The policies.
const (
	// ParentCloseCancel asks the child to cancel, so that it can clean up. It is the
	// default.
	ParentCloseCancel ParentClosePolicy = "cancel"
	// ParentCloseTerminate terminates the child.
	ParentCloseTerminate ParentClosePolicy = "terminate"
	// ParentCloseAbandon lets the child continue.
	ParentCloseAbandon ParentClosePolicy = "abandon"
)

var onParentClose = map[ParentClosePolicy]history.OnParentClose{
	"": history.CancelChild, ParentCloseCancel: history.CancelChild,
	ParentCloseTerminate: history.TerminateChild, ParentCloseAbandon: history.AbandonChild,
}

// startChild begins the call of a child, and says under which ID.
func startChild[In, Out any, O seal.ForChild](wf *Context, w Workflow[In, Out], in In, opts []O, detached bool) (*pending, string) {
	run := wf.instance.run
	var s seal.StartSettings
	s.Priority, s.Key, s.Weight = run.Start().Priority, run.Start().Key, run.Start().Weight
	seal.ApplyToChild(&s, opts)
	id := run.ChildID(w.Name())
	if s.ID != nil {
		id = *s.ID
	}
	if wf.over() {
		return refuse(w.Name(), wf.scope.aborted(w.Name())), id
	}
	input, err := history.Encode(in)
	if err != nil {
		err = fmt.Errorf("its input: %w", err)
	}
	if err := errors.Join(checkChild(w.Name(), &s, history.CheckWorkflowID), err); err != nil {
		return refuse(w.Name(), retry.Terminal(fmt.Errorf("the child %q cannot be started: %w", w.Name(), err))), id
	}
	s.Headers, s.Trace = wf.instance.interceptChild(w.Name(), id, wf.instance.childHeaders(s.Headers), cmp.Or(s.Trace, run.Start().Trace))
	child := core.StartChild{
		Workflow: w.Name(), Input: input, Settings: s.Settings, Delay: s.Delay, Trace: s.Trace,
		OnParentClose: onParentClose[ParentClosePolicy(s.OnParentClose)], Reuse: reuse[Reuse(s.Reuse)], Detached: detached, Shielded: wf.shielded(),
	}
	if s.ID != nil {
		child.WorkflowID = id
	}
	return wf.follow(run.StartChild(child)), id
}

// checkChild returns an error if no child can be started with the settings.
func checkChild(workflow string, s *seal.StartSettings, check func(id string) error) error {
	if err := history.CheckName("workflow name", workflow); err != nil {
		return err
	}
	if s.ID != nil {
		if err := check(*s.ID); err != nil {
			return err
		}
	}
	if _, known := reuse[Reuse(s.Reuse)]; !known {
		return &history.InputError{What: "reuse of the workflow ID", Problem: fmt.Sprintf("is %q; it is own, ended, failed or never", s.Reuse)}
	}
	if _, known := onParentClose[ParentClosePolicy(s.OnParentClose)]; !known {
		return &history.InputError{What: "parent close policy", Problem: fmt.Sprintf("is %q; it is cancel, terminate or abandon", s.OnParentClose)}
	}
	return cmp.Or(history.CheckDelay(s.Delay), s.Settings.Check(), s.Fault)
}

// ChildError is the error of a child that did not complete. It wraps the error of the
// child's code, for which errors.Is and errors.As hold as inside the child. The error of
// a canceled child is or wraps context.Canceled.
type ChildError struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`           // of the last run of its chain
	Workflow   string `json:"workflow"`         // name
	Status     string `json:"status"`           // failed, canceled, terminated or timed-out
	Reason     string `json:"reason,omitempty"` // given with the termination
	Err        error  `json:"-"`                // nil if it was terminated
}

// ChildIDInUseError means that a child was not started because its workflow ID belongs to
// another run, which may have ended: see ChildReuse. If that run has ended,
// workflow.Retry does not try again, because the start would be refused again.
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
