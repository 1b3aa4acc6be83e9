package retry

import (
	"cmp"
	"slices"
	"time"
)

// State is what a runner keeps of a call between its attempts; a durable runner stores
// it. It is plain data.
type State struct {
	// Attempt is the number of failures charged so far, this one included. It
	// is at least 1 when Decide is asked, unless Probe is set. Attempts lost to a
	// crash of the worker are not charged.
	Attempt int

	// First is when the call was first scheduled; Within counts from it. If it is the
	// zero time, Within counts from the now of the decision.
	First time.Time

	// Previous is the delay before this attempt, zero for the first one.
	Previous time.Duration

	// Canceled says that the call has been canceled.
	Canceled bool

	// Settled says that the attempt, whose outcome was unknown, is now known to have had no
	// effect.
	Settled bool

	// OverBudget says that the call's retry budget refuses another attempt.
	OverBudget bool

	// Probe says that the attempt was the probe of a gate's circuit breaker that makes calls
	// wait. Unless it ends the call its failure is not charged: Attempt does not
	// count it, and MaxAttempts ends the call only if it is 1. The wait that
	// follows is that after the failure before.
	Probe bool
}

// Decision is what Decide returns. It is plain data.
type Decision struct {
	// Retry says that another attempt starts at At. Without it the call has
	// failed or, with Pause, waits until a person decides.
	Retry, Pause bool

	// Verify says that nothing is decided yet: the attempt may have had its effect, and the
	// program is asked. If it says that it had none, Decide is asked again with State.Settled.
	Verify bool

	// Delay is the wait before the next attempt; zero without Retry.
	Delay time.Duration

	// At is when the next attempt is due: now plus Delay, but never after the
	// year 2261, so that it fits an int64 of nanoseconds since 1970. It is the
	// zero time without Retry. A durable runner stores it and does not decide
	// again.
	At time.Time

	// Reason says why.
	Reason Reason

	// Rule is the index in Policy.Rules of the rule that decided, and -1 if
	// none did and the policy's own fields hold.
	Rule int

	// Max is the number of attempts that the deciding rule allows.
	Max int
}

// noRule is the Rule of a decision that the policy's own fields made.
const noRule = -1

// lastInstant is the latest due time that Decide gives: its year is the last
// that lies completely within an int64 of nanoseconds since 1970.
var lastInstant = time.Date(2261, time.December, 31, 23, 59, 59, 0, time.UTC)

// Decide judges one failure: is there another attempt, and when?
//
// It is a pure function of its arguments: it reads no clock (now is the time of the
// failure), draws nothing (u, in [0, 1), is the draw for the jitter), does no I/O, logs
// nothing and allocates nothing. A runner that stores the arguments, or the decision,
// never gets another decision after a crash. Decide returns a decision for every input,
// even for a policy that Validate would refuse.
//
// The judgement goes in this order, and the first stop found is the reason:
// canceled; unknown outcome, unless OnUnknown is RepeatUnknown; terminal; Stop rule or NonRetryable; timeout with StopOnTimeout;
// Retryable; attempts; Within; budget. Stops of the last three kinds become
// Pause if the policy says so.
func Decide(p *Policy, s State, f Failure, now time.Time, u float64) Decision {
	rule, stop := p.filter(&s, &f)
	allowed, backoff, jitter := p.terms(rule)
	d := Decision{Reason: stop, Rule: rule, Max: allowed}
	if f.Unknown && !s.Settled && stop != ReasonCanceled {
		if then := p.AfterUnknown(f.Types...); then != RepeatUnknown {
			return d.doubtful(p.match(f.Types), then)
		}
	}
	if stop != "" {
		return d
	}

	k := max(s.Attempt, 1)
	if k >= allowed && (!s.Probe || allowed == 1) {
		if rule == noRule && p.retriesByRule() {
			d.Reason = ReasonNotRetryable
			return d
		}
		return d.exhausted(p, ReasonMaxAttempts)
	}
	delay, reason := p.wait(backoff, jitter, k, s.Previous, &f, now, u)
	if p.bounded() && startsLate(s.First, now, delay, p.Within) {
		return d.exhausted(p, ReasonWithin)
	}
	if s.OverBudget {
		return d.exhausted(p, ReasonBudget)
	}

	if s.Probe {
		reason = ReasonProbe
	}
	d.Retry, d.Reason, d.Delay = true, reason, delay
	if d.At = now.Add(delay); d.At.After(lastInstant) {
		d.At = lastInstant
	}
	return d
}

// doubtful completes a decision about an attempt that may have had its effect.
func (d Decision) doubtful(rule int, then OnUnknown) Decision {
	d.Rule, d.Reason = rule, ReasonUnknown
	if d.Verify = then == VerifyUnknown; d.Verify {
		d.Reason = ReasonVerify
	}
	d.Pause = then == PauseUnknown
	return d
}

// exhausted completes a decision that something is used up.
func (d Decision) exhausted(p *Policy, reason Reason) Decision {
	d.Reason, d.Pause = reason, p.OnExhausted == Pause
	return d
}

// filter is the part of the judgement that looks at what the failure is. It
// returns the rule that holds and, if the call must stop, why.
func (p *Policy) filter(s *State, f *Failure) (rule int, stop Reason) {
	if s.Canceled || f.Canceled {
		return noRule, ReasonCanceled
	}
	if f.Terminal {
		return noRule, ReasonTerminal
	}
	rule = p.match(f.Types)
	if rule != noRule && p.Rules[rule].Stop {
		return rule, ReasonStopRule
	}
	if matches(p.NonRetryable, f.Types) {
		return noRule, ReasonNonRetryable
	}
	if f.Timeout != "" && p.OnTimeout == StopOnTimeout && !s.Settled && !p.excepted(f.Timeout) {
		return noRule, ReasonTimeout
	}
	if rule == noRule && len(p.Retryable) > 0 && !matches(p.Retryable, f.Types) {
		return noRule, ReasonNotRetryable
	}
	return rule, ""
}

// retriesByRule reports whether what no rule names is not retried, and does not pause: rules
// retry, and the policy itself allows one attempt.
func (p *Policy) retriesByRule() bool {
	return p.MaxAttempts == 1 && p.OnExhausted != Pause && slices.ContainsFunc(p.Rules, func(r Rule) bool { return !r.Stop })
}

// match returns the rule for an error with these types: the first Stop rule,
// else the one that allows most attempts, else noRule.
func (p *Policy) match(types []string) int {
	best, most := noRule, 0
	for i := range p.Rules {
		r := &p.Rules[i]
		if !matches(r.Types, types) {
			continue
		}
		if r.Stop {
			return i
		}
		if n := p.ruleAttempts(r); n > most {
			best, most = i, n
		}
	}
	return best
}

// excepted reports whether a rule names this kind of timeout, and so makes an
// exception from StopOnTimeout. Stop rules have been judged before.
func (p *Policy) excepted(kind TimeoutKind) bool {
	name := kind.TypeName()
	return slices.ContainsFunc(p.Rules, func(r Rule) bool { return slices.Contains(r.Types, name) })
}

// ruleAttempts is a rule's MaxAttempts with its default.
func (p *Policy) ruleAttempts(r *Rule) int {
	return max(cmp.Or(r.MaxAttempts, p.attempts()), 1)
}

// terms returns what the rule says, and the policy where it says nothing.
func (p *Policy) terms(rule int) (attempts int, b Backoff, j Jitter) {
	if rule == noRule || p.Rules[rule].Stop {
		return p.attempts(), p.Backoff, p.Jitter
	}
	r := &p.Rules[rule]
	return p.ruleAttempts(r), cmp.Or(r.Backoff, p.Backoff), cmp.Or(r.Jitter, p.Jitter)
}

// wait returns the delay after the k-th failure: the one asked for, exact and
// capped, else the computed one.
func (p *Policy) wait(b Backoff, j Jitter, k int, previous time.Duration, f *Failure, now time.Time, u float64) (time.Duration, Reason) {
	if f.Asked {
		asked := f.After
		if !f.At.IsZero() {
			asked = f.At.Sub(now)
		}
		return min(max(asked, 0), p.serverDelayCap()), ReasonServerDelay
	}
	if delay := j.Draw(b, b.Delay(k), previous, u); delay > 0 {
		return delay, ReasonBackoff
	}
	return 0, ReasonImmediate
}

// startsLate reports whether an attempt after the delay starts after the end of
// Within; exactly at the end is in time.
func startsLate(first, now time.Time, delay, within time.Duration) bool {
	if first.IsZero() {
		return delay > within
	}
	return now.Add(delay).After(first.Add(within))
}

// matches reports whether the two lists share a name. Both are short.
func matches(list, types []string) bool {
	return slices.ContainsFunc(list, func(name string) bool { return slices.Contains(types, name) })
}
