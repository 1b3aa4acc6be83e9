package retry

import (
	"context"
	"errors"
)

// ReasonOf says why a call ended as it did, whatever it was: one of retry.Do, an activity, a
// step, a block or a child workflow.
//
//   - ReasonSucceeded for nil,
//   - ReasonTerminal for an error that was marked with Terminal,
//   - ReasonCanceled for a canceled call,
//   - else the Reason of the outermost *ExhaustedError: attempts, time or budget were used up,
//     or the policy stops on this error.
//
// It is empty for an error that no call ended with. An error is final, so that asking again
// changes nothing, unless the Reason is ReasonCanceled or Reason.Exhausts.
func ReasonOf(err error) Reason {
	var exhausted *ExhaustedError
	var aborted *AbortedError
	switch {
	case err == nil:
		return ReasonSucceeded
	case errors.As(err, &exhausted) && !terminalAbove(err, exhausted):
		return exhausted.Reason
	case IsTerminal(err):
		return ReasonTerminal
	case errors.As(err, &aborted), errors.Is(err, context.Canceled):
		return ReasonCanceled
	}
	return ""
}

// terminalAbove reports whether an error was marked with Terminal outside of another one that
// it wraps.
func terminalAbove(err error, inner *ExhaustedError) bool {
	return IsTerminal(err) && !IsTerminal(inner)
}
