package gate

import "time"

// Option sets a field of a gate's Spec.
type Option func(*Spec)

// WithMode sets what happens to the slot of a call in backoff.
func WithMode(m Mode) Option { return func(s *Spec) { s.Mode = m } }

// WithMaxHold sets the mode Hold and the longest time for which it keeps a slot in one
// backoff.
func WithMaxHold(d time.Duration) Option {
	return func(s *Spec) { s.Mode, s.MaxHold = Hold, d }
}

// WithRate limits the attempts that start per second. A burst of zero is 1; see Rate.
func WithRate(perSecond float64, burst int) Option {
	return func(s *Spec) { s.Rate = Rate{PerSecond: perSecond, Burst: burst} }
}

// WithBudget bounds retries.
func WithBudget(b Budget) Option { return func(s *Spec) { s.Budget = b } }

// WithPerKey bounds what one run key takes of the gate; see workflow.Key and ContextWithKey.
func WithPerKey(p PerKey) Option { return func(s *Spec) { s.PerKey = p } }

// WithPriorityFirst lets waiting calls of a higher priority go before those of all run keys.
func WithPriorityFirst() Option { return func(s *Spec) { s.PriorityFirst = true } }

// WithBreaker attaches a circuit breaker.
func WithBreaker(b Breaker) Option { return func(s *Spec) { s.Breaker = b } }
