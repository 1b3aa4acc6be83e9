package mark

import "time"

// Terminal marks an error that no further attempt can change.
type Terminal struct {
	Err error // the marked error
}

// Error returns the text of the marked error.
func (e *Terminal) Error() string { return textOf(e.Err, "terminal error") }

// Unwrap returns the marked error.
func (e *Terminal) Unwrap() error { return e.Err }

// After marks an error that asks for its own delay.
type After struct {
	Err error // the marked error

	// Delay is the wait asked for, from the end of the attempt. Less than zero
	// counts as zero. It has no meaning unless At is the zero time.
	Delay time.Duration

	// At is the time asked for.
	At time.Time
}

// Error returns the text of the marked error.
func (e *After) Error() string { return textOf(e.Err, "retry later") }

// Unwrap returns the marked error.
func (e *After) Unwrap() error { return e.Err }

// textOf is the text of err, or the given one for a mark without an error.
func textOf(err error, text string) string {
	if err == nil {
		return text
	}
	return err.Error()
}
