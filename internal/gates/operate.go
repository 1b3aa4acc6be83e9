package gates

import "github.com/perdure/perdure/gate/spec"

// Operations on a gate besides pausing it.

// Probe ends the cooldown of an open breaker. The first ticket in line starts now as the
// probe; if none waits, the next one that comes does. A breaker that is closed or already
// waits for its probe stays as it is.
func (m *Machine[K]) Probe(now int64) *Step[K] {
	m.begin(now)
	m.record.OpenUntil = min(m.record.OpenUntil, now)
	return m.finish(now)
}

// Close closes the breaker and forgets the failures that it counted. A running probe
// becomes an ordinary attempt.
func (m *Machine[K]) Close(now int64) *Step[K] {
	m.begin(now)
	m.record.Failures, m.record.OpenUntil = 0, 0
	m.noProbe()
	return m.finish(now)
}

// Refill sets the budget to its full number of tokens.
func (m *Machine[K]) Refill(now int64) *Step[K] {
	m.begin(now)
	m.record.Spent = 0
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

// noProbe makes the breaker wait for no attempt.
func (m *Machine[K]) noProbe() {
	if m.probe != nil {
		m.probe.Probe = false
		m.touch(m.probe)
		m.probe = nil
	}
}
