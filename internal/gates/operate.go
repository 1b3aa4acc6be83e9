package gates

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

// noProbe makes the breaker wait for no attempt.
func (m *Machine[K]) noProbe() {
	if m.probe != nil {
		m.probe.Probe = false
		m.touch(m.probe)
		m.probe = nil
	}
}
