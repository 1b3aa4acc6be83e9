package meter

import (
	"math"
	"slices"
	"time"
)

// Times is a set of measured times, ready to be asked for quantiles.
type Times []time.Duration

// Sorted makes Times of measurements, which it sorts.
func Sorted(times []time.Duration) Times {
	slices.Sort(times)
	return times
}

// Quantile is the smallest time that a share q of all does not exceed; q is in
// (0, 1].
func (t Times) Quantile(q float64) time.Duration {
	if len(t) == 0 {
		return 0
	}
	return t[max(0, int(math.Ceil(q*float64(len(t))))-1)]
}

// Sum adds them up.
func (t Times) Sum() time.Duration {
	var sum time.Duration
	for _, d := range t {
		sum += d
	}
	return sum
}
