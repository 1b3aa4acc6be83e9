package retry

import (
	"cmp"
	"fmt"
)

// Phase is the part of a call in which it was canceled.
type Phase string

const (
	// PhaseExecution: before or while an attempt ran.
	PhaseExecution Phase = "execution"
	// PhaseBackoff: while the call waited for its next attempt.
	PhaseBackoff Phase = "backoff"
	// PhaseQueue: while an attempt that was due waited for its turn.
	PhaseQueue Phase = "queue"
)

// AbortedError is the error of a canceled call. A cancellation is not a failure: it is
// never retried, not even by a call around this one. The fields are exported so that a
// codec can rebuild it.
type AbortedError struct {
	// Name is the name of the call, empty if it has none.
	Name string

	// Attempt is the attempt that was running or about to run, in PhaseBackoff the one
	// that failed before the wait.
	Attempt int

	Phase Phase

	// Cause is why the call was canceled: the error of its context and, if
	// there is one, the context's cause.
	Cause error

	// Last is the failure of the last attempt, nil if there was none.
	Last error
}

// Error says in which attempt and phase the call was canceled, why, and how the last attempt
// failed, unless that was by the cancellation.
func (e *AbortedError) Error() string {
	text := fmt.Sprintf("%s was canceled in attempt %d (%s): %s", nameOrCall(e.Name), e.Attempt, e.Phase, textOf(e.Cause, "canceled"))
	if e.Last != nil && TypeName(e.Last) != TypeCanceled {
		text += "; its last failure: " + e.Last.Error()
	}
	return text
}

// ErrorType returns Canceled.
func (e *AbortedError) ErrorType() string { return TypeCanceled }

// Unwrap returns those of Cause and Last that are not nil.
func (e *AbortedError) Unwrap() []error {
	errs := make([]error, 0, 2)
	if e.Cause != nil {
		errs = append(errs, e.Cause)
	}
	if e.Last != nil {
		errs = append(errs, e.Last)
	}
	return errs
}

// nameOrCall is how a message begins that speaks of a call.
func nameOrCall(name string) string { return cmp.Or(name, "the call") }
