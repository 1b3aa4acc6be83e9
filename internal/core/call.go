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

	Progress
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
func (a *attempts) close(c *Call) {
	a.gating.leaveAllGates(c)
	c.Done = true
	c.Since = a.calls.placeOf(c)
	a.calls.setState(c, "")
	a.calls.setUntold(c, false)
	c.due = 0
	a.calls.forget(c)
	a.journal.mustAdvance = true
	if c.Follower != nil {
		c.Follower.CallDone()
	}
}

// placeOf returns the place of a call that becomes done. Timers that are due at the same time
// and fire together share one, so that none of them is first.
func (t *callTable) placeOf(c *Call) int64 {
	if c.Kind != history.TimerStarted || c.Failure != nil {
		return t.journal.nextPlace()
	}
	same := fired{t.journal.place, t.journal.currentTurn(), c.due}
	if t.journal.fired != same {
		same.place = t.journal.nextPlace()
		t.journal.fired = same
	}
	return t.journal.place
}

// forget removes a call from the open ones.
func (t *callTable) forget(c *Call) {
	if c.Child != nil {
		t.childCalls--
	}
	delete(t.byNumber, c.Number)
	t.touch(c)
}

// setState moves a call to another state and updates the counts per state.
func (t *callTable) setState(c *Call, s CallState) {
	t.counted(c.state, -1)
	c.state = s
	t.counted(s, 1)
	t.noteLack(c, "")
}

// noteLack notes why a queued call cannot start here, or with "" that it can or need not.
func (t *callTable) noteLack(c *Call, why string) {
	if c.Unserved == why && c.unserved == (why != "") {
		return // the usual case
	}
	if lack := (Lack{c.Name, c.Unserved}); c.unserved {
		if t.unserved[lack]--; t.unserved[lack] == 0 {
			delete(t.unserved, lack)
		}
	}
	if c.Unserved != why {
		c.Unserved = why
		t.touch(c)
	}
	if c.unserved = why != ""; c.unserved {
		if t.unserved == nil {
			t.unserved = map[Lack]int{}
		}
		t.unserved[Lack{c.Name, why}]++
	}
}

// counted adds n to the counts that include a state.
func (t *callTable) counted(s CallState, n int) {
	switch s {
	case External:
		t.outside += n
	case Offered, Remote:
		t.outside += n
		t.inQueues += n
	case Queued:
		t.queued += n
		t.busy += n
	case Dispatched:
		t.busy += n
	}
}

// touch marks the call's row as possibly changed.
func (t *callTable) touch(c *Call) {
	if !c.isDirty && t.journal.out != nil {
		c.isDirty = true
		t.dirty = append(t.dirty, c)
	}
}

// apply changes the machine as an event says, both live and in replay.
func (r *Run) apply(e *history.Event) {
	switch e.Kind {
	case history.SignalAwaited:
		r.signals.mailbox(e.Name).await(&r.signals, r.calls.open(e))
	case history.VersionMarked:
		r.attempts.close(r.calls.open(e))
		r.setVersion(e.Name, e.Version)
	case history.BlockStarted:
		r.attempts.close(r.calls.open(e))
		r.calls.startBlock(e)
	case history.SignalSent:
		r.attempts.close(r.calls.open(e))
		if r.journal.out != nil {
			r.journal.out.Messages = append(r.journal.out.Messages, Message{
				WorkflowID: e.ID, Input: Control{Operation: SignalTheRun, Signal: e.Name, SignalID: sentID(r.journal.start.Run, e.Call), Value: e.Input},
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
		if r.journal.out != nil {
			r.journal.out.Answered = true
		}
	case history.RunCancelRequested:
		r.applyCancellation(e)
	case history.CodeAdvanced:
		r.journal.mustAdvance = true
	case history.RunPinned:
		r.applyPin(e)
	case history.RunCompleted, history.RunFailed, history.RunCanceled, history.RunTerminated, history.RunTimedOut, history.RunContinued:
		r.applyEnd(e)
	default:
		r.attempts.apply(e)
	}
}

// apply opens or closes a call for an event that concerns nothing but calls.
func (a *attempts) apply(e *history.Event) {
	c := a.calls.byNumber[e.Call]
	switch e.Kind {
	case history.ActivityScheduled, history.StepScheduled:
		a.applyScheduled(e)
	case history.TimerStarted:
		c = a.calls.open(e)
		c.due, c.Block = e.Due, e.Block
		a.calls.watch(c)
		a.calls.backsOff(c, e)
	case history.SideEffectRecorded:
		c = a.calls.open(e)
		c.Result = e.Result
		a.close(c)
	case history.CallRefused:
		c = a.calls.open(e)
		c.Failure, c.Block = e.Failure, e.Block
		a.close(c)
	case history.TimerFired:
		if c != nil {
			a.close(c)
		}
	case history.TimerCanceled:
		if c != nil {
			c.Failure = given(c)
			a.close(c)
		}
	case history.CallCompleted, history.CallFailed, history.CallCanceled:
		if c != nil {
			c.Result, c.Failure, c.Retry = e.Result, e.Failure, e.Retry
			c.Child.learn(e)
			a.ledger.count(c, e)
			a.close(c)
		}
	case history.CallControlled:
		a.applyControlled(e)
	}
}

// happened puts an event about a call on record and applies it.
func (a *attempts) happened(e history.Event) {
	a.journal.emit(e)
	a.apply(&e)
}

// open adds the call that a command event begins.
func (t *callTable) open(e *history.Event) *Call {
	c := &Call{Number: e.Call, Kind: e.Kind, Name: e.Name, Queue: e.Queue, Trace: e.Trace, Input: e.Input, Shielded: e.Shielded}
	t.lastCall = max(t.lastCall, e.Call)
	t.byNumber[c.Number] = c
	t.opened = c
	return c
}

// zeroPolicy is in force for calls without a recorded policy.
var zeroPolicy retry.Policy

func (a *attempts) applyScheduled(e *history.Event) {
	c := a.calls.open(e)
	if c.Policy = e.Policy; c.Policy == nil {
		c.Policy = &zeroPolicy
	}
	c.attempt = 1
	c.First = a.journal.now
	c.QueuedAt = a.journal.now
	c.Gates, c.Priority = e.Gates, cmp.Or(e.Priority, a.journal.start.Priority)
	c.AtGates = make([]atGate, len(e.Gates))
	if a.journal.out != nil {
		a.wantSlot(c)
		return
	}
	// Without a row the call is in its first attempt, which started with the turn.
	a.calls.setState(c, Dispatched)
	c.StartedAt = a.journal.now
	if a.journal.config.Owner != nil {
		c.Node = a.journal.config.Owner(a.journal.epoch)
	}
}

func (r *Run) applyCancelRequested(e *history.Event) {
	c := r.calls.byNumber[e.Call]
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
	if r.journal.out != nil && inFlight(c.state) {
		r.attempts.interrupt(c, e.Closed)
	}
	if e.Closed {
		c.Failure, c.Retry = e.Failure, e.Retry
		if c.Failure == nil {
			c.Failure = given(c)
		}
		r.ledger.count(c, e)
		r.attempts.close(c)
	}
}

func (r *Run) applyEnd(e *history.Event) {
	r.ended = true
	detail := Detail{Result: resultOf(e), Failure: e.Failure, Says: r.row.says}
	switch e.Kind {
	case history.RunTerminated:
		detail.Reason = e.Reason
	case history.RunContinued:
		detail.Next, detail.Initiator = e.ID, e.Initiator
	}
	if r.journal.out != nil {
		r.journal.out.Ended = true
		if e.Kind == history.RunContinued {
			r.journal.out.Next = r.nextStart(e)
		}
		r.children.tellParent(e)
	}
	r.row.state = State{Status: endStatus[e.Kind], Wake: Never, Closed: r.journal.now, Detail: encodeDetail(detail)}
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
func (a *attempts) interrupt(c *Call, givenUp bool) {
	if c.state == Remote && !givenUp {
		a.journal.out.Stopped = append(a.journal.out.Stopped, AttemptRef{c.Number, c.attempt})
	}
	if c.state == Dispatched {
		a.journal.out.Interrupt = append(a.journal.out.Interrupt, Interrupt{Call: c.Number, Attempt: c.attempt})
	}
	if givenUp {
		a.ledger.record(c, Canceled, nil, string(retry.ReasonCanceled), max(a.journal.now, c.StartedAt))
	}
}

// endCalls gives up the calls that are still open when the run ends, and counts those not
// counted yet.
func (r *Run) endCalls() {
	for _, n := range r.calls.openNumbers() {
		c := r.calls.byNumber[n]
		if inFlight(c.state) {
			r.attempts.interrupt(c, true)
		}
		if c.Child != nil {
			r.children.leave(c, "its parent has ended")
		}
		r.ledger.closes(c, &history.Event{})
		if c.attempted() && !r.journal.endedElsewhere(c.Number) {
			r.journal.out.Tallies = append(r.journal.out.Tallies, c.tally(&history.Event{}, r.journal.now))
		}
		if c.backoffOf != nil && !r.journal.endedElsewhere(c.Number) {
			r.journal.out.Tallies = append(r.journal.out.Tallies, c.backoffOf.call.tally(&history.Event{}, r.journal.now))
		}
		r.gating.leaveAllGates(c)
		c.Done = true
		r.calls.setState(c, "")
		r.calls.setUntold(c, false)
		r.calls.forget(c)
	}
	r.ledger.countFirstTries()
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
