package spec

import "time"

// BreakerState is the state of a circuit breaker.
type BreakerState string

const (
	// NoBreaker: the gate has none.
	NoBreaker BreakerState = ""
	// Closed: attempts pass.
	Closed BreakerState = "closed"
	// Open: no attempt passes.
	Open BreakerState = "open"
	// HalfOpen: one attempt may pass, the probe, or is running.
	HalfOpen BreakerState = "half_open"
)

// Stats is the state of a gate at a moment.
type Stats struct {
	Limit   int  `json:"limit"`
	Holders int  `json:"holders"` // slots taken
	Paused  bool `json:"paused,omitempty"`

	// Depth is how many attempts are due and wait; OldestWait is how long the first of
	// them has waited.
	Depth      int           `json:"depth"`
	OldestWait time.Duration `json:"oldest_wait"`

	// Running counts attempts that passed and have not ended, InBackoff calls that wait
	// for a retry, HeldInBackoff those of them that keep a slot.
	Running       int `json:"running"`
	InBackoff     int `json:"in_backoff"`
	HeldInBackoff int `json:"held_in_backoff"`

	// Breaker is closed if each run key has a breaker of its own; OpenKeys counts those that are
	// not.
	Breaker  BreakerState `json:"breaker,omitempty"`
	OpenKeys int          `json:"open_keys,omitempty"`

	// Cooldown is how long an open breaker stays open from now.
	Cooldown time.Duration `json:"cooldown,omitempty"`

	// Tokens is what is left in the retry budget; zero without one, and if each run key has its own.
	Tokens float64 `json:"tokens,omitempty"`
}
