package retry

import (
	"fmt"
	"slices"
	"strings"
)

// Warning points out something in a policy that is allowed but may be a mistake.
type Warning struct {
	// Kind is a stable word for programs.
	Kind string

	// Text is one sentence or more for people.
	Text string
}

// The kinds of warnings.
const (
	warnWithin          = "within_cuts_off"    // Within leaves no room for all attempts
	warnJitterWithin    = "within_may_cut_off" // whether it does is up to the jitter
	warnSlowWithin      = "slow_attempts"      // it does if attempts take long
	warnTimeoutsRetried = "timeouts_retried"   // for work that is not idempotent
	warnNoTimeout       = "no_such_timeout"    // a timeout is spoken of that cannot happen
	warnHeartbeat       = "heartbeat_too_long"
	warnUnlimited       = "unlimited"
	warnImmediate       = "immediate"
	warnNoJitter        = "no_jitter"
	warnUselessRule     = "useless_rule"
	warnAmplification   = "amplification"
)

// warn collects the warnings.
func (e *Explanation) warn() {
	for _, v := range e.Verdicts {
		if v.Reason == ReasonWithin {
			e.add(warnWithin, "%s: within %s is shorter than the first wait, so nothing is retried.", v.Errors, notationDuration(e.Policy.Within))
		}
	}
	for i := range e.Schedules {
		e.warnWithin(&e.Schedules[i])
		e.warnHerd(&e.Schedules[i])
	}
	e.warnTimeouts()
	e.warnUnlimited()
	e.warnRules()
	if e.Layers > 1 && e.Executions > e.Policy.AttemptLimit() {
		e.add(warnAmplification, "%d layers that retry by this policy, one inside the other, make up to %s executions of the innermost. Let one layer retry, or stop what an inner one has given up: [%s -> stop].",
			e.Layers, limitText(e.Executions), TypeExhausted)
	}
}

// add notes a warning.
func (e *Explanation) add(kind, format string, args ...any) {
	e.Warnings = append(e.Warnings, Warning{Kind: kind, Text: fmt.Sprintf(format, args...)})
}

// warnWithin is about policies that outlive their deadline.
func (e *Explanation) warnWithin(s *Schedule) {
	p, v := &e.Policy, e.verdictOf(s)
	allowed := v.Attempts
	if !p.bounded() || allowed == Unlimited {
		return
	}
	within, possible := notationDuration(p.Within), len(s.Attempts)
	if possible < allowed && s.Complete {
		e.add(warnWithin, "%s: within %s ends the call after attempt %d of %d: the next one would start after it, however short the waits.", s.Errors, within, possible, allowed)
	}
	if s.Sure < possible {
		e.add(warnJitterWithin, "%s: whether within %s leaves time for more than %d attempts, up to %d, is up to the jitter.", s.Errors, within, s.Sure, possible)
	}
	if p.AttemptTimeout == 0 || p.AttemptTimeout == Forever {
		return
	}
	slow, _ := p.walk(v.failure(), p.AttemptTimeout, 0.5)
	if len(slow) < s.Sure {
		e.add(warnSlowWithin, "%s: attempts that take their full timeout of %s leave time for %d of %d within %s.", s.Errors, notationDuration(p.AttemptTimeout), len(slow), allowed, within)
	}
}

// verdictOf is the verdict that a schedule is about.
func (e *Explanation) verdictOf(s *Schedule) Verdict {
	return e.Verdicts[slices.IndexFunc(e.Verdicts, func(v Verdict) bool { return v.Retried && v.Rule == s.Rule })]
}

// warnHerd is about callers that failed together and come back together.
func (e *Explanation) warnHerd(s *Schedule) {
	allowed, b, j := e.Policy.terms(s.Rule)
	switch {
	case b.Delay(1) == 0 && allowed == 2:
	case b.Delay(1) == 0:
		e.add(warnImmediate, "%s: retries follow immediately, %s in a row. What is overloaded gets more load; give it time with a backoff.", s.Errors, limitText(allowed-1))
	case j.Kind == jitterNone || j == Proportional(0):
		e.add(warnNoJitter, "%s: without jitter, callers that failed together come back together.", s.Errors)
	}
}

// warnTimeouts is about the timeouts that the policy can cause, and about those
// that it speaks of and cannot.
func (e *Explanation) warnTimeouts() {
	p := &e.Policy
	var retried []string
	for _, t := range timeouts {
		name := t.kind.TypeName()
		repeated := func(v Verdict) bool { return slices.Contains(v.Types, name) && v.Retried && !v.Asked }
		if t.kind.leavesUnknown() && *t.of(p) > 0 && slices.ContainsFunc(e.Verdicts, repeated) {
			retried = append(retried, name)
		}
	}
	if len(retried) > 0 {
		e.add(warnTimeoutsRetried, "%s: an attempt that timed out may have had its effect, and is retried. That is right for work that can be repeated; else let it be asked about first (unknown: verify), or decided by a person (unknown: pause), or set on-timeout: stop.", strings.Join(retried, " and "))
	}
	for _, r := range p.Rules {
		for _, t := range r.Types {
			if timeout := timeoutOf(t); timeout != nil && *timeout.of(p) == 0 {
				e.add(warnNoTimeout, "A bracket names %s, but the policy has no %s.", t, timeout.key)
			}
		}
	}
	if p.HeartbeatTimeout > 0 && p.AttemptTimeout > 0 && p.HeartbeatTimeout >= p.AttemptTimeout {
		e.add(warnHeartbeat, "A heartbeat of %s has no effect beside a timeout of %s.", notationDuration(p.HeartbeatTimeout), notationDuration(p.AttemptTimeout))
	}
}

// warnUnlimited is about calls that never end.
func (e *Explanation) warnUnlimited() {
	if p := &e.Policy; p.AttemptLimit() == Unlimited && !p.bounded() {
		e.add(warnUnlimited, "There is no limit of attempts and none of time: a call whose error never goes away never ends. Name the errors that cannot go away in a bracket with stop, or mark them terminal.")
	}
}

// warnRules is about rules that never decide: whatever error matches them,
// something else does.
func (e *Explanation) warnRules() {
	for i, r := range e.Policy.Rules {
		decides := func(v Verdict) bool { return v.Rule == i }
		if !slices.ContainsFunc(e.Verdicts, decides) {
			e.add(warnUselessRule, "[%s -> ...] never decides: a bracket with stop, never, or a bracket with as many retries or more stands for the same errors.", notationTypes(r.Types))
		}
	}
}

// limitText is a number of attempts for people.
func limitText(n int) string {
	if n >= Unlimited-1 {
		return unlimitedText
	}
	return fmt.Sprint(n)
}
