package retry

import (
	"time"

	"github.com/perdure/perdure/internal/mark"
)

// After marks err so that the next attempt starts d after this one failed. d, which may
// be zero, replaces the policy's backoff and jitter; MaxServerDelay caps it, and
// MaxAttempts and Within apply as to any delay. The marked error wraps err and has its
// text. After(nil, d) is nil. Classify returns the delay that an error asks for.
func After(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &mark.After{Err: err, Delay: d}
}

// AfterTime is After with a time instead of a delay; a time in the past is a
// delay of zero, and so is the zero time.
func AfterTime(err error, at time.Time) error {
	if err == nil {
		return nil
	}
	return &mark.After{Err: err, At: at}
}
