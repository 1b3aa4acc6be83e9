package gate

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/perdure/perdure/internal/gates"
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
	Name string

	// Limit is the number of slots, at least 1.
	Limit int

	// Mode is what happens to a slot in backoff. Empty is the default of the runner: Hold
	// for retry.Do, Rejoin for the engine.
	Mode Mode

	// MaxHold is the longest time for which a slot is kept in one backoff. It requires
	// the mode Hold. After that the call is treated as in mode Rejoin until its next
	// attempt. Zero is no bound.
	MaxHold time.Duration

	Rate    Rate    // zero: attempts start as often as slots allow
	Budget  Budget  // zero: the policy alone bounds retries
	Breaker Breaker // zero: no circuit breaker
}

// Rate limits how often attempts start, retries included.
type Rate struct {
	// PerSecond is the average rate, 0.000001 to 1000000000.
	PerSecond float64 `json:"per_second"`

	// Burst is how many attempts may start together after an idle time; zero is 1.
	Burst int `json:"burst,omitempty"`
}

// String returns the rate in words: "50/s (burst 10)", or "none".
func (r Rate) String() string { return gates.Rate(r).String() }

// Budget limits the share of retries, so that they do not make an outage worse. It is a
// number of tokens. Each retry costs some; if there are not enough, the call stops with
// retry.ReasonBudget.
type Budget struct {
	// Tokens is the number of tokens at first and at most, at least 1.
	Tokens int `json:"tokens"`

	// Cost is what a retry costs, at least a thousandth; zero is 1.
	Cost float64 `json:"cost,omitempty"`

	// Refund is how many tokens a call that succeeds at its first attempt returns. With a
	// Cost of 1, a Refund of 0.1 allows one retry for ten such calls. With zero no token
	// comes back.
	Refund float64 `json:"refund,omitempty"`
}

// String returns the budget in words: "100 tokens, refund 0.1", or "none".
func (b Budget) String() string { return gates.Budget(b).String() }

// Breaker is a circuit breaker. It is closed at first. When Failures attempts have failed
// in succession it opens: no attempt starts for the Cooldown. Then it is half-open: one
// attempt starts, the probe, whose outcome closes the breaker or opens it again.
//
// Terminal errors, errors of types that the policy does not retry, and canceled attempts
// do not count as failures.
type Breaker struct {
	// Failures is the number of consecutive failures that opens the breaker, at least 1.
	Failures int

	// Cooldown is how long the breaker stays open, more than zero.
	Cooldown time.Duration

	// Wait makes calls wait while the breaker is open. Otherwise they fail immediately
	// with retry.ReasonBreaker. Neither costs an attempt; nor does a failed probe
	// while calls wait.
	Wait bool
}

// String returns the breaker in words: "5 failures, open for 30s", or "none".
func (b Breaker) String() string { return gates.Breaker(b).String() }

// Validate returns nil or an error that lists everything that is wrong.
func (s Spec) Validate() error {
	var errs []error
	if fault := s.nameFault(); fault != "" {
		errs = append(errs, errors.New(fault))
	}
	check := s
	if s.Mode == "" && s.MaxHold != 0 {
		errs = append(errs, fmt.Errorf("MaxHold is %s and Mode is empty; name the mode, %q", s.MaxHold, Hold))
		check.MaxHold = 0
	}
	if err := check.config(Hold).Validate(); err != nil {
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("gate %q is misconfigured: %w", s.Name, err)
	}
	return nil
}

const maxName = 200

func (s Spec) nameFault() string {
	switch {
	case s.Name == "":
		return "its name is empty"
	case len(s.Name) > maxName:
		return fmt.Sprintf("its name is %d bytes long; the limit is %d", len(s.Name), maxName)
	case !utf8.ValidString(s.Name):
		return "its name is not valid UTF-8"
	case strings.ContainsFunc(s.Name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "its name contains a control character"
	}
	return ""
}

// config is the Spec as the machine takes it, in the given mode if the Spec names none.
func (s Spec) config(mode Mode) gates.Spec {
	if s.Mode != "" {
		mode = s.Mode
	}
	return gates.Spec{
		Name: s.Name, Limit: s.Limit, Mode: gates.Mode(mode), MaxHold: s.MaxHold, Rate: gates.Rate(s.Rate),
		Budget: gates.Budget(s.Budget), Breaker: gates.Breaker(s.Breaker),
	}
}
