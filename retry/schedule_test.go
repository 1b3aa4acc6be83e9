package retry_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/retry"
)

// anyDuration draws durations of all magnitudes, zero and the largest included.
func anyDuration() *rapid.Generator[time.Duration] {
	return rapid.OneOf(
		rapid.SampledFrom([]time.Duration{0, 1, time.Second, time.Minute, retry.Forever - 1, retry.Forever}),
		rapid.Map(rapid.Int64Range(0, int64(time.Hour)), func(n int64) time.Duration { return time.Duration(n) }),
		rapid.Map(rapid.Int64Range(0, math.MaxInt64), func(n int64) time.Duration { return time.Duration(n) }),
	)
}

// anyCoefficient draws valid coefficients, those nearest to 1 and the largest
// included.
func anyCoefficient() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.SampledFrom([]float64{0, 1, math.Nextafter(1, 2), 1 + 1e-15, 1 + 1e-9, 1.5, 2, 10, math.MaxFloat64}),
		rapid.Float64Range(1, 1.000001),
		rapid.Float64Range(1, 4),
	)
}

// anyBackoff draws valid backoffs of every kind.
func anyBackoff() *rapid.Generator[retry.Backoff] {
	return rapid.Custom(func(t *rapid.T) retry.Backoff {
		initial := anyDuration().Draw(t, "initial")
		limit := time.Duration(0)
		if rapid.Bool().Draw(t, "limited") {
			limit = max(initial, anyDuration().Draw(t, "limit"))
		}
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return retry.Backoff{}
		case 1:
			return retry.None
		case 2:
			return retry.Fixed(initial)
		case 3:
			return retry.Linear(initial, limit)
		}
		return retry.Exponential(initial, anyCoefficient().Draw(t, "coefficient"), limit)
	})
}

// anyJitter draws valid jitters of every kind.
func anyJitter() *rapid.Generator[retry.Jitter] {
	return rapid.OneOf(
		rapid.SampledFrom([]retry.Jitter{{}, retry.NoJitter, retry.FullJitter, retry.EqualJitter, retry.Decorrelated}),
		rapid.Map(rapid.Float64Range(0, 1), retry.Proportional),
	)
}

// anyAttempt draws attempt numbers over the whole range.
func anyAttempt() *rapid.Generator[int] {
	return rapid.OneOf(rapid.IntRange(1, 100), rapid.IntRange(1, math.MaxInt32), rapid.Just(math.MaxInt32))
}

// anyDraw draws numbers in [0, 1), both ends included as far as they are.
func anyDraw() *rapid.Generator[float64] {
	return rapid.OneOf(rapid.SampledFrom([]float64{0, 0.5, math.Nextafter(1, 0)}), rapid.Float64Range(0, math.Nextafter(1, 0)))
}

// maxOf is the Max of a backoff, by the documentation.
func maxOf(b retry.Backoff) time.Duration {
	switch b.Kind {
	case (retry.Backoff{}).Kind:
		return time.Minute
	case retry.None.Kind:
		return 0
	case retry.Fixed(0).Kind:
		return retry.Forever
	}
	if b.Max == 0 {
		if b.Initial > retry.Forever/100 {
			return retry.Forever
		}
		return 100 * b.Initial
	}
	return b.Max
}

func TestR2_ExponentialSchedule(t *testing.T) {
	for _, c := range []struct {
		backoff retry.Backoff
		want    []time.Duration
	}{
		{retry.Backoff{}, []time.Duration{1e9, 2e9, 4e9, 8e9, 16e9, 32e9, 60e9, 60e9}},
		{retry.Exponential(time.Second, 0, 0), []time.Duration{1e9, 2e9, 4e9, 8e9, 16e9, 32e9, 64e9, 100e9, 100e9}},
		{retry.Exponential(500*time.Millisecond, 1.5, 0), []time.Duration{500e6, 750e6, 1125e6}},
		{retry.Exponential(5*time.Second, 2, 300*time.Second), []time.Duration{5e9, 10e9}},
		{retry.Exponential(time.Second, 1, time.Minute), []time.Duration{1e9, 1e9, 1e9}},
		{retry.Exponential(0, 2, time.Minute), []time.Duration{0, 0, 0}},
		{retry.Exponential(time.Minute, 2, time.Minute), []time.Duration{60e9, 60e9}},
	} {
		for i, want := range c.want {
			if got := c.backoff.Delay(i + 1); got != want {
				t.Errorf("%+v: delay(%d) = %s, want %s", c.backoff, i+1, got, want)
			}
		}
	}
}

func TestR3_LinearFixedNone(t *testing.T) {
	for k := 1; k < 1000; k++ {
		if got, want := retry.Linear(time.Second, time.Minute).Delay(k), min(time.Duration(k)*time.Second, time.Minute); got != want {
			t.Fatalf("linear delay(%d) = %s, want %s", k, got, want)
		}
		if got := retry.Fixed(7).Delay(k); got != 7 {
			t.Fatalf("fixed delay(%d) = %s", k, got)
		}
		if got := retry.None.Delay(k); got != 0 {
			t.Fatalf("none delay(%d) = %s", k, got)
		}
	}
}

// TestR2_ExponentialIsExact compares with arbitrary-precision arithmetic.
func TestR2_ExponentialIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		initial := time.Duration(rapid.Int64Range(1, int64(24*time.Hour)).Draw(t, "initial"))
		c := rapid.Float64Range(1, 3).Draw(t, "coefficient")
		k := rapid.IntRange(1, 300).Draw(t, "k")

		exact := new(big.Rat).SetInt64(int64(initial))
		factor := new(big.Rat).SetFloat64(c)
		for range k - 1 {
			exact.Mul(exact, factor)
			if exact.Cmp(new(big.Rat).SetInt64(math.MaxInt64)) >= 0 {
				exact.SetInt64(math.MaxInt64)
				break
			}
		}
		got := retry.Exponential(initial, c, retry.Forever).Delay(k)
		off := new(big.Rat).Sub(exact, new(big.Rat).SetInt64(int64(got)))
		if off.Abs(off).Cmp(big.NewRat(1, 2)) > 0 {
			t.Fatalf("delay(%d) = %d, exactly it is %s", k, got, exact.FloatString(3))
		}
	})
}

// TestR4_EveryInputGivesADelayWithinItsBounds covers attempt numbers up to
// 2^31-1.
func TestR4_EveryInputGivesADelayWithinItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, k := anyBackoff().Draw(t, "backoff"), anyAttempt().Draw(t, "k")
		d := b.Delay(k)
		if d < 0 || d > maxOf(b) {
			t.Fatalf("delay(%d) = %d is outside of 0 to %d", k, d, maxOf(b))
		}
		if k > 1 && b.Delay(k-1) > d {
			t.Fatalf("delay(%d) = %d, but delay(%d) = %d: not monotone", k, d, k-1, b.Delay(k-1))
		}
		if further := anyAttempt().Draw(t, "further"); (b.Delay(further) < d) && further > k {
			t.Fatalf("delay(%d) = %d, but delay(%d) = %d: not monotone", k, d, further, b.Delay(further))
		}
	})
}

// TestR4_SameOnEveryArchitecture pins schedules that a fused multiplication or
// a hardware conversion would change.
func TestR4_SameOnEveryArchitecture(t *testing.T) {
	third := retry.Proportional(1.0 / 3)
	for _, c := range []struct {
		got, want time.Duration
	}{
		{retry.Exponential(1, math.Nextafter(1, 2), retry.Forever).Delay(math.MaxInt32), 1},
		{retry.Exponential(time.Second, 1.0000001, retry.Forever).Delay(100_000_000), 22026452707537},
		{retry.Exponential(1, math.MaxFloat64, retry.Forever).Delay(math.MaxInt32), retry.Forever},
		{retry.Exponential(retry.Forever, 2, retry.Forever).Delay(2), retry.Forever},
		{retry.Linear(retry.Forever/2, retry.Forever).Delay(math.MaxInt32), retry.Forever},
		{third.Draw(retry.Fixed(retry.Forever), retry.Forever, 0, 0.9), retry.Forever},
		{third.Draw(retry.Fixed(time.Hour), 1234567890123, 0, 0.1), 905349786091},
		{third.Draw(retry.Fixed(time.Hour), 1234567890123, 0, 0.7), 1399176942139},
		{retry.FullJitter.Draw(retry.Fixed(retry.Forever), retry.Forever, 0, math.Nextafter(1, 0)), retry.Forever - 1023},
		{retry.EqualJitter.Draw(retry.Fixed(5), 5, 0, 0.999), 4},
	} {
		if c.got != c.want {
			t.Errorf("got %d, want %d", c.got, c.want)
		}
	}
}

func TestR5_JitterStaysWithinItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, j := anyBackoff().Draw(t, "backoff"), anyJitter().Draw(t, "jitter")
		k, u := anyAttempt().Draw(t, "k"), anyDraw().Draw(t, "u")
		previous := anyDuration().Draw(t, "previous")
		d := b.Delay(k)
		got := j.Draw(b, d, previous, u)

		if got < 0 || got > maxOf(b) {
			t.Fatalf("%d is outside of 0 to %d", got, maxOf(b))
		}
		low, high := bounds(b, j, d, previous)
		// Beyond 2^53 nanoseconds (104 days) a float64 is coarser than a
		// nanosecond.
		slack := d>>52 + 1
		if got < low-slack || got-slack > high {
			t.Fatalf("%d is outside of %d to %d", got, low, high)
		}
	})
}

// bounds is the interval that a jitter draws from, by the documentation.
func bounds(b retry.Backoff, j retry.Jitter, d, previous time.Duration) (low, high time.Duration) {
	p := 0.1
	switch j.Kind {
	case retry.NoJitter.Kind:
		return d, d
	case retry.FullJitter.Kind:
		return 0, d
	case retry.EqualJitter.Kind:
		return d / 2, d
	case retry.Decorrelated.Kind:
		if previous == 0 {
			previous = b.Delay(1)
		}
		high = maxOf(b)
		if previous < retry.Forever/3 {
			high = min(high, 3*previous)
		}
		return b.Delay(1), max(high, b.Delay(1))
	case retry.Proportional(0).Kind:
		p = j.Proportion
	}
	spread := new(big.Float).Mul(big.NewFloat(p), new(big.Float).SetInt64(int64(d)))
	n, _ := spread.Int64()
	high = maxOf(b)
	if n < int64(high-d) {
		high = d + time.Duration(n)
	}
	return d - time.Duration(n), high
}

// TestR5_JitterIsSpread proves that a jitter uses all of its interval.
func TestR5_JitterIsSpread(t *testing.T) {
	const n = 1000
	b, d := retry.Exponential(time.Second, 2, time.Hour), 8*time.Second
	for name, c := range map[string]struct {
		jitter    retry.Jitter
		low, high time.Duration
	}{
		"proportional": {retry.Proportional(0.25), 6 * time.Second, 10 * time.Second},
		"default":      {retry.Jitter{}, 7200 * time.Millisecond, 8800 * time.Millisecond},
		"full":         {retry.FullJitter, 0, 8 * time.Second},
		"equal":        {retry.EqualJitter, 4 * time.Second, 8 * time.Second},
		"decorrelated": {retry.Decorrelated, time.Second, 12 * time.Second},
	} {
		width := c.high - c.low
		for i := range n {
			got := c.jitter.Draw(b, d, 4*time.Second, float64(i)/n)
			want := c.low + width*time.Duration(i)/n
			if diff := got - want; diff < -2 || diff > 2 {
				t.Fatalf("%s: u = %d/%d gives %s, want %s", name, i, n, got, want)
			}
		}
	}
}

func TestR5_DrawsOutsideOfTheUnitIntervalAreForcedIntoIt(t *testing.T) {
	b := retry.Fixed(time.Second)
	for u, want := range map[float64]time.Duration{-1: 0, math.Inf(-1): 0, 1: time.Second - 1, 7: time.Second - 1, math.Inf(1): time.Second - 1} {
		if got := retry.FullJitter.Draw(b, time.Second, 0, u); got != want {
			t.Errorf("u = %v gives %d, want %d", u, got, want)
		}
	}
	if got := retry.FullJitter.Draw(b, time.Second, 0, math.NaN()); got != 0 {
		t.Errorf("u = NaN gives %d, want 0", got)
	}
}

// TestR6_Presets compares with the table of the specification.
func TestR6_Presets(t *testing.T) {
	for name, c := range map[string]struct {
		policy      retry.Policy
		attempts    int
		initial     time.Duration
		coefficient float64
		limit       time.Duration
		within      time.Duration
	}{
		"Standard":     {retry.Standard, 5, time.Second, 2, time.Minute, 5 * time.Minute},
		"Aggressive":   {retry.Aggressive, 10, 100 * time.Millisecond, 1.5, 10 * time.Second, time.Minute},
		"Conservative": {retry.Conservative, 3, 5 * time.Second, 2, 300 * time.Second, 15 * time.Minute},
		"Infinite":     {retry.Infinite, retry.Unlimited, time.Second, 2, time.Minute, retry.Forever},
		"Quick":        {retry.Quick, 3, 100 * time.Millisecond, 2, 30 * time.Second, 0},
	} {
		p, want := c.policy, retry.Exponential(c.initial, c.coefficient, c.limit)
		if p.MaxAttempts != c.attempts || p.Backoff != want || p.Within != c.within {
			t.Errorf("%s is %+v", name, p)
		}
		if err := p.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if retry.Never.AttemptLimit() != 1 || retry.Never.Validate() != nil {
		t.Errorf("Never is %+v", retry.Never)
	}
}
