package retry

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Explanation describes the effects of a policy. It is computed with Decide, so it is
// what the runners do. It is plain data.
type Explanation struct {
	// Policy is the policy that was explained.
	Policy Policy

	// Verdicts say whether each kind of error is retried.
	Verdicts []Verdict

	// Schedules are the attempts, one schedule for each rule that retries and
	// one for the policy's own fields if they do.
	Schedules []Schedule

	// Waits is the longest time that one call can spend waiting between attempts, and
	// Worst the longest time from its first schedule to its end, with attempts that take
	// their full AttemptTimeout. Forever means no bound, or more than 292 years. Neither
	// counts delays that errors ask for (see After), the time between due and started, or
	// attempts lost in a crash.
	Waits, Worst time.Duration

	// Layers is how many layers retry by this policy, one inside the other,
	// and Executions how often one call of the outermost can make the innermost
	// run; Unlimited means no limit.
	Layers, Executions int

	// Warnings list what may be a mistake.
	Warnings []Warning
}

// Verdict says what follows the first failure with an error of some types.
type Verdict struct {
	// Types are the error types; it is empty for the other verdicts, which are
	// about errors that the policy does not name.
	Types []string

	// Errors describes the errors of this verdict in words.
	Errors string

	// Asked says that the program is asked first whether the attempt had its effect; the rest
	// of the verdict is about one that had none.
	Asked bool

	// Retried says that another attempt follows, Reason why or why not.
	Retried bool
	Reason  Reason

	// Rule is the index in Policy.Rules of the rule that decides, -1 if none.
	Rule int

	// Attempts is how many attempts are allowed if they all fail this way.
	Attempts int
}

// Why says in words why another attempt follows, or why none does.
func (v Verdict) Why() string {
	if v.Asked {
		return "asked first; if it was not done: " + string(v.Reason)
	}
	return string(v.Reason)
}

// Schedule lists the attempts of a call that always fails in the same way, and
// immediately.
type Schedule struct {
	// Errors describes the errors of this schedule in words. Rule is the index in
	// Policy.Rules of the rule that decides, -1 if none.
	Errors string
	Rule   int

	// Attempts are the possible attempts, at most the first 1000.
	Attempts []PlannedAttempt

	// Complete says that Attempts has all of them.
	Complete bool

	// Sure is how many of them take place whatever the jitter draws; Within may exclude
	// the others.
	Sure int
}

// PlannedAttempt is one attempt of a Schedule. Times are counted from when the call is
// first scheduled.
type PlannedAttempt struct {
	// Number counts from 1.
	Number int

	// Delay is the wait before it without jitter, Start the sum of these waits.
	// A time longer than a Duration can hold, 292 years, is Forever, here and below.
	Delay, Start time.Duration

	// Earliest and Latest are when it starts with the shortest and the longest waits that
	// jitter allows; no attempt starts after Within.
	Earliest, Latest time.Duration
}

// Bounds of an explanation: it follows this many attempts of each schedule, and
// asks about each of the error types, of which a hostile text may name a million.
const (
	plannedAttempts = 1000
	explainedTypes  = 100
)

// Explain describes the effects of a policy. layers is how many nested layers retry by
// it, such as a client library in an activity in a workflow that is retried; less than
// one is one. The error is that of Validate, or that the policy names more than 100 error
// types.
func Explain(p Policy, layers int) (*Explanation, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	types := len(p.Retryable) + len(p.NonRetryable)
	for _, r := range p.Rules {
		types += len(r.Types)
	}
	if types > explainedTypes {
		return nil, fmt.Errorf("the policy names %d error types, and at most %d are explained; explain a policy with some of its brackets", types, explainedTypes)
	}
	e := &Explanation{Policy: p, Verdicts: p.verdicts(), Layers: max(layers, 1)}
	for _, v := range e.Verdicts {
		if !v.Retried {
			continue
		}
		if i := slices.IndexFunc(e.Schedules, func(s Schedule) bool { return s.Rule == v.Rule }); i >= 0 {
			e.Schedules[i].Errors += ", " + v.Errors
			continue
		}
		e.Schedules = append(e.Schedules, p.schedule(v))
	}
	e.total()
	e.multiply()
	e.warn()
	return e, nil
}

// explainedAt is when the calls of an explanation are first scheduled.
var explainedAt = time.Unix(0, 0)

// failure is one of the verdict's kind.
func (v Verdict) failure() Failure {
	f := Failure{}
	if len(v.Types) > 0 {
		f.Types = v.Types[:1]
		if t := timeoutOf(v.Types[0]); t != nil {
			f.Timeout = t.kind
		}
		f.Unknown = f.Timeout.leavesUnknown() || v.Types[0] == TypeWorkerLost
	}
	return f
}

// planned is one attempt of a walk: the wait before it and when it starts.
type planned struct{ delay, start time.Duration }

// walk returns the attempts of a call that fails each time after a while, with the
// same draw for the jitter.
func (p *Policy) walk(f Failure, took time.Duration, u float64) (attempts []planned, complete bool) {
	s := State{First: explainedAt}
	var next planned
	for s.Attempt = 1; s.Attempt <= plannedAttempts; s.Attempt++ {
		attempts = append(attempts, next)
		failed := addDurations(next.start, took)
		d, _ := p.settled(&s, f, explainedAt.Add(failed), u)
		if !d.Retry {
			return attempts, true
		}
		next = planned{d.Delay, addDurations(failed, d.Delay)}
		s.Previous = d.Delay
	}
	return attempts, false
}

// settled is Decide for an attempt that had no effect: if that is to be asked, it was, and s says so.
func (p *Policy) settled(s *State, f Failure, now time.Time, u float64) (d Decision, asked bool) {
	if d = Decide(p, *s, f, now, u); !d.Verify {
		return d, false
	}
	s.Settled = true
	return Decide(p, *s, f, now, u), true
}

// addDurations is the sum of two durations that are not negative, Forever if it
// does not fit.
func addDurations(a, b time.Duration) time.Duration {
	if a > Forever-b {
		return Forever
	}
	return a + b
}

// unjittered is the policy without jitter.
func (p Policy) unjittered() Policy {
	p.Jitter = NoJitter
	p.Rules = slices.Clone(p.Rules)
	for i := range p.Rules {
		if r := &p.Rules[i]; !r.Stop {
			r.Jitter = NoJitter
		}
	}
	return p
}

// schedule puts together the attempts that follow errors of one kind. The
// shortest waits make the most attempts, the longest the fewest.
func (p *Policy) schedule(v Verdict) Schedule {
	f := v.failure()
	earliest, complete := p.walk(f, 0, 0)
	latest, _ := p.walk(f, 0, math.Nextafter(1, 0))

	// Without Within the nominal waits are known for all attempts.
	plain := p.unjittered()
	plain.Within = Forever
	nominal, _ := plain.walk(f, 0, 0)

	s := Schedule{Errors: v.Errors, Rule: v.Rule, Complete: complete, Sure: len(latest)}
	for i, early := range earliest {
		a := PlannedAttempt{
			Number: i + 1, Delay: nominal[i].delay, Start: nominal[i].start, Earliest: early.start, Latest: p.Within,
		}
		if i < len(latest) {
			a.Latest = latest[i].start
		}
		s.Attempts = append(s.Attempts, a)
	}
	return s
}

// total finds the longest waits and the longest call.
func (e *Explanation) total() {
	p := &e.Policy
	e.Worst = Forever
	if p.AttemptTimeout > 0 {
		e.Worst = p.AttemptTimeout
	}
	for _, s := range e.Schedules {
		last := s.Attempts[len(s.Attempts)-1]
		waits, busy := last.Latest, time.Duration(Forever)
		if !s.Complete {
			waits = Forever
		} else if p.AttemptTimeout > 0 && p.AttemptTimeout < Forever/plannedAttempts {
			busy = p.AttemptTimeout * time.Duration(last.Number-1)
		}
		start := addDurations(waits, busy)
		if p.bounded() {
			waits, start = min(waits, p.Within), min(start, p.Within)
		}
		e.Waits = max(e.Waits, waits)
		if p.AttemptTimeout > 0 {
			e.Worst = max(e.Worst, addDurations(start, p.AttemptTimeout))
		}
	}
}

// multiply counts the executions in several layers. An outer layer sees that an
// inner one is exhausted; whether it retries that is asked of Decide.
func (e *Explanation) multiply() {
	outer := 1
	for _, v := range e.Verdicts {
		f := v.failure()
		f.Timeout = ""
		f.Types = append([]string{TypeExhausted}, f.Types...)
		if v.Retried {
			if d := Decide(&e.Policy, State{Attempt: 1}, f, explainedAt, 0); d.Retry {
				outer = max(outer, d.Max)
			}
		}
		e.Executions = max(e.Executions, v.Attempts)
	}
	for range e.Layers - 1 {
		if outer == 1 || e.Executions == Unlimited {
			break
		}
		if e.Executions > Unlimited/outer {
			e.Executions = Unlimited
			break
		}
		e.Executions *= outer
	}
}
