package history

import "time"

// Gate is a gate as an event has it on record: what a call passes through.
// Durations are in nanoseconds.
type Gate struct {
	Name    string        `json:"name"`
	Limit   int           `json:"limit"`
	Mode    string        `json:"mode"`
	MaxHold time.Duration `json:"max_hold,omitempty"`
	Rate    GateRate      `json:"rate,omitzero"`
	Budget  GateBudget    `json:"budget,omitzero"`
	Breaker GateBreaker   `json:"breaker,omitzero"`
}

// GateRate bounds how many attempts start per second.
type GateRate struct {
	PerSecond float64 `json:"per_second"`
	Burst     int     `json:"burst,omitempty"`
}

// GateBudget bounds retries.
type GateBudget struct {
	Tokens int     `json:"tokens"`
	Cost   float64 `json:"cost,omitempty"`
	Refund float64 `json:"refund,omitempty"`
}

// GateBreaker is a circuit breaker.
type GateBreaker struct {
	Failures int           `json:"failures"`
	Cooldown time.Duration `json:"cooldown"`
	Wait     bool          `json:"wait,omitempty"`
}
