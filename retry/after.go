package retry

import (
	"time"

	"github.com/perdure/perdure/internal/mark"
)

// After says that the next attempt should start d after this one failed. That
// replaces the policy's backoff and jitter, zero included; MaxServerDelay caps
// it, and MaxAttempts and Within bind it like any other. The text is that of
// err, which errors.Is and errors.As see. After(nil, d) is nil. Classify returns
// the delay that an error asks for.
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
