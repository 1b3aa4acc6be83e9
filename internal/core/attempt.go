package core

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// granted notes that a slot is reserved for a queued call. The attempt starts at the end of
// the step, unless the step also closes the call.
func (a *attempts) granted(in Granted) {
	c := a.calls.byNumber[in.Call]
	if c != nil && slices.Contains(a.reserved, c) {
		return // a repeated grant of the same slot
	}
	if c == nil || c.state != Queued || (c.Step() && a.journal.program == nil) || !a.gating.served(c) || a.closeLate(c) {
		a.journal.out.Unused = append(a.journal.out.Unused, in.Call)
		return
	}
	c.due, c.granted = 0, in.Group // it no longer waits for a slot
	a.reserved = append(a.reserved, c)
}

// fireDue handles everything that is due by the moment of the step, earliest first.
func (a *attempts) fireDue() {
	for a.calls.nextDue() <= a.journal.moment {
		c := a.calls.dues.pop().call
		if c.state == Backoff && !a.calls.mayGoOn(c) {
			continue
		}
		if c.Kind == history.TimerStarted || c.state == Backoff {
			a.journal.out.Fired, a.journal.out.Late = a.journal.out.Fired+1, max(a.journal.out.Late, a.journal.now-c.due)
		}
		switch {
		case c.settled:
			c.due = 0
		case c.Kind == history.TimerStarted:
			a.happened(history.Event{Kind: history.TimerFired, Call: c.Number})
		case c.state == Backoff:
			a.wantSlotSince(c, max(a.journal.now, c.due))
		case c.state == External, c.state == Remote:
			c.givenUp = c.state == Remote
			a.timeOutside(c)
		case c.state == Gated && (c.Undecided != nil || a.gating.giveBackLate(c)):
		case (c.state == Queued || c.state == Gated || c.state == Offered) && !a.closeLate(c):
			a.queuedTooLong(c)
		}
	}
}

// attemptEnded handles the end of an attempt in flight.
func (a *attempts) attemptEnded(in AttemptEnded) {
	c := a.attemptInFlight(in.Call, in.Attempt, in.Ended)
	if c != nil {
		c.settled = false
	}
	if c == nil || c.state == External && !in.Outside {
		a.journal.out.Dropped++
		return
	}
	if in.Outside {
		in = a.saidOutside(c, in)
	}
	if c.state == Dispatched {
		c.StartedAt = max(c.StartedAt, in.Began)
	}
	ended := max(in.Ended, c.StartedAt)
	switch {
	case in.Outcome == Completed:
		c.gateOutcome = gates.Success
		if c.attempt > 1 {
			a.ledger.record(c, Completed, nil, string(retry.ReasonSucceeded), ended)
		}
		if in.Transaction {
			a.journal.out.Transactions = append(a.journal.out.Transactions, AttemptRef{in.Call, in.Attempt})
		}
		a.recordStart(c)
		a.happened(history.Event{Kind: history.CallCompleted, Call: c.Number, Result: in.Result, Ended: ended, Retry: a.ledger.summary(c, false, ended)})
	case in.Unbegun && c.state == Dispatched && a.unbegun(c, ended):
	case a.isCanceled(c):
		if in.Failure != nil && in.Outcome != Drained {
			c.Last = in.Failure
		}
		a.conclude(c, ending{outcome: Canceled, failure: in.Failure, reason: retry.ReasonCanceled, at: ended, canceled: true})
	case in.Outcome == Pending:
		a.handOver(c, ended)
	case in.Outcome == Drained && c.StartedAt > a.journal.now && c.state == Dispatched:
		a.backOff(c) // the attempt never began; it keeps its number
	case in.Outcome == Drained:
		c.Drains++
		a.conclude(c, ending{outcome: Drained, reason: retry.ReasonDrained, at: ended})
	default:
		a.fail(c, in.Outcome, in.Failure, ended)
	}
}

// offProbation takes an attempt in flight off probation: it has run long enough not to be
// what kills its process.
func (a *attempts) offProbation(in OffProbation) {
	c := a.calls.byNumber[in.Call]
	if c == nil || c.state != Dispatched && c.state != Remote || c.attempt != in.Attempt || !c.OnProbation {
		return
	}
	c.clearProbation()
	a.calls.touch(c)
	a.journal.out.OffProbation = append(a.journal.out.OffProbation, in.AttemptRef)
}

// handOver makes an attempt external: its body has returned, and a message from outside
// says how it ends. Only a row and a due time are left here, so the attempt survives the
// loss of its node. The hand-over counts as a heartbeat.
func (a *attempts) handOver(c *Call, ended int64) {
	if !bounded(c.Policy) {
		a.fail(c, Failed, history.FromError(retry.Terminal(fmt.Errorf(
			"%q returned activity.ErrPending, but its policy has neither an AttemptTimeout nor a HeartbeatTimeout: "+
				"an attempt that is never completed would stay open forever; set one of them", c.Name))), ended)
		return
	}
	c.clearProbation()
	c.BeatAt = max(c.BeatAt, ended)
	a.calls.setState(c, External)
	a.waitOutside(c)
}

// waitOutside watches for the timeout of an external attempt.
func (a *attempts) waitOutside(c *Call) {
	c.due, _ = c.timesOut(c.Policy)
	a.calls.watch(c)
	a.calls.touch(c)
}

// timeOutside fails an external attempt whose time has run out.
func (a *attempts) timeOutside(c *Call) {
	_, as := c.timesOut(c.Policy)
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
		a.timeOutside(c)
		return nil
	}
	return c
}

// saidOutside accepts the end of an attempt from outside instead of from its body, which
// need not finish. A result that the code cannot read becomes a failure.
func (a *attempts) saidOutside(c *Call, in AttemptEnded) AttemptEnded {
	if c.state == Dispatched {
		a.interrupt(c, false)
	}
	if in.Outcome != Completed {
		return in
	}
	if err := c.check(in.Result); err != nil {
		in.Outcome, in.Result = Failed, history.Payload{}
		in.Failure = history.FromError(fmt.Errorf("the attempt was completed from outside, but %w", err))
	}
	return in
}

// unbegun continues a call whose attempt is on record but never began, or ends it if it is
// canceled. It returns false if the call has gates: it leaves them as if the attempt had
// begun.
func (a *attempts) unbegun(c *Call, ended int64) bool {
	switch {
	case a.isCanceled(c):
		a.closeUnbegun(c, ended)
	case c.StartedAt > a.journal.now:
		a.backOff(c)
	case len(c.Gates) == 0:
		a.neverBegan(c)
	default:
		return false
	}
	return true
}

// queuedTooLong fails an attempt that got no slot in time. If an operator has stopped its
// activity, the queue time starts over instead.
func (a *attempts) queuedTooLong(c *Call) {
	if !a.gating.stopped(c) {
		a.gating.leaveGates(c, gates.Neutral) // the next attempt lines up again
		a.fail(c, TimedOut, queueTimeout(c), a.journal.now)
		return
	}
	c.QueuedAt = a.journal.now
	c.due = c.gatedDue()
	a.calls.watch(c)
	a.calls.touch(c)
	a.calls.offerAgain(c)
}

// queueTimeout returns the failure of an attempt that waited too long for a slot.
func queueTimeout(c *Call) *history.Failure {
	c.StartedAt, c.Node = 0, "" // it never ran
	return history.FromError(&retry.TimeoutError{Kind: retry.TimeoutQueue, Limit: c.Policy.QueueTimeout})
}

// claimed starts an attempt that runs on a worker. A message about another attempt is too
// late.
func (a *attempts) claimed(in Claimed) {
	c := a.calls.byNumber[in.Call]
	if c == nil || c.state != Offered || c.attempt != in.Attempt {
		a.journal.out.Dropped++
		return
	}
	c.Claimed = true
	c.Returned = 0
	c.StartedAt, c.Node = max(in.At, c.QueuedAt), in.Worker
	if c.OnProbation {
		c.Group = 1 // a worker runs one suspect at a time
	}
	a.calls.setState(c, Remote)
	a.waitOutside(c)
}

// workerGone loses an attempt whose worker is gone.
func (a *attempts) workerGone(in WorkerGone) {
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
	c.givenUp = true
	a.lose(c, over)
}

// takenOver marks the attempts in flight as lost, except those still alive (E3).
func (a *attempts) takenOver(in TakenOver) {
	for _, n := range a.calls.openNumbers() {
		c := a.calls.byNumber[n]
		if c.state == Dispatched && !slices.Contains(in.Alive, AttemptRef{c.Number, c.attempt}) {
			a.lose(c, in)
		} else if c.Untold { // its process may have died before it called the hook
			a.calls.tellWaiting(c)
		}
	}
	a.askGatesAgain()
}

// fromGate handles a message from a gate. It declines a grant for a ticket that the call no
// longer has, so that the gate keeps no slot for it.
func (a *attempts) fromGate(in FromGate) {
	c := a.calls.byNumber[in.Ticket.Call]
	i := -1
	if c != nil {
		i = slices.IndexFunc(c.Gates, func(g gates.Spec) bool { return g.Name == in.Gate })
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
	case c.AtGates[i].State != asked || in.Attempt != c.coming():
		a.journal.out.Dropped++ // a repeat
	case in.Word == GateRefused:
		a.refuse(c, i)
	case in.Word == GateGranted && in.Returns != c.AtGates[i].Returns:
		a.journal.out.Dropped++ // a grant of a slot that was given back
	case in.Word == GateGranted:
		c.AtGates[i].State, c.AtGates[i].Probe = held, in.Probe
		a.calls.touch(c)
		a.proceed(c)
	}
}

func (a *attempts) heartbeat(in Heartbeat) {
	c := a.attemptInFlight(in.Call, in.Attempt, in.At)
	if c == nil {
		a.journal.out.Dropped++
		return
	}
	c.BeatAt = max(c.BeatAt, in.At)
	if !in.Details.Absent() {
		c.Details = in.Details
	}
	a.calls.touch(c)
	if c.state == External || c.state == Remote {
		a.waitOutside(c)
	}
}

// hearWorkers notes the attempts in queues whose end is among the inputs. Their workers were
// told that it counts, so it comes before the end of the attempt's time.
func (a *attempts) hearWorkers(inputs []Input) {
	if a.calls.inQueues == 0 {
		return
	}
	for _, in := range inputs {
		in, _ := moment(in)
		if end, is := in.(AttemptEnded); is && end.Outside {
			if c := a.calls.byNumber[end.Call]; c != nil && c.attempt == end.Attempt && (c.state == Remote || c.state == Offered) {
				c.settled = true
			}
		}
	}
}
