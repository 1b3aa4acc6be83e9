package gates

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// Mode says what happens to the slot of a ticket in backoff.
type Mode string

const (
	// Hold keeps the slot: later calls wait until the call has ended.
	Hold Mode = "hold"
	// Release frees the slot. After the delay the ticket lines up again at the end.
	Release Mode = "release"
	// Rejoin frees the slot. After the delay the ticket goes before all that came after its
	// first arrival.
	Rejoin Mode = "rejoin"
)

// Spec is the specification of a gate as events and rows record it. The JSON is part of the
// format of histories; durations are in nanoseconds. Mode has no default here because the
// shells have different ones.
type Spec struct {
	Name string `json:"name"` // not used by the machine

	// Limit is the number of slots, at least 1.
	Limit int `json:"limit"`

	Mode Mode `json:"mode"`

	// MaxHold limits how long one backoff keeps a slot in mode Hold. After that the ticket
	// is treated as in mode Rejoin until its next attempt. Zero means no limit.
	MaxHold time.Duration `json:"max_hold,omitempty"`

	Rate    Rate    `json:"rate,omitzero"`    // zero: none
	Budget  Budget  `json:"budget,omitzero"`  // zero: none
	Breaker Breaker `json:"breaker,omitzero"` // zero: none
}

// Rate limits how many attempts start per second.
type Rate struct {
	PerSecond float64 `json:"per_second"`
	Burst     int     `json:"burst,omitempty"` // zero means 1
}

// Budget limits retries. It starts with Tokens, which is also its maximum. A retry costs
// Cost (zero means 1), and a call that succeeds at its first attempt adds Refund. Amounts
// are rounded to thousandths.
type Budget struct {
	Tokens int     `json:"tokens"`
	Cost   float64 `json:"cost,omitempty"`
	Refund float64 `json:"refund,omitempty"`
}

// Breaker is a circuit breaker. After Failures consecutive failed attempts it is open for
// Cooldown. Then one attempt, the probe, decides whether it closes or opens again.
type Breaker struct {
	Failures int           `json:"failures"`
	Cooldown time.Duration `json:"cooldown"`
	// Wait makes tickets wait while the breaker is open; otherwise they are refused.
	Wait bool `json:"wait,omitempty"`
}

// String describes the rate.
func (r Rate) String() string {
	switch {
	case r == (Rate{}):
		return "none"
	case r.burst() == 1:
		return fmt.Sprintf("%g/s", r.PerSecond)
	}
	return fmt.Sprintf("%g/s (burst %d)", r.PerSecond, r.Burst)
}

// String describes the budget.
func (b Budget) String() string {
	if b == (Budget{}) {
		return "none"
	}
	text := fmt.Sprintf("%d tokens", b.Tokens)
	if b.Cost != 0 && b.Cost != 1 {
		text += fmt.Sprintf(", a retry costs %g", b.Cost)
	}
	if b.Refund != 0 {
		text += fmt.Sprintf(", refund %g", b.Refund)
	}
	return text
}

// String describes the breaker.
func (b Breaker) String() string {
	if b == (Breaker{}) {
		return "none"
	}
	cooldown := b.Cooldown.String()
	for _, zero := range []string{"0s", "0m"} { // 1h0m0s becomes 1h
		if short, ok := strings.CutSuffix(cooldown, zero); ok && strings.HasSuffix(short, "m") || ok && strings.HasSuffix(short, "h") {
			cooldown = short
		}
	}
	text := fmt.Sprintf("%d failures, open for %s", b.Failures, cooldown)
	if b.Wait {
		text += ", calls wait"
	}
	return text
}

const (
	// longestRefill limits the time in which a rate refills its burst, and longestWait all
	// durations, so that no sum of times overflows.
	longestRefill = 365 * 24 * time.Hour
	longestWait   = 100 * longestRefill
	mostTokens    = 1_000_000_000
)

// Validate returns everything that is wrong with the spec, or nil. Each error names the
// field, its value and what is allowed.
func (c Spec) Validate() error {
	var errs []error
	fault := func(field string, value any, allowed string) {
		errs = append(errs, fmt.Errorf("%s is %v; allowed is %s", field, value, allowed))
	}
	if c.Limit < 1 || c.Limit > math.MaxInt32 {
		fault("Limit", c.Limit, "1 to 2147483647")
	}
	if c.Mode != Hold && c.Mode != Release && c.Mode != Rejoin {
		fault("Mode", fmt.Sprintf("%q", c.Mode), "hold, release or rejoin")
	}
	switch {
	case c.MaxHold < 0 || c.MaxHold > longestWait:
		fault("MaxHold", c.MaxHold, fmt.Sprintf("0 (no bound) to %s", longestWait))
	case c.MaxHold > 0 && c.Mode != Hold:
		fault("MaxHold", c.MaxHold, fmt.Sprintf("0 in mode %s, which holds nothing in backoff", c.Mode))
	}
	c.Rate.validate(fault)
	c.Budget.validate(fault)
	c.Breaker.validate(fault)
	return errors.Join(errs...)
}

type faultFunc func(field string, value any, allowed string)

func (r Rate) validate(fault faultFunc) {
	if r == (Rate{}) {
		return
	}
	if !(r.PerSecond >= 1e-6 && r.PerSecond <= 1e9) {
		fault("Rate.PerSecond", r.PerSecond, "0.000001 to 1000000000")
		return
	}
	if r.Burst < 0 || float64(r.burst())/r.PerSecond > longestRefill.Seconds() {
		fault("Rate.Burst", r.Burst, fmt.Sprintf("0 (the default, 1) or more, and refilled within %s", longestRefill))
	}
}

func (b Budget) validate(fault faultFunc) {
	if b == (Budget{}) {
		return
	}
	if b.Tokens < 1 || b.Tokens > mostTokens {
		fault("Budget.Tokens", b.Tokens, fmt.Sprintf("1 to %d", mostTokens))
	}
	if b.Cost != 0 && !(b.Cost >= 0.001 && b.Cost <= float64(max(b.Tokens, 1))) {
		fault("Budget.Cost", b.Cost, "0 (the default, 1), or 0.001 to Tokens")
	}
	if b.Refund != 0 && !(b.Refund >= 0.001 && b.Refund <= mostTokens) {
		fault("Budget.Refund", b.Refund, fmt.Sprintf("0 (a success brings nothing), or 0.001 to %d", mostTokens))
	}
}

func (b Breaker) validate(fault faultFunc) {
	if b == (Breaker{}) {
		return
	}
	if b.Failures < 1 || b.Failures > math.MaxInt32 {
		fault("Breaker.Failures", b.Failures, "1 to 2147483647")
	}
	if b.Cooldown <= 0 || b.Cooldown > longestWait {
		fault("Breaker.Cooldown", b.Cooldown, fmt.Sprintf("more than 0, to %s", longestWait))
	}
}
