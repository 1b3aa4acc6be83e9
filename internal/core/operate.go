package core

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/history"
)

// apply carries out an operation on calls and records the outcome.
func (o operations) apply(in Control) {
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
			o.applyTo(c, shown, in)
		}
	}
	if !found {
		o.recordOutcome(in, &Call{Number: in.Calls.Call, Name: in.Calls.Name}, NotPending, "")
	}
}

// applyTo carries out an operation on one call and records the outcome. What the operation means for
// this call, such as its policy with an edit, is written into in, which is a copy: it means something
// else for the next one.
func (o operations) applyTo(c, shown *Call, in Control) {
	outcome, note := o.answer(c, &in)
	o.recordOutcome(in, shown, outcome, note)
	if outcome == Applied {
		o.carryOut(c, in)
	}
}

// recordOutcome records the outcome of an operation on a call.
func (o operations) recordOutcome(in Control, c *Call, outcome, note string) {
	e := history.Event{Kind: history.CallControlled, Call: c.Number, Name: c.Name}
	if outcome == Applied {
		e.Policy = in.Policy
	}
	o.record(in, e, outcome, note)
}

// record puts the outcome of an operation on record, in an event that says what it was about.
func (o operations) record(in Control, e history.Event, outcome, note string) {
	e.ID, e.Operation, e.By, e.Reason, e.Outcome, e.Note = in.ID, string(in.Operation), in.By, in.Reason, outcome, note
	o.journal.out.Answered = true
	o.facts.emit(e)
}

// answer returns the outcome of an operation on one call, without carrying it out. It sets the
// policy of an edit.
func (o operations) answer(c *Call, in *Control) (outcome, note string) {
	switch block := c.backoffOf != nil; {
	case !c.attempted() && !block:
		return Refused, "it is neither an activity nor a step"
	case o.journal.paused != nil && (in.Operation == RetryNow || in.Operation == ResumeCall):
		return Refused, RunIsPaused
	case block && in.Operation == RetryNow:
		return Applied, ""
	case block && in.Operation != EditPolicy:
		return Refused, RefusesBlocks
	}
	switch in.Operation {
	case RetryNow:
		return o.answerRetry(c, in)
	case PauseCall:
		switch {
		case c.state == Quarantined, c.state == InDoubt:
			return Unchanged, fmt.Sprintf("it is %s: it waits for a person already", c.state)
		case c.Pause != nil && c.Pause.OfRun:
			return Applied, "it is paused with its run, and will be when that is resumed"
		case c.Pause != nil:
			return Unchanged, "it is paused already"
		case inFlight(c.state):
			return Applied, "the attempt that is running may end; no other follows until the call is resumed"
		}
	case ResumeCall:
		switch {
		case c.state == InDoubt:
			return Refused, "it is in doubt, because an attempt may have had its effect; ask asks the program again, retry-now repeats it, skip and fail close it"
		case c.state == Quarantined:
			return Refused, "it is quarantined, because its attempts ended with their process; retry-now runs it again, alone"
		case c.Pause == nil:
			return Unchanged, "it is not paused"
		}
	case Skip:
		if err := c.checkResult(in.Result); err != nil {
			return Refused, err.Error()
		}
	case FailNow:
	case Ask:
		return o.answerAsk(c)
	case EditPolicy:
		return answerEdit(c.subject(), in)
	default:
		return Refused, fmt.Sprintf("there is no operation %q; was it asked for by a newer version?", in.Operation)
	}
	return Applied, ""
}

// Why no call of a run is retried, and why a block is left alone.
const (
	RunIsPaused   = "its run is paused: no attempt starts until the run is resumed"
	RefusesBlocks = "it is a block of workflow code: only retry-now and edit-policy work on it"
)

func (o operations) answerRetry(c *Call, in *Control) (outcome, note string) {
	switch {
	case c.state == Quarantined && CrashedEverywhere(in.Builds, c.CrashedOn):
		return Refused, CrashesAgain(len(c.CrashedOn))
	case c.settling(o.journal.now):
		return o.answerSettling(c)
	case c.state == Backoff && c.asking(), c.state == Paused && c.asking():
		return Applied, askedFirst
	case c.state == Backoff, c.state == Paused, c.state == Quarantined, c.state == InDoubt:
		return Applied, ""
	case !inFlight(c.state) && Already(c.state) != "":
		return Unchanged, Already(c.state)
	case c.StartedAt > o.journal.now: // on record ahead of its time
		return Unchanged, "its next attempt is about to begin"
	}
	return Unchanged, Already(Dispatched)
}

// Already says why a call in a state needs no retry by hand, or "".
func Already(s CallState) string {
	switch s {
	case Queued:
		return "it waits for a free slot already"
	case Offered:
		return "it waits in its queue already"
	case Gated:
		return "it waits for its gate already"
	case Dispatched, Remote, External:
		return "an attempt is running already"
	}
	return ""
}

// askedFirst is the note of a retry-now of a call that is being asked about.
const askedFirst = "an attempt may have had its effect: that is asked now, and the call is repeated only if it had none"

// answerSettling is the answer to who wants a question before it can be answered. It ends a pause.
func (o operations) answerSettling(c *Call) (outcome, note string) {
	note = "it is asked about when no request of the attempt can be under way any more: " + time.Unix(0, c.Doubt.Since).UTC().Format(time.RFC3339)
	if c.state == Paused {
		return Applied, note
	}
	return Unchanged, note
}

func (o operations) answerAsk(c *Call) (outcome, note string) {
	switch {
	case c.Doubt == nil:
		return Refused, "it is not in doubt: no attempt of it has an unknown outcome"
	case c.Verify == nil:
		return Refused, "it has no Verify function to ask; decide with skip, fail or retry-now"
	case o.journal.paused != nil:
		return Refused, "its run is paused: nothing is asked until the run is resumed"
	case c.settling(o.journal.now):
		return o.answerSettling(c)
	case c.state == Backoff, c.state == Paused, c.state == Quarantined, c.state == InDoubt:
		return Applied, ""
	}
	return Unchanged, "it is being asked about already"
}

func answerEdit(c *Call, in *Control) (outcome, note string) {
	if in.Policy == nil && in.Change != "" {
		edited, err := cmp.Or(c.Policy, &zeroPolicy).Edit(in.Change)
		if err != nil {
			return Refused, err.Error()
		}
		in.Policy = &edited
	}
	switch {
	case in.Policy == nil:
		return Refused, "no policy was given"
	case in.Policy.Validate() != nil:
		return Refused, in.Policy.Validate().Error()
	case c.policyFault(in.Policy) != "":
		return Refused, c.policyFault(in.Policy)
	case c.state == External && !bounded(in.Policy):
		return Refused, "its attempt is completed from outside, and the policy has neither an AttemptTimeout nor a HeartbeatTimeout"
	case c.Kind == history.BlockStarted && BlockFault(in.Policy) != "":
		return Refused, BlockFault(in.Policy)
	case reflect.DeepEqual(c.Policy, in.Policy):
		return Unchanged, "it has this policy already"
	}
	return Applied, ""
}

// carryOut carries out an operation that is on record as applied.
func (o operations) carryOut(c *Call, in Control) {
	switch in.Operation {
	case RetryNow:
		o.retryNow(c)
	case PauseCall:
		if c.Pause != nil { // it stays paused when the run is resumed
			c.Pause = &Pause{By: in.By, Reason: in.Reason, At: o.journal.now, Due: c.Pause.Due}
			o.calls.touch(c)
			return
		}
		o.halt(c, &Pause{By: in.By, Reason: in.Reason, At: o.journal.now})
	case Ask:
		o.ask(c)
	case ResumeCall:
		o.unpause(c)
	case Skip:
		o.closeBy(c, in, history.Event{Kind: history.CallCompleted, Result: in.Result})
	case FailNow:
		o.closeBy(c, in, history.Event{Kind: history.CallFailed, Failure: in.Failure})
	case EditPolicy: // decisions already made stand: a backoff in progress keeps its end
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

// retryNow starts the next attempt as soon as there is a slot. A quarantined call returns
// to the probation lane with a clean record.
func (o operations) retryNow(c *Call) {
	if c.backoffOf != nil {
		o.attempts.emit(history.Event{Kind: history.TimerFired, Call: c.Number})
		return
	}
	o.clearCrashes(c)
	if !c.asking() { // a person knows better, or takes the risk
		c.Doubt = nil
	}
	o.release(c)
	o.attempts.gating.askNow(c)
	o.attempts.wantSlot(c)
}

// clearCrashes lets a quarantined call return to the probation lane with a clean record.
func (o operations) clearCrashes(c *Call) {
	if c.state == Quarantined {
		c.CrashedOn, c.OnProbation, c.Group = nil, true, 1
	}
}

// ask asks about the attempt in doubt as soon as that can be answered, as if it had not been asked
// about before.
func (o operations) ask(c *Call) {
	o.clearCrashes(c)
	c.Pause = nil
	o.calls.setUntold(c, false)
	if d := c.Doubt; !d.Asking {
		d.Failed, d.Previous, d.Since = 0, 0, o.journal.now
		o.attempts.ask(c, cmp.Or(d.Ended, o.journal.now))
		return
	}
	o.attempts.wantSlot(c)
}

// release ends the wait for an operator. The operator asked for the next attempt, so it
// starts even if Within has passed.
func (o operations) release(c *Call) {
	c.Pause, c.Forced = nil, true
	o.calls.setUntold(c, false)
}

// closeBy closes a call for an operator. It gives up an attempt in flight.
func (o operations) closeBy(c *Call, in Control, e history.Event) {
	if e.Retry = o.ledger.summaryNow(c); inFlight(c.state) {
		o.attempts.interrupt(c, true)
	}
	e.Call, e.Ended, e.Operation, e.By, e.Reason = c.Number, o.journal.now, string(in.Operation), in.By, in.Reason
	o.attempts.emit(e)
}

// halt makes a call wait where it stands. An attempt in flight may end if it has begun.
func (o operations) halt(c *Call, p *Pause) {
	c.Pause = p
	if c.state == Dispatched {
		o.journal.out.Halted = append(o.journal.out.Halted, AttemptRef{c.Number, c.attempt})
	}
	if inFlight(c.state) || c.Undecided != nil {
		o.calls.touch(c)
		return
	}
	if c.state == Backoff {
		p.Due = c.due
	}
	o.attempts.suspend(c, Paused)
}

// unpause ends the pause of a call. It waits out the rest of an interrupted backoff. What is
// resumed goes on as if it had not been paused: no attempt starts after its time. Only who
// resumes a call that is paused because that is used up asks for one more.
func (o operations) unpause(c *Call) {
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
