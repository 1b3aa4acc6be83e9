package core

import (
	"slices"
	"time"

	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/suspects"
	"github.com/perdure/perdure/retry"
)

// attemptFailed charges a failure and asks the policy what follows. The failure of a probe is
// not charged, and no budget is asked, if another attempt follows: the call waits on.
func (a *attempts) attemptFailed(c *Call, outcome Outcome, f *history.Failure, ended int64) {
	c.cleared()
	c.Forced = false
	c.remember(c.attempt, f, ended)
	d := a.charge(c, f, ended)
	c.verdict = verdictOf(d)
	if d.Retry {
		if judges := a.gating.backOffAtGates(c, c.verdict, nextOf(d), d.Reason != retry.ReasonProbe); judges > 0 {
			c.Undecided = &undecided{Outcome: outcome, Failure: f, Ended: ended, Judges: judges}
			c.verdict = "" // the gates know it now
			a.calls.setState(c, Gated)
			a.calls.touch(c)
			return
		}
	}
	a.ledger.recordDecision(c, outcome, f, d, ended, nextOf(d))
	a.follow(c, d, f, ended)
}

// charge asks the policy about a failure, which counts from now on unless it was that of a
// probe and the call goes on.
func (a *attempts) charge(c *Call, f *history.Failure, ended int64) retry.Decision {
	if c.probes() {
		d := a.judgementOfProbe(c, f, ended)
		if !d.Retry {
			c.Failures++
		}
		return d
	}
	c.Failures++
	return a.judgement(c, f, ended, false)
}

// judgement returns the policy's decision about a failure that is charged.
func (a *attempts) judgement(c *Call, f *history.Failure, ended int64, overBudget bool) retry.Decision {
	s := a.stateOf(c)
	s.OverBudget = overBudget
	return a.decision(c, s, f, ended)
}

// judgementOfProbe is judgement for the probe of a breaker, whose failure is charged only if
// it ends the call.
func (a *attempts) judgementOfProbe(c *Call, f *history.Failure, ended int64) retry.Decision {
	s := a.stateOf(c)
	s.Probe = true
	return a.decision(c, s, f, ended)
}

func (a *attempts) stateOf(c *Call) retry.State {
	return retry.State{Attempt: c.Failures, First: time.Unix(0, c.First), Previous: c.Previous}
}

func (a *attempts) decision(c *Call, s retry.State, f *history.Failure, ended int64) retry.Decision {
	return retry.Decide(c.Policy, s, retry.Classify(f.Err()), time.Unix(0, ended), a.journal.jitter(c.Number, c.attempt))
}

// nextOf returns when the next attempt is due, 0 for none.
func nextOf(d retry.Decision) int64 {
	if !d.Retry {
		return 0
	}
	return d.At.UnixNano()
}

// verdictOf returns what a failed attempt says about what is behind the gates. A failure
// that no retry can change says nothing about it.
func verdictOf(d retry.Decision) gates.Outcome {
	switch {
	case d.Reason == retry.ReasonProbe:
		return gates.FailedProbe
	case d.Retry, d.Reason == retry.ReasonTimeout, d.Reason.Exhausts():
		return gates.Failure
	}
	return gates.Neutral
}

// follow carries out the policy's decision about a failure.
func (a *attempts) follow(c *Call, d retry.Decision, f *history.Failure, ended int64) {
	switch {
	case d.Pause:
		c.attempt++
		a.exhausted(c, d.Reason)
	case !d.Retry:
		a.closeFailed(c, d.Reason, d.Max, f, ended)
	default:
		c.verdict = "" // the gates know it already
		c.attempt++
		c.Previous = d.Delay
		if d.Delay <= 0 {
			a.goOn(c)
			return
		}
		a.backOffUntil(c, nextOf(d))
	}
}

// lost records the loss of an attempt whose node no longer owns the run. The loss counts
// against the call only if the node died while it ran the attempt alone in the probation
// lane, and only as long as the node is not known to have survived. CrashLimit 1 means that
// the call must not run again after any loss. Most processes die of something else, so a
// call is on probation only from its second loss within suspects.Window on.
//
// An attempt that is on record ahead of its time is lost too, and the next one is due at
// the same time: the old node may not know yet that it lost the run, and begin the attempt.
// Such a loss does not count against the call.
func (a *attempts) lost(c *Call, in TakenOver) {
	early := c.StartedAt > a.journal.now
	c.Losses++
	survived := slices.Contains(in.Survivors, c.Node)
	alone := c.OnProbation && !early && suspects.Alone(c.Group) && !slices.Contains(in.Excused, c.Node)
	if alone {
		c.Group = 1
		c.CrashedOn = append(c.CrashedOn, c.Node)
	}
	c.CrashedOn = slices.DeleteFunc(c.CrashedOn, func(node string) bool { return slices.Contains(in.Survivors, node) })
	limit := crashLimit(c.Policy)
	if !survived && alone {
		a.journal.out.Crashed = append(a.journal.out.Crashed, Crash{AttemptRef{c.Number, c.attempt}, c.Name, c.Step(), c.Node, limit})
	}
	quarantine := len(c.CrashedOn) >= limit || limit == 1
	reason := retry.ReasonWorkerLost
	switch {
	case quarantine:
		reason = retry.ReasonCrashLimit
	case survived:
		reason = retry.ReasonLeaseLost
	case slices.Contains(in.Unheard, c.Node):
		reason = retry.ReasonLeaseExpired
	}
	a.ledger.record(c, Lost, nil, string(reason), max(a.journal.now, c.StartedAt))
	switch {
	case a.isCanceled(c):
		a.closeCanceled(c, a.journal.now)
	case quarantine:
		c.attempt++
		a.quarantine(c)
	case early:
		a.gating.backOffAtGates(c, gates.Neutral, c.StartedAt, false)
		c.attempt++
		a.backOff(c)
	default:
		a.gating.backOffAtGates(c, gates.Neutral, a.journal.now, false)
		c.attempt++
		if survived {
			c.cleared()
		} else {
			c.OnProbation = c.OnProbation || c.LostAt != 0 && a.journal.now-c.LostAt <= int64(suspects.Window)
			c.LostAt = a.journal.now
		}
		a.goOn(c)
	}
}

// refused closes a call whose gate refuses it. The coming attempt does not start and is not
// charged; the ledger records the refusal.
func (a *attempts) refused(c *Call, i int) {
	c.AtGates[i].becomes(noTicket) // its ticket is gone
	if u := c.Undecided; u != nil {
		c.Undecided = nil
		d := a.judgement(c, u.Failure, u.Ended, false)
		a.ledger.recordDecision(c, u.Outcome, u.Failure, d, u.Ended, nextOf(d))
		c.attempt++
	}
	refusal := &retry.RefusedError{Gate: c.Gates[i].Name, Reason: retry.ReasonBreaker}
	if c.Last != nil {
		refusal.Last = c.Last.Err()
	}
	f := history.FromError(refusal)
	a.ledger.recordRefusal(c, f)
	c.attempt--
	c.verdict = gates.Neutral
	a.closeFailed(c, retry.ReasonBreaker, c.Policy.AttemptLimit(), f, a.journal.now)
}

// judged handles a budget's verdict. The first denial decides, or the last of the expected
// verdicts. A gate that got a budget only after the call asked may deny although it was not
// asked: the decision stands, and the call enters that gate again.
func (a *attempts) judged(c *Call, i int, in FromGate, denied bool) {
	u := c.Undecided
	if denied {
		c.AtGates[i].becomes(noTicket) // its ticket is gone
		a.calls.touch(c)
	}
	switch {
	case u == nil && denied:
		a.proceed(c)
	case u == nil || in.Attempt != c.attempt || c.AtGates[i].Judged:
		a.journal.out.Dropped++
	case denied || u.Judges == 1:
		a.decide(c, denied)
	default:
		c.AtGates[i].Judged = true
		u.Judges--
		a.calls.touch(c)
	}
}

// decide asks the policy about the attempt that waited for a verdict, as of the time of its
// failure.
func (a *attempts) decide(c *Call, denied bool) {
	u := c.Undecided
	c.Undecided = nil
	d := a.judgement(c, u.Failure, u.Ended, denied)
	a.ledger.recordDecision(c, u.Outcome, u.Failure, d, u.Ended, nextOf(d))
	a.follow(c, d, u.Failure, u.Ended)
}

// closeLate closes a call if its next attempt may no longer start.
func (a *attempts) closeLate(c *Call) bool {
	if !a.pastDeadline(c) {
		return false
	}
	c.attempt-- // the attempt that will not start
	last := c.Last
	if last == nil { // attempts were lost or given back, but none failed
		last = history.FromError(&retry.WorkerLostError{Worker: c.Node, Attempt: c.attempt, Losses: c.Losses, Limit: crashLimit(c.Policy)})
	}
	a.closeFailed(c, retry.ReasonWithin, c.Policy.AttemptLimit(), last, a.journal.now)
	return true
}
