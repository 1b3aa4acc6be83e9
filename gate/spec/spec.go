package spec

import (
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/human"
)

// Mode says what happens to the slot of a call while it waits for its retry.
type Mode string

const (
	// Hold keeps the slot through backoff: later calls wait until the call has ended. It
	// is the default of retry.Do.
	Hold Mode = "hold"
	// Release frees the slot; the retry queues at the end.
	Release Mode = "release"
	// Rejoin frees the slot; when the delay ends, the retry goes before all
	// calls that came later than its own. It is the default in the engine.
	Rejoin Mode = "rejoin"
)

// Spec describes a gate. It is plain data, with a form in JSON.
type Spec struct {
	// Name identifies the gate: 1 to 200 bytes of UTF-8 without control
	// characters.
	Name string `json:"name"`

	// Limit is the number of slots, at least 1.
	Limit int `json:"limit"`

	// Mode is what happens to a slot in backoff. Empty is the default of the runner: Hold
	// for retry.Do, Rejoin for the engine.
	Mode Mode `json:"mode,omitempty"`

	// MaxHold is the longest time for which a slot is kept in one backoff. It requires
	// the mode Hold. After that the call is treated as in mode Rejoin until its next
	// attempt. Zero means no bound.
	MaxHold time.Duration `json:"max_hold,omitempty"`

	Rate    Rate    `json:"rate,omitzero"`    // zero: attempts start as often as slots allow
	Budget  Budget  `json:"budget,omitzero"`  // zero: the policy alone bounds retries
	Breaker Breaker `json:"breaker,omitzero"` // zero: no circuit breaker

	// PerKey bounds what one run key takes of the gate; see workflow.Key. Zero: the gate alone
	// bounds it.
	PerKey PerKey `json:"per_key,omitzero"`

	// PriorityFirst lets a waiting call of a higher priority go before those of all run keys.
	// Otherwise run keys take turns, and the priority orders the calls of one key.
	PriorityFirst bool `json:"priority_first,omitempty"`
}

// PerKey bounds what one run key takes of a gate.
type PerKey struct {
	// Limit is how many slots calls of one key have at a time, at least 1; zero: as many as the
	// gate has.
	Limit int `json:"limit,omitempty"`

	// Rate limits how often attempts of one key start; zero: as often as the gate lets them.
	Rate Rate `json:"rate,omitzero"`
}

// String returns the bounds in words: "2 slots, 5/s", or "none".
func (p PerKey) String() string {
	var parts []string
	switch {
	case p.Limit == 1:
		parts = append(parts, "1 slot")
	case p.Limit > 1:
		parts = append(parts, fmt.Sprintf("%d slots", p.Limit))
	}
	if p.Rate != (Rate{}) {
		parts = append(parts, p.Rate.String())
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// Rate limits how often attempts start, retries included.
type Rate struct {
	// PerSecond is the average rate, 0.000001 to 1000000000.
	PerSecond float64 `json:"per_second"`

	// Burst is how many attempts may start together after an idle time; zero is 1.
	Burst int `json:"burst,omitempty"`
}

// String returns the rate in words: "50/s (burst 10)", or "none".
func (r Rate) String() string {
	switch {
	case r == (Rate{}):
		return "none"
	case r.Burst <= 1:
		return fmt.Sprintf("%g/s", r.PerSecond)
	}
	return fmt.Sprintf("%g/s (burst %d)", r.PerSecond, r.Burst)
}

// Budget limits the share of retries, so that they do not make an outage worse. It is a
// number of tokens. Each retry costs some; if there are not enough, the call stops with
// retry.ReasonBudget. Amounts are rounded to thousandths.
type Budget struct {
	// Tokens is the number of tokens at first and at most, at least 1.
	Tokens int `json:"tokens"`

	// Cost is what a retry costs, at least a thousandth; zero is 1.
	Cost float64 `json:"cost,omitempty"`

	// Refund is how many tokens a call that succeeds at its first attempt returns. With a
	// Cost of 1, a Refund of 0.1 allows one retry for ten such calls. With zero no token
	// comes back.
	Refund float64 `json:"refund,omitempty"`

	// PerKey gives each run key a budget of its own, which is full again when the key has had no
	// attempt for an hour.
	PerKey bool `json:"per_key,omitempty"`
}

// String returns the budget in words: "100 tokens, refund 0.1", or "none".
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
	if b.PerKey {
		text += ", for each key"
	}
	return text
}

// Breaker is a circuit breaker. It is closed at first. When Failures attempts have failed
// in succession it opens: no attempt starts for the Cooldown. Then it is half-open: one
// attempt starts, the probe, whose outcome closes the breaker or opens it again.
//
// Terminal errors, errors of types that the policy does not retry, and canceled attempts
// do not count as failures.
type Breaker struct {
	// Failures is the number of consecutive failures that opens the breaker, at least 1.
	Failures int `json:"failures"`

	// Cooldown is how long the breaker stays open, more than zero.
	Cooldown time.Duration `json:"cooldown"`

	// Wait makes calls wait while the breaker is open. Otherwise they fail immediately
	// with retry.ReasonBreaker. Neither costs an attempt; nor does a failed probe
	// while calls wait.
	Wait bool `json:"wait,omitempty"`

	// PerKey gives each run key a breaker of its own: calls of one key that fail stop no others. It
	// is closed again when the key has had no attempt for an hour after the Cooldown.
	PerKey bool `json:"per_key,omitempty"`
}

// String returns the breaker in words: "5 failures, open for 30s", or "none".
func (b Breaker) String() string {
	if b == (Breaker{}) {
		return "none"
	}
	text := fmt.Sprintf("%d failures, open for %s", b.Failures, human.Trimmed(b.Cooldown))
	if b.Wait {
		text += ", calls wait"
	}
	if b.PerKey {
		text += ", for each key"
	}
	return text
}

// Edit overrides fields of what the code declares for a gate. Fields that it leaves
// out stay as they are.
type Edit struct {
	Limit   int      `json:"limit,omitempty"`   // 0: left out
	Rate    *Rate    `json:"rate,omitempty"`    // nil: left out; zero: no rate
	Budget  *Budget  `json:"budget,omitempty"`  // nil: left out; zero: no budget
	Breaker *Breaker `json:"breaker,omitempty"` // nil: left out; zero: no breaker
	PerKey  *PerKey  `json:"per_key,omitempty"` // nil: left out; zero: no bounds of a key
	// Key is the run key to which alone PerKey applies, "" for all keys. An edit of one key names
	// nothing else.
	Key string `json:"key,omitempty"`
	// AsInCode removes all earlier edits first; with a Key those of that key.
	AsInCode bool `json:"as_in_code,omitempty"`
}
