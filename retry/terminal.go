package retry

import (
	"errors"

	"github.com/perdure/perdure/internal/mark"
)

// Terminal marks err as one that no further attempt can change: the caller gets
// it as it is, whatever the policy says. The text is that of err, and errors.Is
// and errors.As see err through the mark. Terminal(nil) is nil.
func Terminal(err error) error {
	if err == nil {
		return nil
	}
	return &mark.Terminal{Err: err}
}

// IsTerminal reports whether err, or anything it wraps, was marked with
// Terminal.
func IsTerminal(err error) bool {
	_, ok := errors.AsType[*mark.Terminal](err)
	return ok
}

// textOf is err's text, or the given one if err is nil.
func textOf(err error, text string) string {
	if err == nil {
		return text
	}
	return err.Error()
}
