package retry

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// Unlimited is the MaxAttempts of a policy that never runs out of attempts. It requires a
// Within, or [Forever] for no end in time.
const Unlimited = math.MaxInt32

// Forever is the Within of a policy without an end in time. It means the same as a zero
// Within, but [Policy.Validate] requires it with [Unlimited]. In any other duration it
// means "never" as well.
const Forever time.Duration = math.MaxInt64

// The values that a zero field stands for.
const (
	defaultMaxAttempts    = 5
	defaultInitial        = time.Second
	defaultCoefficient    = 2.0
	defaultMax            = time.Minute
	defaultProportion     = 0.1
	defaultMaxServerDelay = time.Hour
	defaultCrashLimit     = 3

	// defaultMaxFactor times the first delay is the Max of a Linear or
	// Exponential backoff that does not set one.
	defaultMaxFactor = 100
)

// Policy says whether a failed attempt is followed by another one, and when.
//
// It is plain data: comparable with reflect.DeepEqual, safe to copy and to
// share between goroutines while none of them writes to its slices, and the same
// in Go and in JSON. The zero Policy is a usable one: five attempts with
// exponential backoff from one second. Each field has its own default, written
// beside it. An attempt is one execution; MaxAttempts counts executions, the
// first included.
type Policy struct {
	// MaxAttempts is the number of executions, the first included. Zero is 5;
	// Unlimited means no limit.
	MaxAttempts int

	// Backoff is the wait between attempts. The zero Backoff is
	// Exponential(1s, 2, 60s); no wait at all is None.
	Backoff Backoff

	// Jitter spreads the waits. The zero Jitter is Proportional(0.1); exact
	// waits are NoJitter.
	Jitter Jitter

	// AttemptTimeout bounds one attempt. Zero means no bound.
	AttemptTimeout time.Duration

	// HeartbeatTimeout is the longest silence of one attempt between two
	// heartbeats. Zero means no bound.
	HeartbeatTimeout time.Duration

	// QueueTimeout is the longest wait of an attempt between the moment it is
	// due and the moment it starts. Zero means no bound. In process an attempt
	// starts the moment it is due, so only a queue (a gate, or the workers of
	// the durable engine) can exceed it. An attempt that does has failed.
	QueueTimeout time.Duration

	// Within is the time, from when the call is first scheduled, in which attempts may
	// start. If the next one would start later, the call ends immediately; a start
	// exactly at the end is allowed, and a running attempt is never cut. Zero and Forever
	// mean no bound.
	Within time.Duration

	// OnTimeout says how a timed-out attempt is judged. Zero is RetryTimeouts.
	OnTimeout OnTimeout

	// Retryable lists the error types that are retried. Empty is all. A type
	// that a retrying rule names needs no entry here.
	Retryable []string

	// NonRetryable lists the error types that are never retried; it takes precedence over
	// Retryable and over every rule.
	NonRetryable []string

	// Rules are exceptions per error type, see Rule.
	Rules []Rule

	// OnExhausted says what happens when attempts, time or budget are used up. Zero is
	// Fail.
	OnExhausted OnExhausted

	// OnUnknown says what follows an attempt that may have had its effect: it was lost, timed
	// out, or failed with an error that Unknown marks. Zero is VerifyUnknown if the activity
	// or the call has a Verify function, else RepeatUnknown. It is judged before everything
	// but a cancellation.
	OnUnknown OnUnknown

	// MaxServerDelay caps a delay that the error itself asked for (see After).
	// Zero is one hour.
	MaxServerDelay time.Duration

	// CrashLimit is how many crashes of its worker, with the call as the only suspect,
	// quarantine the call; 1 quarantines it at any loss. The first crash makes no call a
	// suspect, and suspects then run in groups that halve. A crash is not a failure and
	// does not count for MaxAttempts. Zero is 3. Do ignores it, because a crash ends the
	// caller, too.
	CrashLimit int
}

// Rule is the part of a policy that applies only to some error types.
//
// If several rules match an error, a Stop rule takes precedence; among the others the one
// that allows most attempts decides, and the first of equals. If no rule matches, the
// fields of the policy decide. All rules share one attempt counter.
type Rule struct {
	// Types are the error type names that the rule applies to, see TypeName. At least one
	// is required.
	Types []string

	// Stop ends the call at the first such error. The other fields must then be zero.
	Stop bool

	// MaxAttempts, Backoff and Jitter replace those of the policy. Zero keeps
	// the policy's.
	MaxAttempts int
	Backoff     Backoff
	Jitter      Jitter

	// OnUnknown replaces that of the policy. Zero keeps it.
	OnUnknown OnUnknown
}

// OnTimeout says how a timed-out attempt is judged.
type OnTimeout uint8

const (
	// RetryTimeouts judges a timed-out attempt like any other failure.
	RetryTimeouts OnTimeout = iota

	// StopOnTimeout ends the call: it is unknown whether a timed-out attempt had its
	// effect, and another one might repeat it. A rule that names the timeout type
	// (Timeout, HeartbeatTimeout, QueueTimeout) takes precedence, and so does OnUnknown: an
	// attempt that was found not to have had its effect is judged like any other failure.
	StopOnTimeout
)

// OnExhausted says what happens when attempts, time or budget are used up.
type OnExhausted uint8

const (
	// Fail hands an *ExhaustedError to the caller.
	Fail OnExhausted = iota

	// Pause keeps the call open until a person decides. It needs the durable
	// engine; Do refuses it.
	Pause
)

// Names of the two enums in JSON; the index is the value.
var (
	onTimeoutNames   = []string{"retry", "stop"}
	onExhaustedNames = []string{"fail", "pause"}
)

// String returns "retry" or "stop".
func (o OnTimeout) String() string { return enumName(onTimeoutNames, o) }

// String returns "fail" or "pause".
func (o OnExhausted) String() string { return enumName(onExhaustedNames, o) }

// MarshalText writes the name that String gives; an unknown value is an error.
func (o OnTimeout) MarshalText() ([]byte, error) { return marshalEnum(onTimeoutNames, o) }

// MarshalText writes the name that String gives; an unknown value is an error.
func (o OnExhausted) MarshalText() ([]byte, error) { return marshalEnum(onExhaustedNames, o) }

// UnmarshalText reads "retry" or "stop".
func (o *OnTimeout) UnmarshalText(text []byte) error { return unmarshalEnum(onTimeoutNames, text, o) }

// UnmarshalText reads "fail" or "pause".
func (o *OnExhausted) UnmarshalText(text []byte) error {
	return unmarshalEnum(onExhaustedNames, text, o)
}

// IsZero reports whether no field is set.
func (p *Policy) IsZero() bool {
	return p.MaxAttempts == 0 && p.Backoff == Backoff{} && p.Jitter == Jitter{} &&
		p.AttemptTimeout == 0 && p.HeartbeatTimeout == 0 && p.QueueTimeout == 0 && p.Within == 0 &&
		p.OnTimeout == 0 && len(p.Retryable) == 0 && len(p.NonRetryable) == 0 && len(p.Rules) == 0 &&
		p.OnExhausted == 0 && p.OnUnknown == 0 && p.MaxServerDelay == 0 && p.CrashLimit == 0
}

// WithDefaults returns the policy with every default written out, for display. Decide
// returns the same for both.
func (p Policy) WithDefaults() Policy {
	p.MaxAttempts = p.attempts()
	p.Backoff = p.Backoff.withDefaults()
	p.Jitter = p.Jitter.withDefaults()
	p.MaxServerDelay = p.serverDelayCap()
	p.OnUnknown = max(p.OnUnknown, RepeatUnknown)
	p.CrashLimit = cmp.Or(p.CrashLimit, defaultCrashLimit)
	p.Rules = slices.Clone(p.Rules)
	for i := range p.Rules {
		if r := &p.Rules[i]; !r.Stop { // what it does not say, the policy does
			r.MaxAttempts = cmp.Or(r.MaxAttempts, p.MaxAttempts)
			r.Backoff = cmp.Or(r.Backoff, p.Backoff).withDefaults()
			r.Jitter = cmp.Or(r.Jitter, p.Jitter).withDefaults()
			r.OnUnknown = cmp.Or(r.OnUnknown, p.OnUnknown)
		}
	}
	return p
}

// Delay returns the wait after the k-th failure (k counts from 1) by the
// policy's own backoff, before jitter and without any rule.
func (p Policy) Delay(k int) time.Duration { return p.Backoff.Delay(k) }

// AttemptLimit returns the largest number of executions that the policy or any of its
// rules allows, whatever the errors of the call are.
func (p Policy) AttemptLimit() int {
	limit := p.attempts()
	for i := range p.Rules {
		if r := &p.Rules[i]; !r.Stop && r.MaxAttempts > limit {
			limit = r.MaxAttempts
		}
	}
	return limit
}

// attempts is MaxAttempts with its default. Decide must have an answer for a
// policy that was never validated too: a negative number is one attempt.
func (p *Policy) attempts() int {
	return max(cmp.Or(p.MaxAttempts, defaultMaxAttempts), 1)
}

// serverDelayCap is MaxServerDelay with its default, never negative.
func (p *Policy) serverDelayCap() time.Duration {
	return max(cmp.Or(p.MaxServerDelay, defaultMaxServerDelay), 0)
}

// bounded reports whether the policy has an end in time.
func (p *Policy) bounded() bool { return p.Within != 0 && p.Within != Forever }

// enumName returns the name of v, or its number when it has none.
func enumName[E ~uint8](names []string, v E) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("unknown(%d)", v)
}

// marshalEnum writes the name of v.
func marshalEnum[E ~uint8](names []string, v E) ([]byte, error) {
	if int(v) < len(names) {
		return []byte(names[v]), nil
	}
	return nil, fmt.Errorf("the value %d has no name; allowed are 0 to %d", v, len(names)-1)
}

// unmarshalEnum sets the value that text names, zero if it names none.
func unmarshalEnum[E ~uint8](names []string, text []byte, into *E) error {
	i := slices.Index(names, string(text))
	if *into = E(max(i, 0)); i < 0 || len(text) == 0 {
		return fmt.Errorf("%q is not one of %s", text, quoteList(names))
	}
	return nil
}
