package storm

import (
	"math/rand/v2"
	"time"

	"github.com/perdure/perdure/retry"
)

// The type names of the errors that a dependency returns, for rules of a policy
// under test.
const (
	// TypeUnavailable: a fault made the call fail.
	TypeUnavailable = "Unavailable"
	// TypeOverloaded: the server had no room.
	TypeOverloaded = "Overloaded"
	// TypeConflict: somebody else has written the contended row.
	TypeConflict = "Conflict"
)

// Dependency is what the tasks of a scenario call: a Server or a Contended.
type Dependency interface {
	// check lists what is wrong with it in this scenario.
	check(*Scenario) error
	// open makes what stands behind it in one experiment.
	open(*world) service
}

// service is a dependency in one experiment.
type service interface {
	// begin takes a call. It answers by world.answer, now or after events.
	begin(call)
	// handle is told of an event that it has planned.
	handle(event)
}

// failure is the error of the type name, asking for a delay if there is one, as
// a policy sees it.
func failure(name string, after time.Duration) retry.Failure {
	var err error = failed(name)
	if after > 0 {
		err = retry.After(err, after)
	}
	return retry.Classify(err)
}

// failed is an error of which nothing is known but its type name.
type failed string

func (f failed) Error() string     { return string(f) }
func (f failed) ErrorType() string { return string(f) }

// maxTime bounds the times of a scenario, so that nothing overflows.
const (
	maxTime = 24 * time.Hour
	maxSlow = 10_000
)

// around draws a time that is about d: normally distributed with a standard
// deviation of a fifth of d. The sum of twelve uniform draws stands for the
// normal distribution, in integers, so that every machine draws the same.
func around(random *rand.Rand, d time.Duration) time.Duration {
	var sum int64
	for range 3 {
		for bits := random.Uint64(); bits != 0; bits >>= 16 {
			sum += int64(bits & 0xffff)
		}
	}
	const mean, deviation = 12 * 0xffff / 2, 0x10000
	return max(d+time.Duration(int64(d/5)/deviation*(sum-mean)+int64(d/5)%deviation*(sum-mean)/deviation), 0)
}
