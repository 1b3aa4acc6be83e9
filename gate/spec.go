package gate

import "github.com/perdure/perdure/gate/spec"

// Spec describes a gate: its fields are in package gate/spec. It is plain data, with a form
// in JSON.
type Spec = spec.Spec

// Mode says what happens to the slot of a call while it waits for its retry.
type Mode = spec.Mode

const (
	// Hold keeps the slot through backoff: later calls wait until the call has ended. It
	// is the default of retry.Do.
	Hold = spec.Hold
	// Release frees the slot; the retry queues at the end.
	Release = spec.Release
	// Rejoin frees the slot; when the delay ends, the retry goes before all
	// calls that came later than its own. It is the default in the engine.
	Rejoin = spec.Rejoin
)

// Rate limits how often attempts start, retries included: PerSecond on average, and Burst
// together after an idle time.
type Rate = spec.Rate

// Budget limits the share of retries, so that they do not make an outage worse: of Tokens,
// a retry costs Cost, and a call that succeeds at its first attempt returns Refund.
type Budget = spec.Budget

// PerKey bounds what one run key takes of a gate.
type PerKey = spec.PerKey

// Breaker is a circuit breaker: after Failures consecutive failures no attempt starts for
// the Cooldown. Then one attempt, the probe, closes the breaker or opens it again.
type Breaker = spec.Breaker

// BreakerState is the state of a circuit breaker.
type BreakerState = spec.BreakerState

const (
	// NoBreaker: the gate has none.
	NoBreaker = spec.NoBreaker
	// Closed: attempts pass.
	Closed = spec.Closed
	// Open: no attempt passes.
	Open = spec.Open
	// HalfOpen: one attempt may pass, the probe, or is running.
	HalfOpen = spec.HalfOpen
)

// Stats is the state of a gate at a moment.
type Stats = spec.Stats

// Stats returns the current state of the gate; it is zero if the gate is misconfigured.
// It takes time in proportion to the calls at the gate.
func (g *Gate) Stats() Stats {
	if g.err != nil {
		return Stats{}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	g.carryOut(g.machine.Tick(now))
	return g.machine.Stats(now).Stats
}
