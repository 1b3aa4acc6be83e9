package gates

// BreakerState is the state of a circuit breaker.
type BreakerState string

const (
	// NoBreaker: the gate has none.
	NoBreaker BreakerState = ""
	// Closed: all attempts pass.
	Closed BreakerState = "closed"
	// Open: no attempt passes.
	Open BreakerState = "open"
	// HalfOpen: one attempt, the probe, may pass or is running.
	HalfOpen BreakerState = "half_open"
)

// Stats are the statistics of a gate at one moment.
type Stats struct {
	Limit   int
	Holders int // slots taken
	Paused  bool

	Depth      int   // waiting tickets, with or without a slot
	OldestWait int64 // how long the oldest of them has waited, in nanoseconds

	Running       int // attempts granted and not ended
	HeldInBackoff int // slots held by tickets in backoff
	InBackoff     int // tickets in backoff, with or without a slot

	Breaker   BreakerState
	Probing   bool    // the breaker waits for the outcome of a running attempt
	OpenUntil int64   // end of the cooldown, zero if the breaker is closed
	Tokens    float64 // left in the budget, zero without one
}

// Stats counts the tickets. It takes time in proportion to their number.
func (m *Machine[K]) Stats(now int64) Stats {
	s := Stats{
		Limit: m.config.Limit, Holders: m.holders, Paused: m.record.Paused,
		Depth: m.queue.len() + m.due.len(), InBackoff: m.backoffs.len(),
		Breaker: m.breakerState(now), OpenUntil: m.record.OpenUntil, Probing: m.probe != nil,
		Tokens: float64(m.config.Budget.capacity()-m.record.Spent) / 1000,
	}
	for _, e := range m.tickets {
		switch e.Phase {
		case Waiting:
			s.OldestWait = max(s.OldestWait, now-e.Since)
		case Running:
			s.Running++
		case BackingOff:
			if e.Slot {
				s.HeldInBackoff++
			}
		}
	}
	return s
}

func (m *Machine[K]) breakerState(now int64) BreakerState {
	switch {
	case m.config.Breaker == (Breaker{}):
		return NoBreaker
	case m.record.OpenUntil == 0:
		return Closed
	case now < m.record.OpenUntil:
		return Open
	}
	return HalfOpen
}
