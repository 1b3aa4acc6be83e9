package clock

import (
	"math"
	"time"
)

// Forever is what is left of a lease that nobody watches.
const Forever = time.Duration(math.MaxInt64)

// LeaseLeft returns for how long from now a lease holds for certain whose last renewal was sent
// at a moment. It is a fifth shorter than the lease, because others measure it from when they
// saw the renewal, and by another clock.
func LeaseLeft(lease time.Duration, sent, now time.Time) time.Duration {
	return lease - lease/5 - Passed(sent, now)
}

// Passed returns how much time passed between two moments. The monotonic clock stops while the
// machine sleeps, the wall clock does not, so it takes the larger difference.
func Passed(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}
