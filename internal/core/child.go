package core

import (
	"time"

	"github.com/perdure/perdure/internal/history"
)

// StartChild describes a run to start. Headers are all headers of the child, including
// those of its parent.
type StartChild struct {
	Workflow string // the workflow's name
	// WorkflowID is the child's ID; empty for Run.ChildID.
	WorkflowID string
	Input      history.Payload
	history.Settings
	Trace string        // trace parent of the child
	Delay time.Duration // before the child's code begins
	// OnParentClose is what happens to the child when its parent closes or gives it up.
	OnParentClose history.OnParentClose
	// Reuse says which closed run the child may follow under its workflow ID.
	Reuse history.Reuse
	// Detached waits only until the run is known to exist.
	Detached bool
	// Shielded says that a request to cancel the parent does not reach the call.
	Shielded bool
}

// ChildCall is the state of a run that a call started.
type ChildCall struct {
	WorkflowID string
	Run        string // ID of its first run, which names the chain; of its last run once it has ended
	Status     string // how it ended, empty while it is open
	Reason     string // why it was terminated

	onParentClose history.OnParentClose
}

// Statuses in FromChild beside those of closed runs.
const (
	ChildStarted = "started"   // a detached child exists
	ChildIDInUse = "id-in-use" // another run has its workflow ID
)

// FromChild tells a run about one that it started. It is dropped if its call is closed.
type FromChild struct {
	Call    int64            `json:"call"`
	Status  string           `json:"status"` // completed, failed, canceled, terminated, or one of the above
	Run     string           `json:"run"`    // the run that ended, was started, or has the ID
	Result  history.Payload  `json:"result,omitzero"`
	Failure *history.Failure `json:"failure,omitempty"`
	Reason  string           `json:"reason,omitempty"` // of a termination
	Note    string           `json:"note,omitempty"`   // status of the run that has the ID
	Ended   int64            `json:"ended,omitempty"`  // when it ended, 0 if it has not
}

func (FromChild) input() {}

// open opens the call of a child and, live, sends the message that starts it.
func (h children) open(e *history.Event) {
	c := h.calls.open(e)
	c.Child = &ChildCall{WorkflowID: e.ID, Run: e.Child.Run, onParentClose: e.Child.OnParentClose}
	h.calls.childCalls++
	if h.journal.out == nil {
		return
	}
	start := &history.Start{
		Kind: history.RunStarted, Format: history.Format,
		WorkflowID: e.ID, Run: e.Child.Run, Type: e.Name, Group: h.journal.start.Group, Chain: e.Child.Run, Attempt: 1,
		Input: e.Input, Trace: e.Trace, Created: h.journal.now, FirstTurn: e.Due,
		Settings: history.Settings{
			Memo: e.Child.Memo, Attributes: e.Child.Attributes, Priority: e.Priority, Key: e.Child.Key, Weight: e.Child.Weight, Retry: e.Policy,
			Headers:    history.ChangeHeaders(h.journal.start.Headers, e.Child.Headers),
			RunTimeout: e.Child.RunTimeout, ChainTimeout: e.Child.ChainTimeout,
		},
		Parent: &history.Parent{
			WorkflowID: h.journal.start.WorkflowID, Run: h.journal.start.Run, Call: e.Call, Detached: !c.awaitsRun(),
			Chain: h.journal.start.Chain, Reuse: e.Child.Reuse,
		},
	}
	if limit := start.ChainTimeout; limit > 0 {
		start.ChainDeadline = addTime(max(h.journal.now, start.FirstTurn), limit)
	}
	h.journal.send(Message{WorkflowID: e.ID, Run: e.Child.Run, Start: start})
}

// close closes the call of a child that has ended or could not begin, or of a detached
// child that exists.
func (h children) close(in FromChild) {
	c := h.calls.byNumber[in.Call]
	if c == nil || c.Child == nil || in.Status == ChildStarted && c.awaitsRun() {
		h.journal.out.Dropped++
		return
	}
	e := history.Event{
		Kind: history.CallFailed, Call: in.Call, Result: in.Result, Failure: in.Failure, Reason: in.Reason, Note: in.Note,
		Ended: h.journal.now, Child: &history.Child{Run: in.Run, Status: in.Status},
	}
	switch in.Status {
	case string(StatusCompleted), ChildStarted:
		e.Kind = history.CallCompleted
	case string(StatusCanceled):
		e.Kind = history.CallCanceled
	}
	h.attempts.emit(e)
}

// cancel passes a cancel request on to an awaited child.
func (h children) cancel(c *Call) {
	reason := "its parent does not want it any more"
	if h.journal.cancellation.requested && h.journal.cancellation.reason != "" {
		reason = h.journal.cancellation.reason
	}
	h.askToEnd(c, CancelTheRun, reason)
}

// abandon applies the recorded parent-close policy to a child that its parent gives up.
func (h children) abandon(c *Call, reason string) {
	switch {
	case !c.awaitsRun():
	case c.Child.onParentClose == history.TerminateChild:
		h.askToEnd(c, TerminateTheRun, reason)
	case c.Child.onParentClose == history.CancelChild && !c.cancelRequested:
		h.askToEnd(c, CancelTheRun, reason)
	}
}

// askToEnd asks the latest run of a child's chain to end.
func (h children) askToEnd(c *Call, how Operation, reason string) {
	h.journal.send(Message{WorkflowID: c.Child.WorkflowID, Input: Control{Operation: how, Reason: reason, Chain: c.Child.Run}})
}

// notifyParent sends the outcome of a chain to the run that waits for it.
func (h children) notifyParent(e *history.Event) {
	p := h.journal.start.Parent
	if p == nil || p.Detached || e.Kind == history.RunContinued {
		return
	}
	in := FromChild{Call: p.Call, Status: string(endStatus[e.Kind]), Run: h.journal.start.Run, Result: e.Result, Failure: e.Failure, Ended: h.journal.now}
	if e.Kind == history.RunTerminated {
		in.Reason = e.Reason
	}
	h.journal.send(Message{WorkflowID: p.WorkflowID, Run: p.Run, Input: in})
}
