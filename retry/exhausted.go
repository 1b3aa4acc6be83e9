package retry

import (
	"fmt"
	"strings"
	"time"
)

// ExhaustedError is the error of a call whose last failure was not retried, because
// attempts, time or budget are used up or the policy stops on this error. The fields are
// exported so that a codec can rebuild it.
//
// It is not returned for an error marked with Terminal, which reaches the
// caller as it is, nor for a canceled call (see AbortedError).
type ExhaustedError struct {
	// Name is the name of the call, empty if it has none.
	Name string

	// Attempts is how many attempts were made, without those that are not charged.
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

// Error reads like "charge: gave up after 5 attempts (max attempts): connection
// refused". It ends with the text of the last failure.
func (e *ExhaustedError) Error() string {
	var b strings.Builder
	if e.Name != "" {
		b.WriteString(e.Name + ": ")
	}
	fmt.Fprintf(&b, "gave up after %d attempt", e.Attempts)
	if e.Attempts != 1 {
		b.WriteByte('s')
	}
	if refused, ok := e.Err.(*RefusedError); !ok || refused.Reason != e.Reason { // its text says why
		b.WriteString(" (" + e.why() + ")")
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// why says the reason in words.
func (e *ExhaustedError) why() string {
	switch e.Reason {
	case ReasonMaxAttempts:
		if e.Max != 0 && e.Max != e.Attempts { // the limit of the rule for the last failure
			return fmt.Sprintf("max attempts %d", e.Max)
		}
		return "max attempts"
	case ReasonWithin:
		return "within " + formatDuration(e.Within)
	case ReasonBudget:
		return "the retry budget is used up"
	case ReasonBreaker:
		return "the circuit breaker is open"
	case ReasonTimeout:
		return "timeouts are not retried"
	case ReasonStopRule:
		return "a rule stops on " + Classify(e.Err).Type()
	case ReasonNonRetryable:
		return Classify(e.Err).Type() + " is not retried"
	case ReasonNotRetryable:
		return Classify(e.Err).Type() + " is not among what is retried"
	case ReasonCrashLimit:
		return "crash limit"
	}
	return string(e.Reason)
}

// ErrorType returns Exhausted.
func (e *ExhaustedError) ErrorType() string { return TypeExhausted }

// Unwrap returns the last failure.
func (e *ExhaustedError) Unwrap() error { return e.Err }
