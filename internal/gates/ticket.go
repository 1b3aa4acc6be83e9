package gates

import "math"

// Never is a time that does not come.
const Never int64 = math.MaxInt64

// Phase is where a ticket is.
type Phase string

const (
	// Waiting: its attempt is due and was not granted yet.
	Waiting Phase = "waiting"
	// Running: its attempt was granted and is not over.
	Running Phase = "running"
	// BackingOff: its next attempt is not due yet.
	BackingOff Phase = "backoff"
	// StandingBy: its attempt was granted, and the slot was given back because another
	// gate did not grant in time. It keeps its number and is passed over until the call
	// asks again.
	StandingBy Phase = "standby"
)

// Ticket is the record of one call at the gate: plain data, which a durable gate
// stores as a row. Times are nanoseconds since 1970, zero where there is none.
type Ticket[K comparable] struct {
	Key K `json:"key"`

	// Came is when the call came into the line of this gate, or into that of another one
	// of its gates before. Number orders tickets that came at the same time; those of an
	// earlier version came at zero, and in the order of their numbers.
	Came   int64 `json:"came,omitempty"`
	Number int64 `json:"number"`

	// Priority goes before Came; higher is served first.
	Priority int `json:"priority,omitempty"`

	// Attempt is the number of the attempt that is due, runs or comes after the
	// backoff.
	Attempt int `json:"attempt"`

	Phase Phase `json:"phase"`

	// Slot says that the ticket has one of the slots.
	Slot bool `json:"slot,omitempty"`

	// Since is when the phase began.
	Since int64 `json:"since"`

	// Until is the end of the backoff.
	Until int64 `json:"until,omitempty"`

	// Paid says that the budget was charged for the retry that is due or runs.
	Paid bool `json:"paid,omitempty"`

	// Probe says that the circuit breaker waits for the outcome of the attempt.
	Probe bool `json:"probe,omitempty"`

	// Returns is how often its slot was given back unused. It tells a grant from one
	// that was given back.
	Returns int `json:"returns,omitempty"`

	// RateAt is that of the gate's record after the last grant, zero without a rate.
	RateAt int64 `json:"rate_at,omitempty"`
}

// Record is what a gate has to remember besides its tickets: plain data. The zero
// value is that of a new gate.
type Record struct {
	// Number is the last number given to a ticket.
	Number int64 `json:"number,omitempty"`

	Paused bool `json:"paused,omitempty"`

	// RateAt is when the rate has its full burst again.
	RateAt int64 `json:"rate_at,omitempty"`

	// Spent is what is missing in the budget, in thousandths of a token.
	Spent int64 `json:"spent,omitempty"`

	// Failures are those in succession while the breaker is closed. OpenUntil is
	// the end of its cooldown, zero if it is closed.
	Failures  int   `json:"failures,omitempty"`
	OpenUntil int64 `json:"open_until,omitempty"`
}

// entry is a ticket in the machine.
type entry[K comparable] struct {
	Ticket[K]

	home  *queue[K] // where it waits or is in backoff
	stay  int       // counts its stays in queues
	dirty bool      // named in Step.Changed
}
