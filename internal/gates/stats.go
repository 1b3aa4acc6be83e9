package gates

// BreakerState is what a circuit breaker does.
type BreakerState string

const (
	// NoBreaker: the gate has none.
	NoBreaker BreakerState = ""
	// Closed: it lets all attempts pass.
	Closed BreakerState = "closed"
	// Open: it lets none pass.
	Open BreakerState = "open"
	// HalfOpen: it lets one pass, the probe, or waits for its outcome.
	HalfOpen BreakerState = "half_open"
)

// Stats is what can be seen of a gate at a moment.
type Stats struct {
	Limit   int
	Holders int // slots taken
	Paused  bool

	Depth      int   // tickets that wait, with or without a slot
	OldestWait int64 // how long the oldest of them waits, in nanoseconds

	Running       int // attempts that were granted and are not over
	HeldInBackoff int // slots that tickets in backoff have
	InBackoff     int // tickets in backoff, with or without a slot

	Breaker   BreakerState
	Probing   bool    // an attempt runs whose outcome the breaker waits for
	OpenUntil int64   // the end of the cooldown, zero if the breaker is closed
	Tokens    float64 // left in the budget, zero without one
}

// Stats counts; it takes time in proportion to the tickets.
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
