package shop

import (
	"fmt"

	"github.com/perdure/perdure/retry"
)

// The type names of the errors of [Post], for the rules of a retry policy.
const (
	TypeRateLimited = "RateLimited"
	TypeUnavailable = "Unavailable"
	TypeDeclined    = "CardDeclined"
	TypeRejected    = "Rejected"
	TypeNetwork     = "NetworkError"
)

// Registered, they come back as themselves after a restart of the engine.
func init() {
	retry.RegisterErrorType[*RateLimitedError](TypeRateLimited)
	retry.RegisterErrorType[*UnavailableError](TypeUnavailable)
	retry.RegisterErrorType[*DeclinedError](TypeDeclined)
	retry.RegisterErrorType[*RejectedError](TypeRejected)
	retry.RegisterErrorType[*NetworkError](TypeNetwork)
}

// RateLimitedError is a 429: there were too many requests. Post gives it the
// delay that the service asked for.
type RateLimitedError struct {
	Kind       Kind   `json:"kind"`
	RetryAfter string `json:"retry_after,omitempty"` // the header, as it came
}

func (e *RateLimitedError) Error() string {
	if e.RetryAfter == "" {
		return fmt.Sprintf("%s: too many requests (429)", e.Kind)
	}
	return fmt.Sprintf("%s: too many requests (429, Retry-After: %s)", e.Kind, e.RetryAfter)
}

// UnavailableError is a service that could not do the work this time: a 5xx, or
// an answer that made no sense.
type UnavailableError struct {
	Kind    Kind   `json:"kind"`
	Status  int    `json:"status"`
	Message string `json:"message"`
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("%s: unavailable (%d): %s", e.Kind, e.Status, e.Message)
}

// DeclinedError is a 402: the card is declined for good. Post marks it terminal.
type DeclinedError struct {
	Order   string `json:"order"`
	Message string `json:"message"`
}

func (e *DeclinedError) Error() string {
	return fmt.Sprintf("card declined: %s", e.Message)
}

// RejectedError is a request that the service says is wrong: no repetition makes
// it right. Post marks it terminal.
type RejectedError struct {
	Kind    Kind   `json:"kind"`
	Status  int    `json:"status"`
	Message string `json:"message"`
}

func (e *RejectedError) Error() string {
	return fmt.Sprintf("%s: rejected (%d): %s", e.Kind, e.Status, e.Message)
}

// NetworkError is a request that got no answer: nobody knows whether the work
// was done. Sent again with the same key, it is not done twice.
type NetworkError struct {
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`

	cause error // lost in a restart
}

func (e *NetworkError) Error() string { return fmt.Sprintf("%s: no answer: %s", e.Kind, e.Message) }

// Unwrap is what the network said, as long as it is the same process.
func (e *NetworkError) Unwrap() error { return e.cause }
