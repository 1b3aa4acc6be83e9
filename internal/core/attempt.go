package core

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// reserve notes that a slot is reserved for a queued call. The attempt starts at the end of
// the step, unless the step also closes the call.
func (a *attempts) reserve(in Granted) {
	c := a.calls.byNumber[in.Call]
	if c != nil && slices.Contains(a.reserved, c) {
		return // a repeated grant of the same slot
	}
	if c == nil || c.state != Queued || (c.Step() && a.journal.program == nil) || !a.gating.served(c) || a.closeLate(c) {
		a.journal.out.Unused = append(a.journal.out.Unused, in.Call)
		return
	}
	c.due, c.slotGroup = 0, in.Group // it no longer waits for a slot
	a.reserved = append(a.reserved, c)
}

// fireDue handles everything that is due by the moment of the step, earliest first.
func (a *attempts) fireDue() {
	for a.calls.nextDue() <= a.journal.moment {
		c := a.calls.dues.Pop().call
		if c.state == Backoff && !a.calls.mayEndBackoff(c) {
			continue
		}
		if c.Kind == history.TimerStarted || c.state == Backoff {
			a.journal.out.Fired, a.journal.out.Late = a.journal.out.Fired+1, max(a.journal.out.Late, a.journal.now-c.due)
		}
		switch {
		case c.endReported:
			c.due = 0
		case c.Kind == history.TimerStarted:
			a.emit(history.Event{Kind: history.TimerFired, Call: c.Number})
		case c.state == Backoff:
			a.wantSlotSince(c, max(a.journal.now, c.due))
		case c.state == External, c.state == Remote:
			c.abandoned = c.state == Remote
			a.timeOut(c)
		case c.state == Gated && (c.Undecided != nil || a.gating.giveBackLate(c)):
		case (c.state == Queued || c.state == Gated || c.state == Offered) && !a.closeLate(c):
			a.timeOutQueued(c)
		}
	}
}

// end handles the end of an attempt in flight.
func (a *attempts) end(in AttemptEnded) {
	c := a.attemptInFlight(in.Call, in.Attempt, in.Ended)
	if c != nil {
		c.endReported = false
	}
	if c == nil || c.state == External && !in.Outside {
		a.journal.out.Dropped++
		return
	}
	if in.Outside {
		in = a.acceptOutside(c, in)
	}
	if c.state == Dispatched {
		c.StartedAt = max(c.StartedAt, in.Began)
	}
	ended := max(in.Ended, c.StartedAt)
	switch {
	case in.Unbegun && c.state == Dispatched && a.handleUnbegun(c, ended):
	case c.asking():
		a.endQuestion(c, in, ended)
	case in.Outcome == Completed:
		c.gateOutcome = gates.Success
		if c.attempt > 1 {
			a.ledger.record(c, Completed, nil, string(retry.ReasonSucceeded), ended)
		}
		a.closeCompleted(c, in, ended)
	case a.isCanceled(c):
		if in.Failure != nil && in.Outcome != Drained {
			c.Last = in.Failure
		}
		a.conclude(c, ending{outcome: Canceled, failure: in.Failure, reason: retry.ReasonCanceled, at: ended, canceled: true})
	case in.Outcome == Pending:
		a.makeExternal(c, ended)
	case in.Outcome == Drained && c.StartedAt > a.journal.now && c.state == Dispatched:
		a.resumeBackoff(c) // the attempt never began; it keeps its number
	case in.Outcome == Drained:
		c.Drains++
		a.conclude(c, ending{outcome: Drained, reason: retry.ReasonDrained, at: ended, notDone: in.Unbegun || retry.Classify(in.Failure.Err()).NotDone})
	default:
		a.fail(c, in.Outcome, in.Failure, ended)
	}
}

// leaveProbation takes an attempt in flight off probation: it has run long enough not to be
// what kills its process.
func (a *attempts) leaveProbation(in OffProbation) {
	c := a.calls.byNumber[in.Call]
	if c == nil || c.state != Dispatched && c.state != Remote || c.attempt != in.Attempt || !c.OnProbation {
		return
	}
	c.clearProbation()
	a.calls.touch(c)
	a.journal.out.OffProbation = append(a.journal.out.OffProbation, in.AttemptRef)
}

// makeExternal makes an attempt external: its body has returned, and a message from outside
// says how it ends. Only a row and a due time are left here, so the attempt survives the
// loss of its node. The hand-over counts as a heartbeat.
func (a *attempts) makeExternal(c *Call, ended int64) {
	if !bounded(c.Policy) {
		a.fail(c, Failed, history.FromError(retry.Terminal(fmt.Errorf(
			"%q returned activity.ErrPending, but its policy has neither an AttemptTimeout nor a HeartbeatTimeout: "+
				"an attempt that is never completed would stay open forever; set one of them", c.Name))), ended)
		return
	}
	c.clearProbation()
	c.BeatAt = max(c.BeatAt, ended)
	a.calls.setState(c, External)
	a.awaitOutside(c)
}

// awaitOutside watches for the timeout of an external attempt.
func (a *attempts) awaitOutside(c *Call) {
	due, _ := c.timesOut(c.terms())
	a.calls.await(c, due)
}

// DueFrom returns when an attempt times out of which an input says that it goes on outside, Never
// if the input says nothing of the kind. NextDue does not know that time before the input.
func (r *Run) DueFrom(in Input) int64 {
	var ref AttemptRef
	from := int64(0)
	switch in := in.(type) {
	case Claimed:
		ref, from = in.AttemptRef, in.At
	case AttemptEnded:
		if in.Outcome != Pending {
			return Never
		}
		ref = AttemptRef{in.Call, in.Attempt}
	default:
		return Never
	}
	c := r.calls.byNumber[ref.Call]
	if c == nil || c.attempt != ref.Attempt {
		return Never
	}
	p := Progress{StartedAt: max(from, c.StartedAt), BeatAt: c.BeatAt}
	return p.TimesOut(c.terms())
}

// timeOut fails an external attempt whose time has run out.
func (a *attempts) timeOut(c *Call) {
	_, as := c.timesOut(c.terms())
	a.fail(c, TimedOut, history.FromError(&as), a.journal.now)
}

// attemptInFlight returns the call if this is its current attempt and it is in flight, here
// or outside. A message about an external attempt that was sent after its timeout is too
// late, even if no step ran in between. A worker was told that its result is accepted, so
// that counts until another attempt is on record.
func (a *attempts) attemptInFlight(call int64, attempt int, said int64) *Call {
	c := a.calls.byNumber[call]
	if c == nil || !inFlight(c.state) || c.attempt != attempt {
		return nil
	}
	if c.state == External && said >= c.due {
		a.timeOut(c)
		return nil
	}
	return c
}

// acceptOutside accepts the end of an attempt from outside instead of from its body, which
// need not finish. A result that the code cannot read becomes a failure.
func (a *attempts) acceptOutside(c *Call, in AttemptEnded) AttemptEnded {
	if c.state == Dispatched {
		a.interrupt(c, false)
	}
	if in.Outcome != Completed {
		return in
	}
	if err := c.checkResult(in.Result); err != nil {
		in.Outcome, in.Result = Failed, history.Payload{}
		in.Failure = history.FromError(fmt.Errorf("the attempt was completed from outside, but %w", err))
	}
	return in
}

// handleUnbegun continues a call whose attempt is on record but never began, or ends it if it is
// canceled. It returns false if the call has gates: it leaves them as if the attempt had
// begun.
func (a *attempts) handleUnbegun(c *Call, ended int64) bool {
	switch {
	case a.isCanceled(c):
		a.closeUnbegun(c, ended)
	case c.StartedAt > a.journal.now:
		a.resumeBackoff(c)
	case len(c.Gates) == 0, c.asking():
		a.requeueUnbegun(c)
	default:
		return false
	}
	return true
}

// timeOutQueued fails an attempt that got no slot in time. If an operator has stopped its
// activity, the queue time starts over instead.
func (a *attempts) timeOutQueued(c *Call) {
	if !a.gating.stopped(c) {
		a.gating.leave(c, gates.Neutral) // the next attempt lines up again
		c.StartedAt, c.Node = 0, ""      // it never ran
		a.fail(c, TimedOut, history.FromError(&retry.TimeoutError{Kind: retry.TimeoutQueue, Limit: c.Policy.QueueTimeout}), a.journal.now)
		return
	}
	c.QueuedAt = a.journal.now
	a.calls.await(c, c.gatedDue())
	a.calls.offerAgain(c)
}

// claim starts an attempt that runs on a worker. A message about another attempt is too
// late.
func (a *attempts) claim(in Claimed) {
	c := a.calls.byNumber[in.Call]
	if c == nil || c.state != Offered || c.attempt != in.Attempt {
		a.journal.out.Dropped++
		return
	}
	c.Claimed = true
	c.Returned, c.Owing = 0, false
	c.StartedAt, c.Node = max(in.At, c.QueuedAt), in.Worker
	if c.OnProbation {
		c.Group = 1 // a worker runs one suspect at a time
	}
	a.calls.setState(c, Remote)
	a.awaitOutside(c)
}

// loseWorker loses an attempt whose worker is gone.
func (a *attempts) loseWorker(in WorkerGone) {
	c := a.calls.byNumber[in.Call]
	if c == nil || c.state != Remote || c.attempt != in.Attempt || c.Node != in.Worker {
		a.journal.out.Dropped++
		return
	}
	over := TakenOver{Survivors: in.Survivors}
	if in.Survived {
		over.Survivors = append(over.Survivors, in.Worker)
	} else {
		over.Unheard = []string{in.Worker}
	}
	c.abandoned = true
	a.lose(c, over)
}

// takeOver marks the attempts in flight as lost, except those still alive (E3). Of those on
// workers it loses the ones that began in another database.
func (a *attempts) takeOver(in TakenOver) {
	for _, c := range a.calls.sorted() {
		alive := slices.Contains(in.Alive, AttemptRef{c.Number, c.attempt})
		if copied := c.state == Remote && c.StartedAt < in.CopiedAt; !alive && (copied || c.state == Dispatched) {
			c.abandoned = copied
			a.lose(c, in)
		} else if c.Untold { // its process may have died before it called the hook
			a.calls.notifyWaiting(c)
		}
	}
	a.askGatesAgain()
}

// handleGate handles a message from a gate. It declines a grant for a ticket that the call no
// longer has, so that the gate keeps no slot for it.
func (a *attempts) handleGate(in FromGate) {
	c := a.calls.byNumber[in.Ticket.Call]
	i := -1
	if c != nil {
		i = slices.IndexFunc(c.Gates, func(g history.GateSpec) bool { return g.Name == in.Gate })
	}
	if i < 0 || c.AtGates[i].Ticket != in.Ticket.Ticket || c.AtGates[i].State == noTicket {
		a.gating.decline(in)
		return
	}
	switch {
	case in.Word == GateAllowed:
		a.hearBudget(c, i, in, false)
	case in.Word == GateRefused && in.Reason == retry.ReasonBudget:
		a.hearBudget(c, i, in, true)
	case c.AtGates[i].State != asked || in.Attempt != c.comingAttempt():
		a.journal.out.Dropped++ // a repeat
	case in.Word == GateRefused:
		a.refuse(c, i)
	case in.Word == GateGranted && in.Returns != c.AtGates[i].Returns:
		a.journal.out.Dropped++ // a grant of a slot that was given back
	case in.Word == GateGranted:
		c.AtGates[i].State, c.AtGates[i].Probe = held, in.Probe
		a.calls.touch(c)
		a.continueGated(c)
	}
}

func (a *attempts) beat(in Heartbeat) {
	c := a.attemptInFlight(in.Call, in.Attempt, in.At)
	if c == nil {
		a.journal.out.Dropped++
		return
	}
	c.BeatAt = max(c.BeatAt, in.At)
	if !in.Details.Absent() && !c.asking() {
		c.Details = in.Details
	}
	a.calls.touch(c)
	if c.state == External || c.state == Remote {
		a.awaitOutside(c)
	}
}

// noteReportedEnds notes the attempts in queues whose end is among the inputs, or waits for a
// later step. Their workers were told that it counts, so it comes before the end of the
// attempt's time.
func (a *attempts) noteReportedEnds(inputs []Input) {
	if a.calls.inQueues == 0 {
		return
	}
	note := func(end AttemptEnded) {
		if c := a.calls.byNumber[end.Call]; end.Outside && c != nil && c.attempt == end.Attempt && (c.state == Remote || c.state == Offered) {
			c.endReported = true
		}
	}
	for _, in := range inputs {
		switch in, _ := moment(in); in := in.(type) {
		case AttemptEnded:
			note(in)
		case More:
			for _, end := range in.Ends {
				note(end)
			}
		}
	}
}

// admitReady starts the ready attempts that have or get a slot and enqueues the rest. If the
// time of the run is over, it enqueues all.
func (a *attempts) admitReady(admit func(*Call) bool, over bool) {
	reserved, ready := a.reserved, a.ready
	a.reserved, a.ready = nil, nil
	for _, c := range reserved {
		switch {
		case c.state == Queued && c.holdsGates() && !over:
			a.dispatch(c)
			continue
		case c.state == Queued: // it waits on
			c.due = c.queueDue()
			a.calls.watch(c)
			ready = append(ready, c)
		}
		a.journal.out.Unused = append(a.journal.out.Unused, c.Number)
	}
	slices.SortStableFunc(ready, func(c, d *Call) int { return cmp.Compare(d.Priority, c.Priority) })
	for _, c := range ready {
		switch {
		case c.Done || (c.state != "" && c.state != Queued):
		case over:
			a.calls.enqueue(c)
		case a.gating.askNext(c):
		case c.Queue != "" && !c.Step():
			a.offer(c)
		case admit(c):
			c.unslotted = false
			a.dispatch(c)
		default:
			c.unslotted = false
			a.calls.enqueue(c)
			a.calls.noteLack(c, a.gating.lacks(c))
		}
	}
	if a.ready == nil {
		clear(ready)
		a.ready = ready[:0]
	}
}

// dispatch starts an admitted attempt.
func (a *attempts) dispatch(c *Call) {
	a.calls.setState(c, Dispatched)
	c.due, c.Returned, c.Owing = 0, 0, false
	c.StartedAt = max(a.journal.now, c.QueuedAt)
	c.Node = a.journal.config.Node
	if c.slotGroup > 0 { // perhaps only because of its activity
		c.OnProbation = true
	}
	if c.OnProbation {
		c.Group = c.slotGroup
	}
	a.calls.touch(c)
	a.journal.out.Dispatch = append(a.journal.out.Dispatch, a.dispatchOf(c))
}

// dispatchOf describes the coming attempt for the node or worker that runs it.
func (a *attempts) dispatchOf(c *Call) Dispatch {
	limit, terms := c.Policy.AttemptLimit(), c.terms()
	d := Dispatch{
		Call: c.Number, Attempt: c.attempt, Max: limit, Allowed: a.allowed(c), Final: c.Failures+1 >= limit && (limit == 1 || !c.probes()),
		Step: c.Step(), Probation: c.OnProbation,
		Name: c.Name, Queue: c.Queue, Priority: c.Priority, Trace: c.Trace, Input: c.Input,
		Scheduled: c.First, Queued: c.QueuedAt, Started: c.StartedAt, Latest: c.queueDue(),
		AttemptTimeout: terms.AttemptTimeout, HeartbeatTimeout: terms.HeartbeatTimeout, Details: c.Details,
	}
	d.Leased = c.leased()
	if c.asking() {
		about := *c.Doubt
		d.Doubt, d.VerifyBy, d.Final = &about, c.Verify.By, false
	}
	return d
}

// offer puts a ready attempt into its queue. It needs no slot here: the workers decide when
// to run it. The row in the queue says until when it may be claimed, so that none begins it
// later, even if no process serves the run then.
func (a *attempts) offer(c *Call) {
	a.calls.setState(c, Offered)
	a.calls.await(c, c.queueDue())
}
