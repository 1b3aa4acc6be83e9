package core

import (
	"cmp"

	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/suspects"
	"github.com/perdure/perdure/retry"
)

// Call is one durable operation of a run. The code holds it to learn its result. The
// exported fields are read-only.
type Call struct {
	Number int64
	Kind   history.Kind // kind of the command that began it
	Name   string
	Queue  string
	Trace  string
	Input  history.Payload
	Policy *retry.Policy // in force, as recorded; read-only

	Gates    []gates.Spec // what its attempts pass through, sorted by name
	Priority int          // at the gates and among calls that want a slot; higher goes first

	Child *ChildCall // set if the call starts a run
	Block int64      // block whose timer this is, 0 for none

	// Shielded says that a request to cancel the run does not reach the call.
	Shielded bool

	backoffOf *Block // block whose next try this backoff timer precedes, nil for none

	// Once Done, either Failure is set or Result is the value.
	Done    bool
	Result  history.Payload
	Failure *history.Failure
	Retry   *history.Summary

	// Since is the place at which the call became done in the order of the run: see
	// Run.Place.
	Since int64

	// Follower, if set, is notified when Done becomes true.
	Follower Follower

	// Reader, if set, checks whether the code can read a result.
	Reader Reader

	attempts
	due             int64 // timers, backoff, queue timeouts: when to look at the call next
	early           bool  // in backoff: the attempt may not need a slot until it begins
	unslotted       bool  // ready: the attempt needs no slot until it begins
	place           int64 // place of the received signal among those of its name
	cancelRequested bool  // by the code
	unserved        bool  // queued, and counted in callTable.unserved with its reason
	hasRow          bool  // the call has a row on disk
	isDirty         bool
}

// Follower is code that waits for a call. Follower and Reader are interfaces because a
// function would cost an allocation per call.
type Follower interface{ CallDone() }

// Reader reads a result for the code.
type Reader interface{ Read(history.Payload) error }

// Probation reports whether the next attempt runs in the probation lane.
func (c *Call) Probation() bool { return c.OnProbation }

// Unslotted reports whether the next attempt needs no slot until it begins: see
// Config.Unslotted.
func (c *Call) Unslotted() bool { return c.unslotted }

// Suspect returns what is known of a call whose process died while the call ran.
func (c *Call) Suspect() suspects.Suspect {
	return suspects.Suspect{Charged: len(c.CrashedOn), Group: c.Group}
}

// Step reports whether the call is an inline step, whose body is part of the workflow code.
func (c *Call) Step() bool { return c.Kind == history.StepScheduled }

func (c *Call) attempted() bool {
	return c.Kind == history.ActivityScheduled || c.Kind == history.StepScheduled
}

// close marks the call as done and lets the code see it.
func (r *execution) close(c *Call) {
	r.leaveAllGates(c)
	c.Done = true
	c.Since = r.placeOf(c)
	r.setState(c, "")
	r.setUntold(c, false)
	c.due = 0
	r.forget(c)
	r.mustAdvance = true
	if c.Follower != nil {
		c.Follower.CallDone()
	}
}

// placeOf returns the place of a call that becomes done. Timers that are due at the same time
// and fire together share one, so that none of them is first.
func (r *callTable) placeOf(c *Call) int64 {
	if c.Kind != history.TimerStarted || c.Failure != nil {
		return r.Place()
	}
	same := fired{r.place, r.CurrentTurn(), c.due}
	if r.fired != same {
		same.place = r.Place()
		r.fired = same
	}
	return r.place
}

// forget removes a call from the open ones.
func (r *callTable) forget(c *Call) {
	if c.Child != nil {
		r.childCalls--
	}
	delete(r.calls, c.Number)
	r.touch(c)
}

// setState moves a call to another state and updates the counts per state.
func (r *callTable) setState(c *Call, s CallState) {
	r.counted(c.state, -1)
	c.state = s
	r.counted(s, 1)
	r.noteLack(c, "")
}

// noteLack notes why a queued call cannot start here, or with "" that it can or need not.
func (r *callTable) noteLack(c *Call, why string) {
	if c.Unserved == why && c.unserved == (why != "") {
		return // the usual case
	}
	if lack := (Lack{c.Name, c.Unserved}); c.unserved {
		if r.unserved[lack]--; r.unserved[lack] == 0 {
			delete(r.unserved, lack)
		}
	}
	if c.Unserved != why {
		c.Unserved = why
		r.touch(c)
	}
	if c.unserved = why != ""; c.unserved {
		if r.unserved == nil {
			r.unserved = map[Lack]int{}
		}
		r.unserved[Lack{c.Name, why}]++
	}
}

// counted adds n to the counts that include a state.
func (r *callTable) counted(s CallState, n int) {
	switch s {
	case External:
		r.outside += n
	case Offered, Remote:
		r.outside += n
		r.inQueues += n
	case Queued:
		r.queued += n
		r.busy += n
	case Dispatched:
		r.busy += n
	}
}

// touch marks the call's row as possibly changed.
func (r *callTable) touch(c *Call) {
	if !c.isDirty && r.out != nil {
		c.isDirty = true
		r.dirty = append(r.dirty, c)
	}
}

// apply changes the machine as an event says, both live and in replay.
func (r *Run) apply(e *history.Event) {
	switch e.Kind {
	case history.SignalAwaited:
		r.signals.mailbox(e.Name).await(&r.signals, r.open(e))
	case history.VersionMarked:
		r.close(r.open(e))
		r.setVersion(e.Name, e.Version)
	case history.BlockStarted:
		r.close(r.open(e))
		r.startBlock(e)
	case history.SignalSent:
		r.close(r.open(e))
		if r.out != nil {
			r.out.Messages = append(r.out.Messages, Message{
				WorkflowID: e.ID, Input: Control{Operation: SignalTheRun, Signal: e.Name, SignalID: sentID(r.start.Run, e.Call), Value: e.Input},
			})
		}
	case history.ChildScheduled, history.DetachedScheduled:
		r.children.begin(e)
	case history.CallCancelRequested:
		r.applyCancelRequested(e)
	case history.RunControlled:
		r.applyRunControlled(e)
	case history.SignalReceived:
		r.signals.received(e)
	case history.UpdateAccepted:
		r.applyUpdateAccepted(e)
	case history.AttributeSet, history.AttributeRemoved:
		r.applyAttribute(e)
	case history.UpdateCompleted:
		if r.out != nil {
			r.out.Answered = true
		}
	case history.RunCancelRequested:
		r.applyCancellation(e)
	case history.CodeAdvanced:
		r.mustAdvance = true
	case history.RunPinned:
		r.applyPin(e)
	case history.RunCompleted, history.RunFailed, history.RunCanceled, history.RunTerminated, history.RunTimedOut, history.RunContinued:
		r.applyEnd(e)
	default:
		r.execution.apply(e)
	}
}

// apply opens or closes a call for an event that concerns nothing but calls.
func (r *execution) apply(e *history.Event) {
	c := r.calls[e.Call]
	switch e.Kind {
	case history.ActivityScheduled, history.StepScheduled:
		r.applyScheduled(e)
	case history.TimerStarted:
		c = r.open(e)
		c.due, c.Block = e.Due, e.Block
		r.watch(c)
		r.backsOff(c, e)
	case history.SideEffectRecorded:
		c = r.open(e)
		c.Result = e.Result
		r.close(c)
	case history.CallRefused:
		c = r.open(e)
		c.Failure, c.Block = e.Failure, e.Block
		r.close(c)
	case history.TimerFired:
		if c != nil {
			r.close(c)
		}
	case history.TimerCanceled:
		if c != nil {
			c.Failure = given(c)
			r.close(c)
		}
	case history.CallCompleted, history.CallFailed, history.CallCanceled:
		if c != nil {
			c.Result, c.Failure, c.Retry = e.Result, e.Failure, e.Retry
			c.Child.learn(e)
			r.count(c, e)
			r.close(c)
		}
	case history.CallControlled:
		r.applyControlled(e)
	}
}

// happened puts an event about a call on record and applies it.
func (r *execution) happened(e history.Event) {
	r.emit(e)
	r.apply(&e)
}

// open adds the call that a command event begins.
func (r *callTable) open(e *history.Event) *Call {
	c := &Call{Number: e.Call, Kind: e.Kind, Name: e.Name, Queue: e.Queue, Trace: e.Trace, Input: e.Input, Shielded: e.Shielded}
	r.lastCall = max(r.lastCall, e.Call)
	r.calls[c.Number] = c
	r.opened = c
	return c
}

// zeroPolicy is in force for calls without a recorded policy.
var zeroPolicy retry.Policy

func (r *execution) applyScheduled(e *history.Event) {
	c := r.open(e)
	if c.Policy = e.Policy; c.Policy == nil {
		c.Policy = &zeroPolicy
	}
	c.attempt = 1
	c.First = r.now
	c.QueuedAt = r.now
	c.Gates, c.Priority = e.Gates, cmp.Or(e.Priority, r.start.Priority)
	c.AtGates = make([]atGate, len(e.Gates))
	if r.out != nil {
		r.wantSlot(c)
		return
	}
	// Without a row the call is in its first attempt, which started with the turn.
	r.setState(c, Dispatched)
	c.StartedAt = r.now
	if r.config.Owner != nil {
		c.Node = r.config.Owner(r.epoch)
	}
}

func (r *Run) applyCancelRequested(e *history.Event) {
	c := r.calls[e.Call]
	if c == nil {
		if e.Place != 0 { // give back a signal that was delivered but not read
			r.signals.mailbox(e.Name).deliver(&r.signals, received{e.Input, e.Place})
		}
		return
	}
	switch {
	case c.Kind == history.SignalAwaited:
		r.signals.mailbox(c.Name).withdraw(c)
	case c.Child != nil && e.Closed:
		r.children.leave(c, "its parent does not want it any more")
	case c.Child != nil:
		r.children.cancel(c)
	}
	c.cancelRequested = true
	if r.out != nil && inFlight(c.state) {
		r.interrupt(c, e.Closed)
	}
	if e.Closed {
		c.Failure, c.Retry = e.Failure, e.Retry
		if c.Failure == nil {
			c.Failure = given(c)
		}
		r.count(c, e)
		r.close(c)
	}
}

func (r *Run) applyEnd(e *history.Event) {
	r.ended = true
	detail := Detail{Result: resultOf(e), Failure: e.Failure, Says: r.says}
	switch e.Kind {
	case history.RunTerminated:
		detail.Reason = e.Reason
	case history.RunContinued:
		detail.Next, detail.Initiator = e.ID, e.Initiator
	}
	if r.out != nil {
		r.out.Ended = true
		if e.Kind == history.RunContinued {
			r.out.Next = r.nextStart(e)
		}
		r.children.tellParent(e)
	}
	r.state = State{Status: endStatus[e.Kind], Wake: Never, Closed: r.now, Detail: encodeDetail(detail)}
}

var endStatus = map[history.Kind]Status{
	history.RunCompleted:  StatusCompleted,
	history.RunFailed:     StatusFailed,
	history.RunCanceled:   StatusCanceled,
	history.RunTerminated: StatusTerminated,
	history.RunTimedOut:   StatusTimedOut,
	history.RunContinued:  StatusContinued,
}

func resultOf(e *history.Event) *history.Payload {
	if e.Kind != history.RunCompleted {
		return nil
	}
	result := e.Result // not &e.Result: that would keep every event alive
	return &result
}

// interrupt asks the attempt in flight to end. With givenUp it records the end now, and a
// later result of the attempt is dropped.
func (r *execution) interrupt(c *Call, givenUp bool) {
	if c.state == Remote && !givenUp {
		r.out.Stopped = append(r.out.Stopped, AttemptRef{c.Number, c.attempt})
	}
	if c.state == Dispatched {
		r.out.Interrupt = append(r.out.Interrupt, Interrupt{Call: c.Number, Attempt: c.attempt})
	}
	if givenUp {
		r.record(c, Canceled, nil, string(retry.ReasonCanceled), max(r.now, c.StartedAt))
	}
}

// endCalls gives up the calls that are still open when the run ends, and counts those not
// counted yet.
func (r *Run) endCalls() {
	for _, n := range r.openNumbers() {
		c := r.calls[n]
		if inFlight(c.state) {
			r.interrupt(c, true)
		}
		if c.Child != nil {
			r.children.leave(c, "its parent has ended")
		}
		r.closes(c, &history.Event{})
		if c.attempted() && !r.endedElsewhere(c.Number) {
			r.out.Tallies = append(r.out.Tallies, c.tally(&history.Event{}, r.now))
		}
		if c.backoffOf != nil && !r.endedElsewhere(c.Number) {
			r.out.Tallies = append(r.out.Tallies, c.backoffOf.call.tally(&history.Event{}, r.now))
		}
		r.leaveAllGates(c)
		c.Done = true
		r.setState(c, "")
		r.setUntold(c, false)
		r.forget(c)
	}
	r.countFirstTries()
}

// given returns the failure of a call that was given up without waiting for its attempt.
func given(c *Call) *history.Failure {
	if !c.attempted() {
		return history.Aborted(c.Name, 1, retry.PhaseExecution, nil)
	}
	phase := retry.PhaseExecution
	attempt := c.attempt
	switch c.state {
	case "":
		if attempt > 1 { // its backoff has ended in this step
			phase, attempt = retry.PhaseBackoff, attempt-1
		}
	case Queued, Offered:
		phase = retry.PhaseQueue
	case Gated:
		if phase = retry.PhaseQueue; c.Undecided != nil {
			phase = retry.PhaseBackoff
		}
	case Backoff:
		phase, attempt = retry.PhaseBackoff, c.attempt-1
	case Paused, Quarantined:
		if attempt--; attempt == 0 { // paused before its first attempt
			phase, attempt = retry.PhaseQueue, 1
		}
	}
	return history.Aborted(c.Name, attempt, phase, c.Last)
}
