package gates

import "github.com/perdure/perdure/retry"

// admit grants everything that may start now. What blocks the rest is either another
// ticket, whose end is an input, or time. In the latter case m.blocked is the time until
// which they are blocked.
func (m *Machine[K]) admit(now int64) {
	m.blocked = 0
	for !m.record.Paused && m.queue.len()+m.due.len() > 0 {
		if m.shut(now) {
			if !m.config.Breaker.Wait {
				m.refuseAll()
			} else if now < m.record.OpenUntil {
				m.blocked = m.record.OpenUntil
			}
			return
		}
		e := m.candidate()
		if e == nil {
			return
		}
		if at := m.rateAt(now); at > now {
			m.blocked = at
			return
		}
		m.grant(e, now)
	}
}

// candidate returns the first ticket in line that has a slot or can get one.
func (m *Machine[K]) candidate() *entry[K] {
	holder := m.due.top()
	if m.holders >= m.config.Limit {
		return holder
	}
	first := m.queue.top()
	if first == nil || holder != nil && m.due.items[0].before(&m.queue.items[0]) {
		return holder
	}
	return first
}

// grant starts the first attempt of its queue.
func (m *Machine[K]) grant(e *entry[K], now int64) {
	e.home.pop()
	if !e.Slot {
		e.Slot = true
		m.holders++
	}
	m.step.Granted = append(m.step.Granted, Grant[K]{Key: e.Key, Attempt: e.Attempt, Returns: e.Returns, Waited: max(now-e.Since, 0)})
	e.Phase, e.Since = Running, now
	if m.record.OpenUntil != 0 {
		e.Probe, m.probe = true, e
	}
	m.takeRate(e, now)
	m.touch(e)
}

// refuse ends a ticket without an attempt.
func (m *Machine[K]) refuse(e *entry[K], reason retry.Reason) {
	m.step.Refused = append(m.step.Refused, Refusal[K]{Key: e.Key, Attempt: e.Attempt, Reason: reason})
	m.remove(e)
}

// refuseAll refuses all waiting tickets because the breaker is open.
func (m *Machine[K]) refuseAll() {
	for _, q := range []*queue[K]{&m.due, &m.queue} {
		for e := q.top(); e != nil; e = q.top() {
			m.refuse(e, retry.ReasonBreaker)
		}
	}
}
