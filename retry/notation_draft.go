package retry

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/perdure/perdure/internal/notation"
)

// draft is the policy as far as its brackets have been read. Offsets are those
// of what may turn out wrong at the end; zero is none, because at zero stands a
// bracket at most.
type draft struct {
	change    map[string]bool // the fields that a change names; nil: a whole policy is read
	policy    Policy
	brackets  int
	all       bool            // there is a bracket for all errors
	retry     bool            // on-timeout: retry
	once      map[string]bool // the settings that stand at most once
	unlimited int             // where retry: unlimited stands
	only      []named         // the types of Retryable
	zeros     []zeroBound
}

// zeroBound is a bound that says zero: it has no effect beside another one, and none
// alone.
type zeroBound struct {
	key string
	at  int            // where its value stands
	of  *time.Duration // what it would have set
}

// close takes over a bracket that is complete.
func (d *draft) close(s *scanner, b *bracket, at int) error {
	switch {
	case len(b.types) > 0:
		for _, t := range b.types {
			if t.name == TypeCanceled && !b.rule.Stop {
				return s.fail(t.at, "is never retried", "any other error type")
			}
			b.rule.Types = append(b.rule.Types, t.name)
		}
		d.policy.Rules = append(d.policy.Rules, b.rule)
	case b.first == notation.Retry && d.all:
		return s.fail(at, "begins a second bracket for all errors", "one such bracket, and error types in the others")
	default: // one for all errors, or with settings; those of a change may have both
		d.all = d.all || b.first == notation.Retry
		d.policy.MaxAttempts = cmp.Or(b.rule.MaxAttempts, d.policy.MaxAttempts)
		d.policy.Backoff = cmp.Or(b.rule.Backoff, d.policy.Backoff)
		d.policy.Jitter = cmp.Or(b.rule.Jitter, d.policy.Jitter)
	}
	return nil
}

// setting reads the value of a key that holds for the whole call.
func (d *draft) setting(s *scanner, key string, at int) (err error) {
	p := &d.policy
	for _, t := range timeouts {
		if t.key == key {
			return d.bound(s, key, t.of(p))
		}
	}
	if key == notation.Within {
		return d.bound(s, key, &p.Within)
	}
	if d.once[key] {
		return s.fail(at, "stands in an earlier bracket already", "it once in a policy")
	}
	if d.once == nil {
		d.once = map[string]bool{}
	}
	d.once[key] = true
	switch key {
	case notation.OnTimeout:
		return d.onTimeout(s)
	case notation.Only:
		d.only, err = s.list()
		p.Retryable = typesOf(d.only)
	case notation.Never:
		var types []named
		types, err = s.list()
		p.NonRetryable = typesOf(types)
	case notation.Pause:
		p.OnExhausted = Pause
	case notation.Unknown:
		p.OnUnknown, err = s.onUnknown()
	case notation.MaxRetryAfter:
		p.MaxServerDelay, err = s.positive()
	case notation.Crashes:
		p.CrashLimit, err = s.count(1, math.MaxInt, "is not a number of attempts", "a whole number of 1 or more")
	}
	return err
}

// bound reads a bound; of several the smallest that is not zero holds.
func (d *draft) bound(s *scanner, key string, into *time.Duration) error {
	at := s.next()
	bound, err := s.duration()
	if err == nil && bound == 0 {
		d.zeros = append(d.zeros, zeroBound{key, at, into})
	}
	if err == nil && bound > 0 && (*into == 0 || bound < *into) {
		*into = bound
	}
	return err
}

// idle finds a bound of zero that stands alone, and so does nothing. ParseAt lets it
// pass: texts that were accepted once are read again.
func (d *draft) idle(s *scanner) error {
	for _, z := range d.zeros {
		if *z.of == 0 {
			return s.fail(z.at, "is not a bound", fmt.Sprintf("a duration above zero, or no %s at all", z.key))
		}
	}
	return nil
}

// positive reads a duration that is not zero.
func (s *scanner) positive() (time.Duration, error) {
	at := s.next()
	v, err := s.duration()
	if err == nil && v == 0 {
		return 0, s.fail(at, "is zero", "a duration above zero")
	}
	return v, err
}

// onTimeout reads what a timed-out attempt leads to.
func (d *draft) onTimeout(s *scanner) error {
	s.space()
	value := s.choice(onTimeoutNames)
	if value < 0 {
		return s.fail(s.at, "is not a value of on-timeout", "retry or stop")
	}
	d.retry = OnTimeout(value) == RetryTimeouts
	return nil
}

// onUnknown reads what follows an attempt whose outcome is unknown.
func (s *scanner) onUnknown() (OnUnknown, error) {
	at := s.next()
	if value := s.choice(onUnknownNames); value > 0 {
		return OnUnknown(value), nil
	}
	return 0, s.fail(at, "is not a value of unknown", "repeat, verify, pause or fail")
}

// typesOf are the names alone.
func typesOf(all []named) []string {
	var names []string
	for _, t := range all {
		names = append(names, t.name)
	}
	return names
}

// finish makes the policy of all brackets.
func (d *draft) finish(s *scanner) (Policy, error) {
	p := &d.policy
	if !d.all && d.change == nil {
		p.MaxAttempts, p.Backoff = 1, None
	}
	if !d.retry {
		p.OnTimeout = StopOnTimeout
	}
	for i := range p.Rules {
		// In Go a rule without a jitter has that of the policy.
		if r := &p.Rules[i]; !r.Stop && !r.onlyUnknown() && r.Jitter == (Jitter{}) && p.Jitter != (Jitter{}) {
			r.Jitter = Proportional(defaultProportion)
		}
	}
	if d.change != nil {
		return *p, nil // it is valid or not together with what is kept
	}
	if err := d.contradiction(s); err != nil {
		return Policy{}, err
	}
	if err := p.validate(); err != nil { // nothing is known that comes so far
		return Policy{}, fmt.Errorf("the text %q: %w", clip(s.text), err)
	}
	return *p, nil
}

// contradiction finds what is wrong with the brackets together.
func (d *draft) contradiction(s *scanner) error {
	if d.unlimited > 0 && d.policy.Within == 0 {
		return s.fail(d.unlimited, "has no end in time", "a within in the policy, such as [within: 1h] or [within: forever]")
	}
	for _, t := range d.only {
		switch {
		case t.name == TypeCanceled:
			return s.fail(t.at, "is never retried", "any other error type")
		case timeoutOf(t.name) != nil && !d.retry:
			return s.fail(t.at, "is not retried by only", "a bracket for it, such as ["+t.name+" -> retry: 3], or on-timeout: retry")
		}
	}
	return nil
}
