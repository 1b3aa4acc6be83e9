package core

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// apply carries out an operation on calls and records the outcome.
func (o *operations) apply(in Control) {
	found := false
	for _, c := range o.calls.sorted() {
		shown, state := c.subject(), ShownState(c.state)
		switch {
		case c.backoffOf != nil && (in.Operation.TakesBlocks() || in.Calls.Call == shown.Number):
			state = string(Backoff)
		case !c.attempted() && in.Calls.Call != c.Number:
			continue
		}
		last := ""
		if shown.Last != nil {
			last = shown.Last.TypeName()
		}
		if in.Calls.Has(shown.Number, shown.Name, state, last) && (len(in.Only) == 0 || slices.Contains(in.Only, shown.Number)) {
			found = true
			o.applyTo(c, in)
		}
	}
	if !found {
		o.recordOutcome(in, &Call{Number: in.Calls.Call, Name: in.Calls.Name}, NotPending, "")
	}
}

// applyTo carries out an operation on one call.
func (o *operations) applyTo(c *Call, in Control) {
	if !c.attempted() && c.backoffOf == nil {
		o.recordOutcome(in, c, Refused, "it is neither an activity nor a step")
		return
	}
	if o.journal.paused != nil && (in.Operation == RetryNow || in.Operation == ResumeCall) {
		o.recordOutcome(in, c.subject(), Refused, "its run is paused: no attempt starts until the run is resumed")
		return
	}
	if c.backoffOf != nil {
		o.operateBlock(c, in)
		return
	}
	switch in.Operation {
	case RetryNow:
		o.retryNow(c, in)
	case PauseCall:
		o.pause(c, in)
	case ResumeCall:
		o.resume(c, in)
	case Skip:
		if err := c.checkResult(in.Result); err != nil {
			o.recordOutcome(in, c, Refused, err.Error())
			return
		}
		o.closeBy(c, in, history.Event{Kind: history.CallCompleted, Result: in.Result})
	case FailNow:
		o.closeBy(c, in, history.Event{Kind: history.CallFailed, Failure: in.Failure})
	case EditPolicy:
		o.editPolicy(c, in)
	default:
		o.recordOutcome(in, c, Refused, fmt.Sprintf("there is no operation %q; was it asked for by a newer version?", in.Operation))
	}
}

// recordOutcome records the outcome of an operation on a call.
func (o *operations) recordOutcome(in Control, c *Call, outcome, note string) {
	e := history.Event{
		Kind: history.CallControlled, Call: c.Number, Name: c.Name, ID: in.ID, Operation: string(in.Operation),
		By: in.By, Reason: in.Reason, Outcome: outcome, Note: note,
	}
	if outcome == Applied {
		e.Policy = in.Policy
	}
	o.journal.out.Answered = true
	o.attempts.emit(e)
}

// retryNow starts the next attempt as soon as there is a slot. A quarantined call returns
// to the probation lane with a clean record.
func (o *operations) retryNow(c *Call, in Control) {
	switch c.state {
	case Backoff, Paused:
	case Quarantined:
		if CrashedEverywhere(in.Builds, c.CrashedOn) {
			o.recordOutcome(in, c, Refused, CrashesAgain(len(c.CrashedOn)))
			return
		}
		c.CrashedOn, c.OnProbation, c.Group = nil, true, 1
	case Queued:
		o.recordOutcome(in, c, Unchanged, "it waits for a free slot already")
		return
	case Offered:
		o.recordOutcome(in, c, Unchanged, "it waits in its queue already")
		return
	case Gated:
		o.recordOutcome(in, c, Unchanged, "it waits for its gate already")
		return
	default:
		note := "an attempt is running already"
		if c.StartedAt > o.journal.now { // on record ahead of its time
			note = "its next attempt is about to begin"
		}
		o.recordOutcome(in, c, Unchanged, note)
		return
	}
	o.recordOutcome(in, c, Applied, "")
	o.release(c)
	o.gating.askGatesNow(c)
	o.attempts.wantSlot(c)
}

// release ends the wait for an operator. The operator asked for the next attempt, so it
// starts even if Within has passed.
func (o *operations) release(c *Call) {
	c.Pause, c.Forced = nil, true
	o.calls.setUntold(c, false)
}

// editPolicy puts another policy in force. Decisions already made stand: a backoff in
// progress keeps its end.
func (o *operations) editPolicy(c *Call, in Control) {
	if in.Policy == nil && in.Change != "" {
		var now retry.Policy
		if c.Policy != nil {
			now = *c.Policy
		}
		edited, err := now.Edit(in.Change)
		if err != nil {
			o.recordOutcome(in, c, Refused, err.Error())
			return
		}
		in.Policy = &edited
	}
	switch {
	case in.Policy == nil:
		o.recordOutcome(in, c, Refused, "no policy was given")
	case in.Policy.Validate() != nil:
		o.recordOutcome(in, c, Refused, in.Policy.Validate().Error())
	case c.state == External && !bounded(in.Policy):
		o.recordOutcome(in, c, Refused, "its attempt is completed from outside, and the policy has neither an AttemptTimeout nor a HeartbeatTimeout")
	case c.Kind == history.BlockStarted && BlockFault(in.Policy) != "":
		o.recordOutcome(in, c, Refused, BlockFault(in.Policy))
	case reflect.DeepEqual(c.Policy, in.Policy):
		o.recordOutcome(in, c, Unchanged, "it has this policy already")
	default:
		o.recordOutcome(in, c, Applied, "")
		switch {
		case c.state == Queued, c.state == Offered, c.state == Gated && c.Undecided == nil:
			c.due = c.gatedDue()
			o.calls.watch(c)
			o.calls.offerAgain(c)
		case c.state == Backoff:
			o.calls.awaitBackoff(c) // it may go on record at another time
		case c.state == External, c.state == Remote:
			o.attempts.awaitOutside(c)
		}
	}
}

// operateBlock carries out an operation on a block in backoff.
func (o *operations) operateBlock(c *Call, in Control) {
	b := c.backoffOf
	switch {
	case in.Operation == RetryNow:
		o.recordOutcome(in, &b.call, Applied, "")
		o.attempts.emit(history.Event{Kind: history.TimerFired, Call: c.Number})
	case in.Operation != EditPolicy:
		o.recordOutcome(in, &b.call, Refused, "it is a block of workflow code: only retry-now and edit-policy work on it")
	default:
		o.editPolicy(&b.call, in)
	}
}

// closeBy closes a call for an operator. It gives up an attempt in flight.
func (o *operations) closeBy(c *Call, in Control, e history.Event) {
	o.recordOutcome(in, c, Applied, "")
	e.Retry = o.ledger.summary(c, false, o.journal.now)
	switch {
	case inFlight(c.state):
		o.attempts.interrupt(c, true)
	case e.Retry != nil && c.Undecided == nil:
		e.Retry.TotalAttempts-- // the attempt that does not start
	}
	e.Call, e.Ended, e.Operation, e.By, e.Reason = c.Number, o.journal.now, string(in.Operation), in.By, in.Reason
	o.attempts.emit(e)
}

// pause makes a call wait because an operator said so. An attempt in flight may end; only
// the next one waits.
func (o *operations) pause(c *Call, in Control) {
	switch {
	case c.state == Quarantined:
		o.recordOutcome(in, c, Unchanged, "it is quarantined: it waits for a person already")
		return
	case c.Pause != nil && c.Pause.OfRun: // it stays paused when the run is resumed
		o.recordOutcome(in, c, Applied, "it is paused with its run, and will be when that is resumed")
		c.Pause = &Pause{By: in.By, Reason: in.Reason, At: o.journal.now, Due: c.Pause.Due}
		o.calls.touch(c)
		return
	case c.Pause != nil:
		o.recordOutcome(in, c, Unchanged, "it is paused already")
		return
	}
	note := ""
	if inFlight(c.state) {
		note = "the attempt that is running may end; no other follows until the call is resumed"
	}
	o.recordOutcome(in, c, Applied, note)
	o.halt(c, &Pause{By: in.By, Reason: in.Reason, At: o.journal.now})
}

// halt makes a call wait where it stands. An attempt in flight may end if it has begun.
func (o *operations) halt(c *Call, p *Pause) {
	c.Pause = p
	if c.state == Dispatched {
		o.journal.out.Halted = append(o.journal.out.Halted, AttemptRef{c.Number, c.attempt})
	}
	switch {
	case inFlight(c.state), c.Undecided != nil:
		o.calls.touch(c)
	case c.state == Backoff:
		c.Pause.Due = c.due
		o.attempts.suspend(c, Paused)
	default:
		o.attempts.suspend(c, Paused)
	}
}

// resume continues a paused call. It waits out the rest of an interrupted backoff.
func (o *operations) resume(c *Call, in Control) {
	switch {
	case c.state == Quarantined:
		o.recordOutcome(in, c, Refused, "it is quarantined, because its attempts ended with their process; retry-now runs it again, alone")
		return
	case c.Pause == nil:
		o.recordOutcome(in, c, Unchanged, "it is not paused")
		return
	}
	o.recordOutcome(in, c, Applied, "")
	o.unpause(c)
}

// unpause ends the pause of a call. What is resumed goes on as if it had not been paused: no
// attempt starts after its time. Only who resumes a call that is paused because that is used
// up asks for one more.
func (o *operations) unpause(c *Call) {
	due := c.Pause.Due
	switch {
	case inFlight(c.state), c.Undecided != nil:
		c.Pause = nil
		o.calls.touch(c)
	case due > o.journal.now:
		c.Pause = nil
		o.attempts.backOffUntil(c, due)
	default:
		forced := c.Forced || c.Pause.Exhausted
		o.release(c)
		c.Forced = forced
		o.attempts.wantSlot(c)
	}
}
