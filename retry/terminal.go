package retry

import "errors"

// TerminalError marks an error that must not be retried, see Terminal. The
// fields are exported so that a codec can rebuild it.
type TerminalError struct {
	// Err is the marked error.
	Err error
}

// Terminal marks err as one that no further attempt can change: the caller gets
// it as it is, whatever the policy says. The text is that of err, and errors.Is
// and errors.As see err through the mark. Terminal(nil) is nil.
func Terminal(err error) error {
	if err == nil {
		return nil
	}
	return &TerminalError{Err: err}
}

// IsTerminal reports whether err, or anything it wraps, was marked with
// Terminal.
func IsTerminal(err error) bool {
	_, ok := errors.AsType[*TerminalError](err)
	return ok
}

// Error returns the text of the marked error.
func (e *TerminalError) Error() string { return textOf(e.Err, "terminal error") }

// Unwrap returns the marked error.
func (e *TerminalError) Unwrap() error { return e.Err }

// textOf is err's text, or the given one for a mark that was made without err.
func textOf(err error, text string) string {
	if err == nil {
		return text
	}
	return err.Error()
}
