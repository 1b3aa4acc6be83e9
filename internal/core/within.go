package core

import (
	"math/bits"
	"time"
)

// Times that calls and runs take are counted in classes, two for each doubling of a millisecond:
// below 1 ms, 1.5 ms, 2 ms, 3 ms, 4 ms, 6 ms and so on. The classes are part of the format: a
// counter is kept for each.

// Within returns the class of a time: the end of the class, which the time is below. Times below 0
// are in the first one.
func Within(d time.Duration) time.Duration {
	if d < time.Millisecond {
		return time.Millisecond
	}
	d = min(d, 1<<62)                                                         // as long as there are numbers for twice the time
	power := time.Millisecond << (bits.Len64(uint64(d/time.Millisecond)) - 1) // the greatest that d reaches
	if d < power+power/2 {
		return power + power/2
	}
	return 2 * power
}

// WithinFrom returns where the class begins that ends at a time from Within.
func WithinFrom(end time.Duration) time.Duration {
	switch power := time.Millisecond << (bits.Len64(uint64(end/time.Millisecond)) - 1); {
	case end <= time.Millisecond:
		return 0
	case end == power:
		return power/2 + power/4
	default:
		return power
	}
}
