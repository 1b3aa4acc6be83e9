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
	exhausted, is := errors.AsType[*ExhaustedError](err)
	_, aborted := errors.AsType[*AbortedError](err)
	switch terminal := IsTerminal(err); {
	case err == nil:
		return ReasonSucceeded
	case is && (!terminal || IsTerminal(exhausted)): // else the mark is outside of it
		return exhausted.Reason
	case terminal:
		return ReasonTerminal
	case aborted, errors.Is(err, context.Canceled):
		return ReasonCanceled
	}
	return ""
}
