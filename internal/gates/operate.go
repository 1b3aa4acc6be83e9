package gates

// What a person does to a gate, beside pausing it.

// Probe ends the cooldown of an open breaker: the first ticket in line starts now, as the
// probe. If none waits, the next one that comes does. A breaker that is closed, or waits
// for its probe already, stays as it is.
func (m *Machine[K]) Probe(now int64) *Step[K] {
	m.begin(now)
	m.record.OpenUntil = min(m.record.OpenUntil, now)
	return m.finish(now)
}

// Close closes the breaker and forgets the failures that it counts. A probe that runs is
// an attempt as others are.
func (m *Machine[K]) Close(now int64) *Step[K] {
	m.begin(now)
	m.record.Failures, m.record.OpenUntil = 0, 0
	m.noProbe()
	return m.finish(now)
}

// Refill gives the budget all its tokens.
func (m *Machine[K]) Refill(now int64) *Step[K] {
	m.begin(now)
	m.record.Spent = 0
	return m.finish(now)
}

// noProbe lets the breaker wait for the outcome of no attempt.
func (m *Machine[K]) noProbe() {
	if m.probe != nil {
		m.probe.Probe = false
		m.touch(m.probe)
		m.probe = nil
	}
}
