package inspect

import (
	"cmp"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
)

// took are times by class: see core.Within.
type took []classed

// classed is how many times are in a class.
type classed struct {
	within time.Duration
	n      int64
}

// says returns the median and the 95th percentile, with as many digits as are true.
func (t took) says() (median, p95 time.Duration) {
	return twoDigits(t.percentile(50)), twoDigits(t.percentile(95))
}

// twoDigits rounds a time to two digits.
func twoDigits(d time.Duration) time.Duration {
	digit := time.Duration(1)
	for d >= 100*digit {
		digit *= 10
	}
	return d.Round(digit)
}

// percentile returns the time that so many percent do not exceed (nearest rank), as if the times
// of a class were spread evenly over it; 0 if there are none.
func (t took) percentile(percent int64) time.Duration {
	slices.SortStableFunc(t, func(a, b classed) int { return cmp.Compare(a.within, b.within) })
	all := int64(0)
	for _, c := range t {
		all += c.n
	}
	rank := (all*percent + 99) / 100
	for _, c := range t {
		if rank <= c.n {
			begin := core.WithinFrom(c.within)
			return begin + time.Duration(float64(c.within-begin)*(float64(rank)-0.5)/float64(c.n))
		}
		rank -= c.n
	}
	return 0
}
