package gates

import (
	"math"

	"github.com/perdure/perdure/internal/fair"
)

// Never is a time that does not come.
const Never int64 = math.MaxInt64

// Phase is the phase of a ticket.
type Phase string

const (
	// Waiting: the attempt is due and not granted yet.
	Waiting Phase = "waiting"
	// Running: the attempt was granted and has not ended.
	Running Phase = "running"
	// BackingOff: the next attempt is not due yet.
	BackingOff Phase = "backoff"
	// StandingBy: the attempt was granted, and the slot was given back because another gate
	// did not grant in time. The ticket keeps its number and is skipped until the call asks
	// again.
	StandingBy Phase = "standby"
)

// Ticket is the record of one call at the gate. It is plain data that a durable gate stores
// as a row. Times are nanoseconds since 1970; zero means none.
type Ticket[K comparable] struct {
	Key K `json:"key"`

	// Came is when the call joined the line of this gate, or of an earlier one of its
	// gates. Number orders tickets that came at the same time.
	Came   int64 `json:"came,omitempty"`
	Number int64 `json:"number"`

	// Priority takes precedence over Came; higher is served first.
	Priority int `json:"priority,omitempty"`

	// Attempt is the number of the attempt that is due, is running or follows the backoff.
	Attempt int `json:"attempt"`

	Phase Phase `json:"phase"`

	// Slot says that the ticket has a slot.
	Slot bool `json:"slot,omitempty"`

	// Since is when the phase began.
	Since int64 `json:"since"`

	// Until is the end of the backoff.
	Until int64 `json:"until,omitempty"`

	// Paid says that the budget was charged for the due or running retry.
	Paid bool `json:"paid,omitempty"`

	// Probe says that the circuit breaker waits for the outcome of the attempt.
	Probe bool `json:"probe,omitempty"`

	// Probed is when an attempt of the ticket last failed as the probe. Once says that a
	// failure ends the call. Both decide which ticket is the next probe.
	Probed int64 `json:"probed,omitempty"`
	Once   bool  `json:"once,omitempty"`
	// Silent says that the gate does not learn how the attempt ends: it is no probe.
	Silent bool `json:"silent,omitempty"`

	// Returns is how often the slot was given back unused. It distinguishes a grant from
	// earlier ones that were given back.
	Returns int `json:"returns,omitempty"`

	// RateAt is the RateAt of the gate's record after the last grant, zero without a rate.
	RateAt int64 `json:"rate_at,omitempty"`

	// RunKey is the key of the run, "" if it has none, and Weight its weight. KeyRateAt is
	// RateAt of the key's record.
	RunKey    string `json:"run_key,omitempty"`
	Weight    int    `json:"weight,omitempty"`
	KeyRateAt int64  `json:"key_rate_at,omitempty"`
}

// Record is the state of a gate besides its tickets, as plain data. The zero value is that
// of a new gate.
type Record struct {
	// Number is the last number given to a ticket.
	Number int64 `json:"number,omitempty"`

	Paused bool `json:"paused,omitempty"`

	// RateAt is when the rate has its full burst again.
	RateAt int64 `json:"rate_at,omitempty"`

	// Health is zero in what each run key has for itself.
	Health
}

// Health is what a budget and a breaker remember: those of the gate, or of one run key.
type Health struct {
	// Spent is what the budget lacks, in thousandths of a token.
	Spent int64 `json:"spent,omitempty"`

	// Failures counts consecutive failures while the breaker is closed. OpenUntil is the
	// end of its cooldown, zero if it is closed.
	Failures  int   `json:"failures,omitempty"`
	OpenUntil int64 `json:"open_until,omitempty"`
}

// entry is a ticket in the machine.
type entry[K comparable] struct {
	Ticket[K]

	share *fair.Key[share[K]]
	dirty bool // listed in Step.Changed

	home       *queue[K] // the queue in which it waits or backs off
	rank, came int64     // its order there
	at         int       // its place there
}
