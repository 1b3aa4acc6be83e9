package gate

import "time"

// Option sets a field of a gate's Spec.
type Option func(*Spec)

// WithMode sets what happens to a slot in backoff.
func WithMode(m Mode) Option { return func(s *Spec) { s.Mode = m } }

// WithMaxHold sets the mode Hold and for how long it holds a slot in one backoff.
func WithMaxHold(d time.Duration) Option {
	return func(s *Spec) { s.Mode, s.MaxHold = Hold, d }
}

// WithRate bounds the attempts that start per second.
func WithRate(perSecond float64, burst int) Option {
	return func(s *Spec) { s.Rate = Rate{PerSecond: perSecond, Burst: burst} }
}

// WithBudget bounds retries.
func WithBudget(b Budget) Option { return func(s *Spec) { s.Budget = b } }

// WithBreaker attaches a circuit breaker.
func WithBreaker(b Breaker) Option { return func(s *Spec) { s.Breaker = b } }
