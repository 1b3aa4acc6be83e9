package gates

import (
	"slices"

	"github.com/perdure/perdure/internal/fair"
	"github.com/perdure/perdure/retry"
)

// admit grants everything that may start now. What blocks the rest is either another
// ticket, whose end is an input, or time. In the latter case m.blocked is the time until
// which they are blocked.
func (m *Machine[K]) admit(now int64) {
	m.blocked = 0
	for !m.record.Paused && m.line.count+len(m.due.Heap)+len(m.barred) > 0 {
		if m.refuseBarred(); m.shut(now) {
			if !m.config.Breaker.Wait {
				m.refuseAll(nil)
			} else if now < m.record.OpenUntil {
				m.blocked = m.record.OpenUntil
			}
			return
		}
		e := m.candidate()
		if e == nil {
			return
		}
		if at := startAt(m.record.RateAt, m.config.Rate); at > now {
			m.blocked = at
			return
		}
		m.grant(e, now)
	}
}

// candidate returns the first ticket in line that has a slot or can get one. While the
// breaker is open that is the next probe.
func (m *Machine[K]) candidate() *entry[K] {
	if m.record.OpenUntil != 0 {
		return m.nextProbe(nil)
	}
	holder := m.holder()
	if m.holders >= m.config.Limit {
		return holder
	}
	k := m.line.turns.Next()
	if k == nil {
		return holder
	}
	first := k.State.queue.top()
	if holder != nil && m.due.Heap[0].Before(first) { // a probe takes the turn of the first
		return holder
	}
	if m.halfOpen(k) {
		return m.nextProbe(k)
	}
	return first
}

// holder returns the first ticket in line that has a slot, or what its key has for a probe. One
// whose key may not start anything now is set aside for as long.
func (m *Machine[K]) holder() *entry[K] {
	for {
		e := m.due.top()
		switch {
		case e == nil:
			return nil
		case m.opensAt(e.share) > m.now:
			m.setAside(e)
			m.look(e.share)
		case !m.halfOpen(e.share):
			return e
		default:
			if probe := m.nextProbe(e.share); probe != nil {
				return probe
			}
			m.setAside(e)
		}
	}
}

// nextProbe returns the ticket whose attempt is the next probe. Tickets take turns, so that a
// call that always fails does not keep the breaker open for the others: those that were never
// a probe in vain go first, in line, and then the one that was for the longest time not. A
// call that a failure would end is a probe only if there is no other. Work of whose end the gate
// learns nothing cannot be one: where nothing else waits it passes, one at a time, and the
// breaker waits for the next attempt. It is that of one key, or nil for that of all.
func (m *Machine[K]) nextProbe(of *fair.Key[share[K]]) *entry[K] {
	var best *entry[K]
	look := func(q *queue[K]) {
		for _, e := range q.Heap {
			if (of == nil || e.share == of) && m.startAt(e.share) <= m.now && (best == nil || e.probesBefore(best)) {
				best = e
			}
		}
	}
	look(&m.due)
	if m.holders < m.config.Limit {
		for _, k := range m.these(of) {
			if m.hasRoom(k) {
				look(&k.State.queue)
			}
		}
	}
	if best == nil {
		return nil
	}
	if _, p := m.breaker(best.share); best.Silent && p.passing != nil {
		return nil
	}
	return best
}

func (a *entry[K]) probesBefore(b *entry[K]) bool {
	switch {
	case a.Silent != b.Silent:
		return b.Silent
	case a.Once != b.Once:
		return b.Once
	case a.Probed != b.Probed:
		return a.Probed < b.Probed
	}
	return a.Before(b)
}

// grant starts an attempt that waits.
func (m *Machine[K]) grant(e *entry[K], now int64) {
	m.unqueue(e)
	if !e.Slot {
		e.Slot = true
		m.holders++
		e.share.State.holders++
		m.line.turns.Served(e.share)
	}
	switch h, p := m.breaker(e.share); {
	case h.OpenUntil == 0:
	case e.Silent:
		p.passing = e
	default:
		e.Probe, p.probe = true, e
	}
	m.step.Granted = append(m.step.Granted, Grant[K]{Key: e.Key, Attempt: e.Attempt, Returns: e.Returns, Probe: e.Probe && m.config.Breaker.Wait})
	e.Phase, e.Since = Running, now
	m.takeRate(e, now)
	m.look(e.share)
	m.touch(e)
}

// refuse ends a ticket without an attempt.
func (m *Machine[K]) refuse(e *entry[K], reason retry.Reason) {
	m.step.Refused = append(m.step.Refused, Refusal[K]{Key: e.Key, Attempt: e.Attempt, Reason: reason})
	m.remove(e)
}

// refuseBarred refuses what waits of the keys whose own breaker refuses it.
func (m *Machine[K]) refuseBarred() {
	for len(m.barred) > 0 {
		last := len(m.barred) - 1
		k := m.barred[last]
		m.barred[last], m.barred = nil, m.barred[:last]
		if k.State.barred = false; m.refuses(k) {
			m.refuseAll(k)
		}
	}
}

// refuseAll refuses the waiting tickets because the breaker is open: those of one key, or of all if
// it is nil. Tickets with a slot come first.
func (m *Machine[K]) refuseAll(of *fair.Key[share[K]]) {
	var held, line []*entry[K]
	take := func(all *[]*entry[K], q *queue[K]) {
		for _, e := range q.Heap {
			if of == nil || e.share == of {
				*all = append(*all, e)
			}
		}
	}
	take(&held, &m.due)
	for _, k := range m.these(of) {
		take(&held, &k.State.aside)
		take(&line, &k.State.queue)
	}
	for _, all := range [][]*entry[K]{held, line} {
		slices.SortFunc(all, (*entry[K]).compare)
		for _, e := range all {
			m.refuse(e, retry.ReasonBreaker)
		}
	}
}
