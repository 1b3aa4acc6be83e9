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
	Policy *retry.Policy // nil and zero are the same; it must not change from then on

	// Gates are what its attempts pass through, by name, each once.
	Gates    []gates.Spec
	Priority int // of the call among those who wait there and for a slot; 0: that of the run
}

// StartCall begins an activity call or an inline step.
func (r *Run) StartCall(s StartCall) *Call {
	e := history.Event{Kind: s.Kind, Call: r.lastCall + 1, Name: s.Name, Queue: s.Queue, Trace: s.Trace, Input: s.Input, Gates: s.Gates, Priority: s.Priority}
	if s.Policy != nil && !s.Policy.IsZero() {
		e.Policy = s.Policy
	}
	return r.begin(e)
}

// StartTimer begins a timer that fires d from now.
func (r *Run) StartTimer(name string, d time.Duration) *Call {
	return r.begin(history.Event{Kind: history.TimerStarted, Call: r.lastCall + 1, Name: name, Due: addTime(r.now, d)})
}

// StartDeadline begins the timer that is the deadline of a block of code, d from now. A
// block that is 0 has no other number than that of the timer.
func (r *Run) StartDeadline(block int64, name string, d time.Duration) *Call {
	n := r.lastCall + 1
	return r.begin(history.Event{Kind: history.TimerStarted, Call: n, Name: name, Due: addTime(r.now, d), Block: cmp.Or(block, n)})
}

// AwaitSignal begins to wait for the next signal of a name. A buffered one is
// there immediately.
func (r *Run) AwaitSignal(name string) *Call {
	return r.begin(history.Event{Kind: history.SignalAwaited, Call: r.lastCall + 1, Name: name})
}

// Send sends a signal to the latest run of a workflow ID.
func (r *Run) Send(workflowID, signal string, value history.Payload) {
	r.begin(history.Event{Kind: history.SignalSent, Call: r.lastCall + 1, Name: signal, ID: workflowID, Input: value})
}

// SideEffect records the value f returns. In a replay f is not called and the
// recorded value is returned. An error of f is returned and nothing is recorded.
func (r *Run) SideEffect(name string, f func() (history.Payload, error)) (history.Payload, error) {
	e := history.Event{Kind: history.SideEffectRecorded, Call: r.lastCall + 1, Name: name}
	if !r.onRecord() {
		var err error
		if e.Result, err = f(); err != nil {
			return history.Payload{}, err
		}
	}
	return r.begin(e).Result, nil
}

// Cancel gives a call up. With abandon its outcome is dropped. Without,
// an attempt in flight is asked to end and the call is done when it has: a
// success is kept; anything else is a cancellation. A call with no attempt in
// flight is done immediately either way, and one that is done stays as it is. A child
// is asked to cancel and waited for, or with abandon left as is on record for that.
func (r *Run) Cancel(c *Call, abandon bool) {
	switch {
	case c.Done:
	case c.Kind == history.TimerStarted:
		r.command(history.Event{Kind: history.TimerCanceled, Call: c.Number})
	case c.Kind == history.DetachedScheduled && !abandon: // what it waits for comes soon, and is worth knowing
	case c.cancelRequested && !abandon:
	default:
		r.command(r.cancelRequest(c, abandon))
	}
}

// cancelRequest makes the command that gives a call up. How far a call had come
// after its first attempt was started is not in history, so what the code is told
// of it must be.
func (r *Run) cancelRequest(c *Call, abandon bool) history.Event {
	e := history.Event{Kind: history.CallCancelRequested, Call: c.Number, Closed: abandon || c.state != Dispatched && c.state != Remote && !c.awaitsRun()}
	if e.Closed && c.attempted() && (c.attempt > 1 || c.state != Dispatched) && !r.onRecord() {
		e.Failure, e.Retry = given(c), r.summary(c, false, r.now)
		if e.Retry != nil && !inFlight(c.state) && c.Undecided == nil {
			e.Retry.TotalAttempts-- // the coming one
		}
	}
	return e
}

// Return gives back the signal that a call received, to its place before all that
// came later, and the call is as if it had been canceled before.
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

// begin records a command that begins a call and returns the call.
func (r *Run) begin(e history.Event) *Call {
	r.limitPending(&e)
	r.command(e)
	return r.opened
}

// command records and applies a command, or compares it with the one on record
// and applies that.
func (r *Run) command(e history.Event) {
	r.exchangeInput(&e)
	if !r.onRecord() {
		r.happened(e)
		return
	}
	if r.position >= len(r.expected) || !same(&r.expected[r.position], &e) {
		actual := e // so that the usual case needs no memory for it
		r.differ(r.next(), &actual)
	}
	recorded := &r.expected[r.position]
	r.position++
	r.apply(recorded)
}

// next is the command on record that the code has to ask for now, nil if there is
// none.
func (r *Run) next() *history.Event {
	if !r.onRecord() || r.position >= len(r.expected) {
		return nil
	}
	return &r.expected[r.position]
}

// differ stops the code, because it asks for something else than what is on record.
func (r *Run) differ(expected, actual *history.Event) {
	r.mismatch = &Mismatch{Turn: r.CurrentTurn(), Command: r.position + 1, Expected: expected, Actual: actual}
	if !r.replaying {
		r.mismatch.Command = 1
		for i := range r.out.Events {
			if r.out.Events[i].Kind.Command() {
				r.mismatch.Command++
			}
		}
	}
	r.program.Halt()
}

// Replaying reports whether the code does again what is on record.
func (r *Run) Replaying() bool { return r.replaying }

// CurrentTurn is the number of the turn in which the code runs.
func (r *journal) CurrentTurn() int64 {
	if r.out != nil {
		return r.turn + 1
	}
	return r.turn
}

// Now is the time of the current turn, ns since 1970.
func (r *journal) Now() int64 { return r.now }

// Start is the run's start event.
func (r *journal) Start() history.Start { return r.start }

// Began is Start without a copy. It is read-only.
func (r *journal) Began() *history.Start { return &r.start }

// Self is the start event as the code sees it: a run that was reset or forked is, up to
// the call from which on it is its own, the one from which its history is.
func (r *Run) Self() history.Start {
	s := r.start
	if s.Base != nil {
		was := r.identity(r.lastCall + 1)
		s.WorkflowID, s.Run, s.Attempt = was.WorkflowID, was.Run, was.Attempt
		s.Created, s.FirstTurn, s.ChainDeadline = was.Created, was.FirstTurn, was.ChainDeadline
	}
	return s
}

// DefaultPolicy is the policy of calls that say nothing themselves, nil for the
// zero one.
func (r *journal) DefaultPolicy() *retry.Policy { return r.config.Policy }

// Draw is the jitter draw for an attempt of a call.
func (r *journal) Draw(call int64, attempt int) float64 {
	return r.config.Draw(r.identity(call).Run, call, attempt)
}

// NextCall is the number the next call will have.
func (r *callTable) NextCall() int64 { return r.lastCall + 1 }

// CancelRequested reports whether the run was asked to cancel.
func (r *journal) CancelRequested() bool { return r.cancellation.requested }
