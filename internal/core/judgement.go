package core

import (
	"time"

	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// judgement returns the policy's decision about a failure that is charged.
func (a *attempts) judgement(c *Call, f *history.Failure, ended int64, overBudget bool) retry.Decision {
	s := a.stateOf(c)
	s.OverBudget = overBudget
	return a.decision(c, s, f, ended)
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
