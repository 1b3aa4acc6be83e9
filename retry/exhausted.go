package retry

import (
	"fmt"
	"time"
)

// ExhaustedError is what a call returns when its last failure was not retried,
// be it that everything is used up or that the policy stops on this error. The
// fields are exported so that a codec can rebuild it.
//
// It is not returned for an error marked with Terminal, which reaches the
// caller as it is, nor for a canceled call (see AbortedError).
type ExhaustedError struct {
	// Name is the name of the call, empty if it has none.
	Name string

	// Attempts is how many attempts were made.
	Attempts int

	// Reason is why no further one follows.
	Reason Reason

	// Max is how many attempts were allowed, by the rule for the last failure
	// if there is one.
	Max int

	// Within is the policy's Within; it is part of the text if Reason is
	// ReasonWithin.
	Within time.Duration

	// Records are those of the attempts: all of them up to 20, else the first
	// and the last ten.
	Records []Record

	// Err is the last failure.
	Err error
}

// Error reads like "charge failed after 5 attempts: max attempts (5) reached".
// It does not repeat the text of the last failure; Unwrap gives it.
func (e *ExhaustedError) Error() string {
	noun := "attempts"
	if e.Attempts == 1 {
		noun = "attempt"
	}
	return fmt.Sprintf("%s failed after %d %s: %s", nameOrCall(e.Name), e.Attempts, noun, e.why())
}

// why says the reason in words.
func (e *ExhaustedError) why() string {
	switch e.Reason {
	case ReasonMaxAttempts:
		return fmt.Sprintf("max attempts (%d) reached", e.Max)
	case ReasonWithin:
		return fmt.Sprintf("the next attempt would start later than %s after the first", formatDuration(e.Within))
	case ReasonBudget:
		return "the retry budget is used up"
	case ReasonBreaker:
		return "the circuit breaker of its gate is open"
	case ReasonTimeout:
		return "a timed-out attempt is not retried"
	case ReasonStopRule:
		return fmt.Sprintf("a rule stops on errors of type %s", Classify(e.Err).Type())
	case ReasonNonRetryable:
		return fmt.Sprintf("errors of type %s are not retried", Classify(e.Err).Type())
	case ReasonNotRetryable:
		return fmt.Sprintf("errors of type %s are not among those that are retried", Classify(e.Err).Type())
	case ReasonCrashLimit:
		return "too many attempts were lost with their worker"
	}
	return string(e.Reason)
}

// ErrorType returns Exhausted.
func (e *ExhaustedError) ErrorType() string { return TypeExhausted }

// Unwrap returns the last failure.
func (e *ExhaustedError) Unwrap() error { return e.Err }
