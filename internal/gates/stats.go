package gates

import (
	"time"

	"github.com/perdure/perdure/gate/spec"
)

// Stats are the statistics of a gate at one moment.
type Stats struct {
	spec.Stats
	Probing   bool  // the breaker waits for the outcome of a running attempt
	OpenUntil int64 // end of the cooldown, zero if the breaker is closed
}

// Stats counts the tickets. It takes time in proportion to their number.
func (m *Machine[K]) Stats(now int64) Stats {
	s := Stats{OpenUntil: m.record.OpenUntil, Probing: m.probe != nil, Stats: spec.Stats{
		Limit: m.config.Limit, Holders: m.holders, Paused: m.record.Paused,
		Breaker: breakerState(m.record.Health, now), Cooldown: time.Duration(max(m.record.OpenUntil-now, 0)),
		Tokens: float64(capacity(m.config.Budget)-m.record.Spent) / 1000,
	}}
	if m.config.Breaker == (spec.Breaker{}) {
		s.Breaker = spec.NoBreaker
	}
	if m.config.Budget.PerKey {
		s.Tokens = 0
	}
	for _, k := range m.KeyHealths(now) {
		if k.OpenUntil != 0 {
			s.OpenKeys++
		}
	}
	for _, e := range m.tickets {
		switch e.Phase {
		case Waiting:
			s.Depth++
			s.OldestWait = max(s.OldestWait, time.Duration(now-e.Since))
		case Running:
			s.Running++
		case BackingOff:
			s.InBackoff++
			if e.Slot {
				s.HeldInBackoff++
			}
		}
	}
	return s
}

func breakerState(h Health, now int64) spec.BreakerState {
	switch {
	case h.OpenUntil == 0:
		return spec.Closed
	case now < h.OpenUntil:
		return spec.Open
	}
	return spec.HalfOpen
}
