package retry

import (
	"math"
	"math/bits"
	"time"
)

// Backoff is the wait between attempts, before jitter. Make one with None,
// Fixed, Linear or Exponential. The zero Backoff is the default,
// Exponential(1s, 2, 60s), and therefore not the same as None.
type Backoff struct {
	// Kind is the shape of the schedule.
	Kind BackoffKind

	// Initial is the first delay: the d of Fixed, the base of Linear, the
	// initial of Exponential.
	Initial time.Duration

	// Coefficient is the growth per failure of Exponential; zero is 2. The
	// other kinds have none.
	Coefficient float64

	// Max caps the delays of Linear and Exponential; zero is 100 times
	// Initial. The other kinds have none.
	Max time.Duration
}

// BackoffKind is the shape of a backoff schedule.
type BackoffKind uint8

const (
	// backoffDefault is the zero value: the default schedule.
	backoffDefault BackoffKind = iota
	// backoffNone never waits.
	backoffNone
	// backoffFixed always waits the same time.
	backoffFixed
	// backoffLinear adds the first delay after each failure.
	backoffLinear
	// backoffExponential multiplies by the coefficient after each failure.
	backoffExponential
)

var backoffNames = []string{"", "none", "fixed", "linear", "exponential"}

// None is the backoff that never waits: retries are immediate.
var None = Backoff{Kind: backoffNone}

// Fixed always waits d.
func Fixed(d time.Duration) Backoff {
	return Backoff{Kind: backoffFixed, Initial: d}
}

// Linear waits base after the first failure and base more after each further
// one, but never more than limit. A zero limit is 100 times base.
func Linear(base, limit time.Duration) Backoff {
	return Backoff{Kind: backoffLinear, Initial: base, Max: limit}
}

// Exponential waits exactly initial after the first failure and coefficient
// times as long after each further one, but never more than limit. A zero
// coefficient is 2, a zero limit is 100 times initial; a coefficient of 1 is a
// constant wait.
func Exponential(initial time.Duration, coefficient float64, limit time.Duration) Backoff {
	return Backoff{Kind: backoffExponential, Initial: initial, Coefficient: coefficient, Max: limit}
}

// String returns the kind's name in JSON; the default has the empty name.
func (k BackoffKind) String() string { return enumName(backoffNames, k) }

// MarshalText writes the name that String gives; an unknown value is an error.
func (k BackoffKind) MarshalText() ([]byte, error) { return marshalEnum(backoffNames, k) }

// UnmarshalText reads "none", "fixed", "linear" or "exponential".
func (k *BackoffKind) UnmarshalText(text []byte) error { return unmarshalEnum(backoffNames, text, k) }

// Delay returns the wait after the k-th failure (k counts from 1), before
// jitter:
//
//	None         0
//	Fixed        Initial
//	Linear       min(Initial * k, Max)
//	Exponential  min(Initial * Coefficient^(k-1), Max), rounded to the nanosecond
//
// It never overflows, is never negative, never decreases with k and is the same on every
// architecture: Linear is integer arithmetic and Exponential is computed on 128-bit
// mantissas.
func (b Backoff) Delay(k int) time.Duration {
	k = max(k, 1)
	switch b.Kind {
	case backoffNone:
		return 0
	case backoffFixed:
		return max(b.Initial, 0)
	case backoffLinear:
		return linearDelay(max(b.Initial, 0), b.limit(), k)
	case backoffExponential:
		return exponentialDelay(max(b.Initial, 0), b.coefficient(), b.limit(), k)
	default:
		return exponentialDelay(defaultInitial, defaultCoefficient, defaultMax, k)
	}
}

// linearDelay is min(base*k, limit); the product is 128 bits wide.
func linearDelay(base, limit time.Duration, k int) time.Duration {
	hi, lo := bits.Mul64(uint64(base), uint64(k))
	if hi != 0 || lo > uint64(limit) {
		return limit
	}
	return time.Duration(lo)
}

// exponentialDelay is min(initial * c^(k-1), limit).
func exponentialDelay(initial time.Duration, c float64, limit time.Duration, k int) time.Duration {
	if initial == 0 || limit == 0 {
		return 0
	}
	if k == 1 || c == 1 {
		return min(initial, limit)
	}
	return min(scale(initial, c, k-1), limit)
}

// coefficient is Coefficient with its default; what Validate would refuse is 1,
// so that Decide has an answer for every input.
func (b Backoff) coefficient() float64 {
	switch {
	case b.Coefficient == 0:
		return defaultCoefficient
	case b.Coefficient >= 1 && !math.IsInf(b.Coefficient, 1):
		return b.Coefficient
	}
	return 1
}

// limit is Max with its default, and never less than the first delay.
func (b Backoff) limit() time.Duration {
	initial := max(b.Initial, 0)
	if b.Max == 0 {
		if initial > math.MaxInt64/defaultMaxFactor {
			return math.MaxInt64
		}
		return defaultMaxFactor * initial
	}
	return max(b.Max, initial)
}

// ceiling is what jitter may not exceed: the Max of the schedule, and no bound
// for Fixed, which has none.
func (b Backoff) ceiling() time.Duration {
	switch b.Kind {
	case backoffNone:
		return 0
	case backoffFixed:
		return math.MaxInt64
	case backoffLinear, backoffExponential:
		return b.limit()
	default:
		return defaultMax
	}
}

// withDefaultKind writes the default schedule out, and leaves others as they are.
func (b Backoff) withDefaultKind() Backoff {
	if b.Kind == backoffDefault {
		return Exponential(defaultInitial, defaultCoefficient, defaultMax)
	}
	return b
}

// withDefaults writes the defaults out.
func (b Backoff) withDefaults() Backoff {
	switch b = b.withDefaultKind(); b.Kind {
	case backoffLinear:
		b.Max = b.limit()
	case backoffExponential:
		b.Max = b.limit()
		b.Coefficient = b.coefficient()
	}
	return b
}
