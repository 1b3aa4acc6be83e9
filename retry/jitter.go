package retry

import (
	"math"
	"time"
)

// Jitter spreads delays, so that callers that failed together do not retry together. Make
// one with NoJitter, Proportional, FullJitter, EqualJitter or Decorrelated. The zero
// Jitter is the default, Proportional(0.1).
//
// The formulas of Full, Equal and Decorrelated are those of Marc Brooker,
// "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
type Jitter struct {
	// Kind is the shape of the spread.
	Kind JitterKind

	// Proportion is the p of Proportional, 0 to 1. The other kinds have none.
	Proportion float64
}

// JitterKind is the shape of a spread.
type JitterKind uint8

const (
	// jitterDefault is the zero value: the default spread.
	jitterDefault JitterKind = iota
	// jitterNone leaves delays as they are.
	jitterNone
	// jitterProportional is d * (1 ± p).
	jitterProportional
	// jitterFull is U(0, d).
	jitterFull
	// jitterEqual is d/2 + U(0, d/2).
	jitterEqual
	// jitterDecorrelated is min(max, U(initial, 3 * previous)).
	jitterDecorrelated
)

var jitterNames = []string{"", "none", "proportional", "full", "equal", "decorrelated"}

// The jitters without a parameter.
var (
	// NoJitter leaves delays as they are.
	NoJitter = Jitter{Kind: jitterNone}

	// FullJitter draws between zero and the delay.
	FullJitter = Jitter{Kind: jitterFull}

	// EqualJitter keeps half of the delay and draws the other half.
	EqualJitter = Jitter{Kind: jitterEqual}

	// Decorrelated draws between the backoff's first delay and three times the
	// previous delay, capped by the backoff's Max; it needs a backoff that has
	// one, Linear or Exponential.
	Decorrelated = Jitter{Kind: jitterDecorrelated}
)

// Proportional draws between d*(1-p) and d*(1+p), but never above the backoff's
// Max. p is 0 to 1.
func Proportional(p float64) Jitter {
	return Jitter{Kind: jitterProportional, Proportion: p}
}

// String returns the kind's name in JSON; the default has the empty name.
func (k JitterKind) String() string { return enumName(jitterNames, k) }

// MarshalText writes the name that String gives; an unknown value is an error.
func (k JitterKind) MarshalText() ([]byte, error) { return marshalEnum(jitterNames, k) }

// UnmarshalText reads "none", "proportional", "full", "equal" or
// "decorrelated".
func (k *JitterKind) UnmarshalText(text []byte) error { return unmarshalEnum(jitterNames, text, k) }

// Draw spreads d, a delay of the backoff b. u is the draw, in [0, 1); previous
// is the delay before this one, zero if there was none, and matters to
// Decorrelated alone. The result is never negative and never above the Max of
// b (nor, without a Max, above the largest Duration).
func (j Jitter) Draw(b Backoff, d, previous time.Duration, u float64) time.Duration {
	u = unit(u)
	d = min(max(d, 0), b.ceiling())
	switch j.Kind {
	case jitterNone:
		return d
	case jitterFull:
		return fraction(d, u)
	case jitterEqual:
		half := d / 2
		return half + fraction(d-half, u)
	case jitterDecorrelated:
		return decorrelated(b, previous, u)
	case jitterProportional:
		return proportional(d, j.Proportion, b.ceiling(), u)
	default:
		return proportional(d, defaultProportion, b.ceiling(), u)
	}
}

// proportional is d + d*p*(2u-1), kept within 0 and ceiling.
func proportional(d time.Duration, p float64, ceiling time.Duration, u float64) time.Duration {
	if !(p > 0) { // zero, negative or NaN
		return d
	}
	// The conversions round each step, so that no architecture fuses two of
	// them into one with another result.
	spread := float64(float64(d) * min(p, 1))
	offset := float64(spread * float64(2*u-1))
	if offset < 0 {
		return d - min(toDuration(-offset), d)
	}
	if up := toDuration(offset); up < ceiling-d {
		return d + up
	}
	return ceiling
}

// decorrelated is min(max, U(initial, 3*previous)).
func decorrelated(b Backoff, previous time.Duration, u float64) time.Duration {
	low, ceiling := b.Delay(1), b.ceiling()
	if previous <= 0 {
		previous = low
	}
	high := ceiling
	if previous <= math.MaxInt64/3 {
		high = max(3*previous, low)
	}
	return min(low+fraction(high-low, u), ceiling)
}

// fraction is d*u, rounded down, and never more than d.
func fraction(d time.Duration, u float64) time.Duration {
	return min(toDuration(float64(float64(d)*u)), d)
}

// toDuration converts a float that is not negative; the result of converting
// one that does not fit would differ between architectures.
func toDuration(f float64) time.Duration {
	if f >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(f)
}

// unit forces a draw into [0, 1).
func unit(u float64) float64 {
	switch {
	case u >= 1:
		return math.Nextafter(1, 0)
	case u > 0:
		return u
	}
	return 0 // zero, negative or NaN
}

// withDefaults writes the default out.
func (j Jitter) withDefaults() Jitter {
	if j.Kind == jitterDefault {
		return Proportional(defaultProportion)
	}
	return j
}
