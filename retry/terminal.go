package retry

import (
	"errors"

	"github.com/perdure/perdure/internal/mark"
)

// Terminal marks err as an error that no further attempt can change: it is not retried,
// whatever the policy says, and the caller gets it as it is. The marked error wraps err
// and has its text. Terminal(nil) is nil.
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
