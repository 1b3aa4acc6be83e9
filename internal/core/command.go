package core

import (
	"cmp"
	"time"

	"github.com/perdure/perdure/internal/gates"
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

	// Gates are what the attempts pass through, sorted by name and without duplicates.
	Gates    []gates.Spec
	Priority int // among calls that wait at a gate or for a slot; 0: that of the run
}

// StartCall begins an activity call or an inline step.
func (r *Run) StartCall(s StartCall) *Call {
	e := history.Event{Kind: s.Kind, Call: r.calls.lastCall + 1, Name: s.Name, Queue: s.Queue, Trace: s.Trace, Input: s.Input, Gates: s.Gates, Priority: s.Priority, Shielded: s.Shielded}
	if s.Policy != nil && !s.Policy.IsZero() {
		e.Policy = s.Policy
	}
	return r.begin(e)
}

// StartTimer begins a timer that fires d from now.
func (r *Run) StartTimer(name string, d time.Duration) *Call {
	return r.begin(history.Event{Kind: history.TimerStarted, Call: r.calls.lastCall + 1, Name: name, Due: addTime(r.journal.now, d)})
}

// StartDeadline begins the timer that is the deadline of a block of code, d from now. If
// block is 0, the timer's own number stands for the block.
func (r *Run) StartDeadline(block int64, name string, d time.Duration) *Call {
	n := r.calls.lastCall + 1
	return r.begin(history.Event{Kind: history.TimerStarted, Call: n, Name: name, Due: addTime(r.journal.now, d), Block: cmp.Or(block, n)})
}

// AwaitSignal begins to wait for the next signal of a name. A buffered signal is received
// immediately.
func (r *Run) AwaitSignal(name string) *Call {
	return r.begin(history.Event{Kind: history.SignalAwaited, Call: r.calls.lastCall + 1, Name: name})
}

// Send sends a signal to the latest run of a workflow ID.
func (r *Run) Send(workflowID, signal string, value history.Payload) {
	r.begin(history.Event{Kind: history.SignalSent, Call: r.calls.lastCall + 1, Name: signal, ID: workflowID, Input: value})
}

// SideEffect records and returns the value of f. A replay returns the recorded value
// without calling f. If f returns an error, SideEffect returns it and records nothing.
func (r *Run) SideEffect(name string, f func() (history.Payload, error)) (history.Payload, error) {
	e := history.Event{Kind: history.SideEffectRecorded, Call: r.calls.lastCall + 1, Name: name}
	if !r.onRecord() {
		var err error
		if e.Result, err = f(); err != nil {
			return history.Payload{}, err
		}
	}
	return r.begin(e).Result, nil
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
		r.command(history.Event{Kind: history.TimerCanceled, Call: c.Number})
	case c.Kind == history.DetachedScheduled && !abandon: // the reply comes soon and is worth knowing
	case c.cancelRequested && !abandon:
	default:
		r.command(r.cancelRequest(c, abandon))
	}
}

// cancelRequest returns the command that gives a call up. History does not say how far a
// call came after its first attempt started, so the command must hold what the code is told
// of it.
func (r *Run) cancelRequest(c *Call, abandon bool) history.Event {
	e := history.Event{Kind: history.CallCancelRequested, Call: c.Number, Closed: abandon || c.state != Dispatched && c.state != Remote && !c.awaitsRun()}
	if e.Closed && c.attempted() && (c.attempt > 1 || c.state != Dispatched) && !r.onRecord() {
		e.Failure, e.Retry = given(c), r.ledger.summary(c, false, r.journal.now)
		if e.Retry != nil && !inFlight(c.state) && c.Undecided == nil {
			e.Retry.TotalAttempts-- // the coming attempt
		}
	}
	return e
}

// Return puts a received signal back to its place before all later ones. The call is then
// as if it had been canceled before.
func (r *Run) Return(c *Call) {
	if c.Kind != history.SignalAwaited || !c.Done || c.Failure != nil {
		return
	}
	value := c.Result
	c.Result, c.Failure = history.Payload{}, given(c)
	r.command(history.Event{Kind: history.CallCancelRequested, Call: c.Number, Name: c.Name, Input: value, Place: c.place, Closed: true})
}

// Complete ends the run with a result.
func (r *Run) Complete(result history.Payload) {
	r.command(history.Event{Kind: history.RunCompleted, Result: result})
}

// begin issues a command that begins a call and returns the call.
func (r *Run) begin(e history.Event) *Call {
	r.limitPending(&e)
	r.command(e)
	return r.calls.opened
}

// command records and applies a command. In a replay it compares the command with the
// recorded one and applies that.
func (r *Run) command(e history.Event) {
	r.exchangeInput(&e)
	if !r.onRecord() {
		r.happened(e)
		return
	}
	if r.position >= len(r.expected) || !same(&r.expected[r.position], &e) {
		actual := e // a copy, so that e does not escape in the usual case
		r.differ(r.next(), &actual)
	}
	recorded := &r.expected[r.position]
	r.position++
	r.apply(recorded)
}

// next returns the recorded command that the code has to issue now, or nil.
func (r *Run) next() *history.Event {
	if !r.onRecord() || r.position >= len(r.expected) {
		return nil
	}
	return &r.expected[r.position]
}

// differ stops the code because its command differs from the record.
func (r *Run) differ(expected, actual *history.Event) {
	r.mismatch = &Mismatch{Turn: r.CurrentTurn(), Command: r.position + 1, Expected: expected, Actual: actual}
	if !r.replaying {
		r.mismatch.Command = 1
		for i := range r.journal.out.Events {
			if r.journal.out.Events[i].Kind.Command() {
				r.mismatch.Command++
			}
		}
	}
	r.journal.program.Halt()
}

// Replaying reports whether the code repeats recorded commands.
func (r *Run) Replaying() bool { return r.replaying }
