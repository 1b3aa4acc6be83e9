package retry

import "time"

// AfterError is an error that asks for its own delay, see After and AfterTime.
// The fields are exported so that a codec can rebuild it.
type AfterError struct {
	// Err is the error that happened.
	Err error

	// Delay is the wait asked for, from the end of the attempt. Less than zero
	// counts as zero.
	Delay time.Duration

	// At is the time asked for; if it is not the zero time, Delay has no
	// meaning.
	At time.Time
}

// After says that the next attempt should start d after this one failed. That
// replaces the policy's backoff and jitter, zero included; MaxServerDelay caps
// it, and MaxAttempts and Within bind it like any other. The text is that of
// err, which errors.Is and errors.As see. After(nil, d) is nil.
func After(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &AfterError{Err: err, Delay: d}
}

// AfterTime is After with a time instead of a delay; a time in the past is a
// delay of zero. The zero time is treated as one, too.
func AfterTime(err error, at time.Time) error {
	if err == nil {
		return nil
	}
	return &AfterError{Err: err, At: at}
}

// Error returns the text of the error that happened.
func (e *AfterError) Error() string { return textOf(e.Err, "retry later") }

// Unwrap returns the error that happened.
func (e *AfterError) Unwrap() error { return e.Err }
