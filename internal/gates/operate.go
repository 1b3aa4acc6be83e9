package gates

import (
	"slices"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/fair"
)

// Operations on a gate besides pausing it.

// Where each run key has a breaker or a budget of its own, these are about one key, or about all if
// it is "".

// Probe ends the cooldown of an open breaker. The first ticket in line starts now as the
// probe; if none waits, the next one that comes does. A breaker that is closed or already
// waits for its probe stays as it is.
func (m *Machine[K]) Probe(now int64, runKey string) *Step[K] {
	return m.operate(now, m.config.Breaker.PerKey, runKey, func(h *Health, _ *probing[K]) { h.OpenUntil = min(h.OpenUntil, now) })
}

// Close closes the breaker and forgets the failures that it counted. A running probe
// becomes an ordinary attempt.
func (m *Machine[K]) Close(now int64, runKey string) *Step[K] {
	return m.operate(now, m.config.Breaker.PerKey, runKey, func(h *Health, p *probing[K]) {
		h.Failures, h.OpenUntil, p.passing = 0, 0, nil
		m.noProbe(p)
	})
}

// Refill sets the budget to its full number of tokens.
func (m *Machine[K]) Refill(now int64, runKey string) *Step[K] {
	return m.operate(now, m.config.Budget.PerKey, runKey, func(h *Health, _ *probing[K]) { h.Spent = 0 })
}

func (m *Machine[K]) operate(now int64, perKey bool, runKey string, change func(*Health, *probing[K])) *Step[K] {
	m.begin(now)
	if !perKey {
		change(&m.record.Health, &m.probing)
		return m.finish(now)
	}
	keys := m.line.turns.All()
	if runKey != "" {
		keys = slices.DeleteFunc(keys, func(k *fair.Key[share[K]]) bool { return k.Name != runKey })
	}
	for _, k := range keys {
		change(&k.State.record.Health, &k.State.probing)
		m.learned(k, true)
	}
	return m.finish(now)
}

// BoundKey gives a run key bounds of its own, or nil for those of the spec. A lower limit takes
// effect as slots are given back. Invalid bounds change nothing.
func (m *Machine[K]) BoundKey(now int64, runKey string, own *spec.PerKey) (*Step[K], error) {
	if own != nil {
		is := m.config
		is.PerKey = *own
		if err := check(is); err != nil {
			return nil, err
		}
	}
	m.begin(now)
	k := m.line.turns.Key(runKey, 0)
	m.touchShare(k)
	m.setOwn(k, own)
	m.setRate(k, reach(k.State.record.RateAt, m.bounds(k).Rate, now))
	return m.finish(now), nil
}

// OwnBounds returns the bounds of those run keys that have their own.
func (m *Machine[K]) OwnBounds() map[string]spec.PerKey {
	if m.line.owning == 0 {
		return nil
	}
	all := map[string]spec.PerKey{}
	for _, k := range m.line.turns.All() {
		if own := k.State.record.Own; own != nil {
			all[k.Name] = *own
		}
	}
	return all
}

// noProbe makes a breaker wait for no attempt.
func (m *Machine[K]) noProbe(p *probing[K]) {
	if p.probe != nil {
		p.probe.Probe = false
		m.touch(p.probe)
		p.probe = nil
	}
}
