package spec

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// longestRefill limits the time in which a rate refills its burst, and longestWait all
	// durations, so that no sum of times overflows.
	longestRefill = 365 * 24 * time.Hour
	longestWait   = 100 * longestRefill
	mostTokens    = 1_000_000_000
	maxName       = 200
)

// FieldError says what is wrong with a field of a Spec.
type FieldError struct {
	Field   string // Limit, Rate.Burst ...
	Value   any    // that it has
	Allowed string // in words
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("%s is %v; allowed is %s", e.Field, e.Value, e.Allowed)
}

// Validate returns nil or an error that lists everything that is wrong: each line names a
// field, its value and what is allowed.
func (s Spec) Validate() error {
	var errs []error
	fault := func(field string, value any, allowed string) {
		errs = append(errs, &FieldError{field, value, allowed})
	}
	if fault := s.nameFault(); fault != "" {
		errs = append(errs, errors.New(fault))
	}
	if s.Mode == "" && s.MaxHold != 0 {
		errs = append(errs, fmt.Errorf("MaxHold is %s and Mode is empty; name the mode, %q", s.MaxHold, Hold))
		s.MaxHold = 0
	}
	if s.Limit < 1 || s.Limit > math.MaxInt32 {
		fault("Limit", s.Limit, "1 to 2147483647")
	}
	if s.Mode != "" && s.Mode != Hold && s.Mode != Release && s.Mode != Rejoin {
		fault("Mode", fmt.Sprintf("%q", s.Mode), "hold, release or rejoin")
	}
	switch {
	case s.MaxHold < 0 || s.MaxHold > longestWait:
		fault("MaxHold", s.MaxHold, fmt.Sprintf("0 (no bound) to %s", longestWait))
	case s.MaxHold > 0 && s.Mode != Hold:
		fault("MaxHold", s.MaxHold, fmt.Sprintf("0 in mode %s, which holds nothing in backoff", s.Mode))
	}
	s.Rate.validate("Rate", fault)
	if s.PerKey.Limit < 0 || s.PerKey.Limit > s.Limit && s.Limit > 0 {
		fault("PerKey.Limit", s.PerKey.Limit, fmt.Sprintf("0 (no bound) to Limit, which is %d", s.Limit))
	}
	s.PerKey.Rate.validate("PerKey.Rate", fault)
	s.Budget.validate(fault)
	s.Breaker.validate(fault)
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("gate %q is misconfigured: %w", s.Name, err)
	}
	return nil
}

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

type faultFunc func(field string, value any, allowed string)

func (r Rate) validate(field string, fault faultFunc) {
	if r == (Rate{}) {
		return
	}
	if !(r.PerSecond >= 1e-6 && r.PerSecond <= 1e9) {
		fault(field+".PerSecond", r.PerSecond, "0.000001 to 1000000000")
		return
	}
	if r.Burst < 0 || float64(max(r.Burst, 1))/r.PerSecond > longestRefill.Seconds() {
		fault(field+".Burst", r.Burst, fmt.Sprintf("0 (the default, 1) or more, and refilled within %s", longestRefill))
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
		fault("Budget.Cost", b.Cost, "0 (the default, 1), or 0.001 to the number of tokens")
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
