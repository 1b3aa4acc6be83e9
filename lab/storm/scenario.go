package storm

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/retry"
)

// Always is the To of a fault that does not end.
const Always time.Duration = math.MaxInt64

// DefaultUntil is how much simulated time a scenario gets if it does not say.
const DefaultUntil = 24 * time.Hour

// The bounds of an experiment keep a mistake in a scenario from taking the machine's
// memory or the reader's day.
const (
	maxTasks = 10_000_000
	maxCalls = 50_000_000
	maxUntil = 31 * 24 * time.Hour
)

// Scenario is one experiment: who calls whom by which policy, and what goes
// wrong. It is plain data; Run does not change it, and the same scenario gives
// the same report on every machine.
type Scenario struct {
	// Name is what tables call the scenario.
	Name string

	// Tasks is how many tasks there are, 1 to 10 million. Each is one call
	// under Policy, and is done when an attempt succeeds.
	Tasks int

	// Over is the time in which they come, each at a moment of its own. Zero:
	// all come at once.
	Over time.Duration

	// Policy is what all of them are retried by. Its zero value is the default
	// policy, as everywhere. Tasks send no heartbeats, so HeartbeatTimeout
	// bounds an attempt as AttemptTimeout does; CrashLimit has no meaning, as
	// no process dies here.
	Policy retry.Policy

	// Gate is what every attempt passes before its call. It is the machine of the
	// gates in process and in the engine, asked in simulated time; an empty Mode
	// is Hold. A task that its breaker refuses has failed. Nil: there is none.
	Gate *gate.Spec

	// Dependency is what they call: a Server or a Contended.
	Dependency Dependency

	// Faults are what goes wrong with a Server, and when. Where several hold at
	// a time, the largest error rate and the largest slowness count.
	Faults []Fault

	// Until ends the experiment; tasks that are not done by then are Unsettled.
	// Zero is DefaultUntil; the most is 31 days.
	Until time.Duration

	// Seed chooses the random draws. Zero is a seed like any other.
	Seed uint64
}

// Fault is something that is wrong with a Server for a while.
type Fault struct {
	// From and To are when, counted from the beginning of the scenario. At To
	// the fault is over; Always is never.
	From, To time.Duration

	// ErrorRate is the share of calls that fail, 0 to 1. A call that fails
	// occupies nothing and is answered after the server's Refusal.
	ErrorRate float64

	// Slow multiplies the time that calls take whose work begins meanwhile.
	// Zero is 1, less than 1 is refused.
	Slow float64

	// RetryAfter is what the errors ask for, as a Retry-After header does (see
	// retry.After). Zero: they ask for nothing.
	RetryAfter time.Duration

	// Type is the type name of the errors. Empty is TypeUnavailable.
	Type string
}

// Outage is a time in which every call fails.
func Outage(from, to time.Duration) Fault { return Fault{From: from, To: to, ErrorRate: 1} }

// Errors is a time in which a share of the calls fails.
func Errors(from, to time.Duration, rate float64) Fault {
	return Fault{From: from, To: to, ErrorRate: rate}
}

// Slow is a time in which calls take several times as long.
func Slow(from, to time.Duration, times float64) Fault {
	return Fault{From: from, To: to, Slow: times}
}

// holds reports whether the fault is there at the moment.
func (f *Fault) holds(at time.Duration) bool { return f.From <= at && at < f.To }

// until is Until with its default.
func (s *Scenario) until() time.Duration { return cmp.Or(s.Until, DefaultUntil) }

// recovery is when the last fault is over that is over before the end; zero
// without faults.
func (s *Scenario) recovery() time.Duration {
	var at time.Duration
	for i := range s.Faults {
		if to := s.Faults[i].To; to < s.until() {
			at = max(at, to)
		}
	}
	return at
}

// mistakes are what is wrong with a scenario, or with a part of it.
type mistakes []error

// when notes a mistake if there is one.
func (m *mistakes) when(wrong bool, format string, args ...any) {
	if wrong {
		*m = append(*m, fmt.Errorf(format, args...))
	}
}

// within notes the mistakes in a part of the scenario.
func (m *mistakes) within(part string, err error) { m.when(err != nil, "storm: %s: %w", part, err) }

// check lists all that is wrong with the scenario.
func (s *Scenario) check() error {
	var wrong mistakes
	wrong.when(s.Tasks < 1 || s.Tasks > maxTasks, "storm: Tasks is %d; allowed is 1 to %d", s.Tasks, maxTasks)
	wrong.when(s.Until < 0 || s.Until > maxUntil, "storm: Until is %v; allowed is 0 (%v) to %v", s.Until, DefaultUntil, maxUntil)
	wrong.when(s.Over < 0 || s.Over > s.until(), "storm: Over is %v; allowed is 0 to Until, which is %v", s.Over, s.until())
	wrong.within("Policy", s.Policy.Validate())
	if s.Gate != nil {
		wrong.within("Gate", s.Gate.Validate())
	}
	for i, f := range s.Faults {
		wrong.within(fmt.Sprintf("Faults[%d]", i), f.check())
	}
	if s.Dependency != nil {
		wrong.within("Dependency", s.Dependency.check(s))
	}
	wrong.when(s.Dependency == nil, "storm: Dependency is nil; set a Server or a Contended")
	return errors.Join(wrong...)
}

// check lists all that is wrong with the fault.
func (f *Fault) check() error {
	var wrong mistakes
	wrong.when(f.From < 0 || f.To <= f.From, "it lasts from %v to %v; From must be 0 or more, and To after it", f.From, f.To)
	wrong.when(!(f.ErrorRate >= 0 && f.ErrorRate <= 1), "ErrorRate is %v; allowed is 0 to 1", f.ErrorRate)
	wrong.when(f.Slow != 0 && !(f.Slow >= 1 && f.Slow <= maxSlow), "Slow is %v; allowed is 0 (as fast as ever) or 1 to %v", f.Slow, float64(maxSlow))
	wrong.when(f.RetryAfter < 0, "RetryAfter is %v; allowed is 0 (none) or more", f.RetryAfter)
	wrong.when(f.ErrorRate == 0 && f.Slow == 0, "nothing is wrong; set ErrorRate or Slow")
	wrong.when(f.ErrorRate == 0 && (f.RetryAfter != 0 || f.Type != ""), "RetryAfter and Type say what errors are like, and ErrorRate is 0")
	return errors.Join(wrong...)
}
