package core

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// StartCall describes an activity call or an inline step.
type StartCall struct {
	Kind   history.Kind // ActivityScheduled or StepScheduled
	Name   string
	Queue  string
	Trace  string
	Input  history.Payload
	Policy *retry.Policy // nil and zero are the same; must not change afterwards

	Shielded bool // a request to cancel the run does not reach the call

	Verify *history.Verify // how to ask about attempts in doubt, nil for not at all

	// Gates are what the attempts pass through, sorted by name and without duplicates.
	Gates    []history.GateSpec
	Priority int // among calls that wait at a gate or for a slot; 0: that of the run
}

// StartCall begins an activity call or an inline step.
func (r *Run) StartCall(s StartCall) *Call {
	e := history.Event{Kind: s.Kind, Name: s.Name, Queue: s.Queue, Trace: s.Trace, Input: s.Input, Gates: s.Gates, Priority: s.Priority, Shielded: s.Shielded, Verify: s.Verify}
	if s.Policy != nil && !s.Policy.IsZero() {
		e.Policy = s.Policy
	}
	return r.code.begin(e)
}

// StartTimer begins a timer that fires d from now.
func (r *Run) StartTimer(name string, d time.Duration) *Call {
	return r.code.begin(history.Event{Kind: history.TimerStarted, Name: name, Due: addTime(r.journal.now, d)})
}

// StartDeadline begins the timer that is the deadline of a block of code, d from now. If
// block is 0, the timer's own number stands for the block.
func (r *Run) StartDeadline(block int64, name string, d time.Duration) *Call {
	return r.code.begin(history.Event{Kind: history.TimerStarted, Name: name, Due: addTime(r.journal.now, d), Block: cmp.Or(block, r.NextCall())})
}

// AwaitSignal begins to wait for the next signal of a name. A buffered signal is received
// immediately.
func (r *Run) AwaitSignal(name string) *Call {
	return r.code.begin(history.Event{Kind: history.SignalAwaited, Name: name})
}

// Send sends a signal to the latest run of a workflow ID.
func (r *Run) Send(workflowID, signal string, value history.Payload) {
	r.code.begin(history.Event{Kind: history.SignalSent, Name: signal, ID: workflowID, Input: value})
}

// SideEffect records and returns the value of f. A replay returns the recorded value
// without calling f. If f returns an error, SideEffect returns it and records nothing.
func (r *Run) SideEffect(name string, f func() (history.Payload, error)) (history.Payload, error) {
	e := history.Event{Kind: history.SideEffectRecorded, Name: name}
	if !r.code.onRecord() {
		var err error
		if e.Result, err = f(); err != nil {
			return history.Payload{}, err
		}
	}
	return r.code.begin(e).Result, nil
}

// Cancel gives a call up. With abandon, its outcome is dropped. Without abandon, an attempt
// in flight is asked to end, and the call is done when the attempt has ended: a success is
// kept, and anything else is a cancellation. A call without an attempt in flight is done
// immediately either way. A call that is done stays as it is. A child is asked to cancel
// and awaited; with abandon, its recorded parent-close policy applies.
func (r *Run) Cancel(c *Call, abandon bool) {
	switch {
	case c.Done:
	case c.Kind == history.TimerStarted:
		r.code.command(history.Event{Kind: history.TimerCanceled, Call: c.Number})
	case c.Kind == history.DetachedScheduled && !abandon: // the reply comes soon and is worth knowing
	case c.cancelRequested && !abandon:
	default:
		// History does not say how far a call came after its first attempt started, so the command
		// must hold what the code is told of it.
		e := history.Event{Kind: history.CallCancelRequested, Call: c.Number, Closed: abandon || c.state != Dispatched && c.state != Remote && !c.awaitsRun()}
		if e.Closed && c.attempted() && (c.attempt > 1 || c.state != Dispatched) && !r.code.onRecord() {
			e.Failure, e.Retry = abortedFailure(c), r.ledger.summaryNow(c)
		}
		r.code.command(e)
	}
}

// Return puts a received signal back to its place before all later ones. The call is then
// as if it had been canceled before.
func (r *Run) Return(c *Call) {
	if c.Kind != history.SignalAwaited || !c.Done || c.Failure != nil {
		return
	}
	value := c.Result
	c.Result, c.Failure = history.Payload{}, abortedFailure(c)
	r.code.command(history.Event{Kind: history.CallCancelRequested, Call: c.Number, Name: c.Name, Input: value, Place: c.arrival, Closed: true})
}

// Complete ends the run with a result.
func (r *Run) Complete(result history.Payload) {
	r.code.command(history.Event{Kind: history.RunCompleted, Result: result})
}

// Continue closes the run. The next run of its chain begins with the input, as attempt 1 of
// the workflow.
func (r *Run) Continue(workflow string, input history.Payload) {
	r.code.command(history.Event{
		Kind: history.RunContinued, Name: workflow, Input: input, Initiator: history.ContinueAsNew,
		ID: NextRunID(r.journal.start.Run, r.journal.now), Attempt: 1,
	})
}

// Fail ends the run with a failure; canceled says that it follows a cancel request. A
// failed run is retried if its policy says so. The decision is recorded, and a replay does
// not repeat it.
//
// replaced says that an interceptor replaced the code's failure, which is then not compared
// with the record.
func (r *Run) Fail(f *history.Failure, canceled, replaced bool) {
	e := history.Event{Kind: history.RunFailed, Failure: f}
	if canceled {
		e.Kind = history.RunCanceled
	} else if policy := r.facts.retries().retryPolicy(); policy != nil && !r.code.onRecord() {
		e = r.facts.retries().decide(f, policy)
	}
	if replaced {
		e.Note = failureReplaced
	}
	r.code.command(e)
}

// StartChild starts a run under a workflow ID of its own. The message that starts it is
// part of the turn.
func (r *Run) StartChild(s StartChild) *Call {
	if s.WorkflowID == "" {
		s.WorkflowID = r.ChildID(s.Workflow)
	}
	e := history.Event{
		Kind: history.ChildScheduled, Name: s.Workflow, ID: s.WorkflowID, Input: s.Input,
		Policy: s.Retry, Priority: s.Priority, Trace: s.Trace, Shielded: s.Shielded,
		Child: &history.Child{
			Run: ChildRunID(r.journal.start.Run, r.NextCall(), r.journal.now), OnParentClose: s.OnParentClose, Reuse: s.Reuse, Memo: s.Memo, Attributes: s.Attributes, Key: s.Key, Weight: s.Weight,
			Headers: history.HeaderChanges(r.journal.start.Headers, s.Headers), RunTimeout: s.RunTimeout, ChainTimeout: s.ChainTimeout,
		},
	}
	if s.Detached {
		e.Kind = history.DetachedScheduled
	}
	if s.Delay > 0 {
		e.Due = addTime(r.journal.now, s.Delay)
	}
	return r.code.begin(e)
}

// ChildID returns the default workflow ID of a child of this workflow name that the next
// call starts. It consists of the parent's workflow ID, the name, the number of the call
// and the end of the parent's run ID, such as "order-17/ship/3-5f0c9e8a71b2". The last part
// separates the children of different runs of the parent's workflow ID, such as earlier
// attempts.
func (r *Run) ChildID(name string) string {
	call := r.NextCall()
	parent := r.journal.identity(call)
	id := fmt.Sprintf("%s/%s/%d-%s", parent.WorkflowID, name, call, parent.Run[strings.LastIndexByte(parent.Run, '-')+1:])
	if len(id) > history.MaxID || history.Reserved(id) != "" {
		return CallID(parent.Run, call)
	}
	return id
}

// SetAttribute sets an attribute of the run. Once the turn is durable, the run and its
// successors are found by it. Setting the same value again records nothing. An invalid
// attribute returns an error and records nothing.
func (r *Run) SetAttribute(name, value string) error {
	if err := history.CheckAttribute(name, value); err != nil {
		return err
	}
	have, has := r.facts.attributes[name]
	switch {
	case has && have == value:
		return nil
	case !has && len(r.facts.attributes) >= history.MaxAttributes:
		return &history.InputError{What: fmt.Sprintf("attribute %q", name), Problem: fmt.Sprintf("is one too many; a run has at most %d", history.MaxAttributes)}
	}
	encoded, err := history.Encode(value)
	if err != nil {
		return err
	}
	r.code.command(history.Event{Kind: history.AttributeSet, Name: name, Input: encoded})
	return nil
}

// RemoveAttribute removes an attribute, if the run has it.
func (r *Run) RemoveAttribute(name string) {
	if _, has := r.facts.attributes[name]; has {
		r.code.command(history.Event{Kind: history.AttributeRemoved, Name: name})
	}
}

// Version returns the version of a change that this run has, between least and latest. It
// is latest when the code first gets here, and the recorded version afterwards. A run that
// passed this point before the code had the mark has version 0, which is not recorded. A
// version outside the range is a mismatch.
func (r *Run) Version(change string, least, latest int) int {
	recorded := r.code.next()
	if recorded != nil && (recorded.Kind != history.VersionMarked || recorded.Name != change) {
		recorded = nil
	}
	v, known := r.facts.versions[change]
	switch {
	case known:
	case recorded != nil:
		v = recorded.Version
	case !r.code.onRecord():
		v = latest
	}
	if v < least || v > latest {
		expected := r.code.next()
		if v > 0 {
			expected = &history.Event{Kind: history.VersionMarked, Name: change, Version: v}
		}
		r.code.stop(expected, &history.Event{
			Kind: history.VersionMarked, Name: change, Note: fmt.Sprintf("a version from %d to %d", least, latest),
		})
	}
	switch {
	case known:
	case recorded != nil || !r.code.onRecord():
		r.code.begin(history.Event{Kind: history.VersionMarked, Name: change, Version: v})
	default:
		r.facts.setVersion(change, v)
	}
	return v
}
