package gates

import (
	"slices"

	"github.com/perdure/perdure/retry"
)

// admit grants everything that may start now. What blocks the rest is either another
// ticket, whose end is an input, or time. In the latter case m.blocked is the time until
// which they are blocked.
func (m *Machine[K]) admit(now int64) {
	m.blocked = 0
	for !m.record.Paused && m.line.count+m.due.len() > 0 {
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
		return m.nextProbe()
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
	if holder != nil && m.due.items[0].before(&k.State.queue.items[0]) {
		return holder
	}
	return first
}

// holder returns the first ticket in line that has a slot. One whose key has started too many
// lately is set aside for as long.
func (m *Machine[K]) holder() *entry[K] {
	for {
		e := m.due.top()
		if e == nil || m.startAt(e.share) <= m.now {
			return e
		}
		m.due.pop()
		m.backoffs.push(e, m.startAt(e.share), 0)
	}
}

// nextProbe returns the ticket whose attempt is the next probe. Tickets take turns, so that a
// call that always fails does not keep the breaker open for the others: those that were never
// a probe in vain go first, in line, and then the one that was for the longest time not. A
// call that a failure would end is a probe only if there is no other. Work of whose end the gate
// learns nothing cannot be one: where nothing else waits it passes, one at a time, and the
// breaker waits for the next attempt.
func (m *Machine[K]) nextProbe() *entry[K] {
	var best *item[K]
	look := func(q *queue[K]) {
		for i := range q.items {
			if it := &q.items[i]; !it.isStale() && m.startAt(it.entry.share) <= m.now && (best == nil || it.probesBefore(best)) {
				best = it
			}
		}
	}
	look(&m.due)
	if m.holders < m.config.Limit {
		for _, k := range m.line.turns.All() {
			if m.may(k) {
				look(&k.State.queue)
			}
		}
	}
	if best == nil || best.entry.Silent && m.passing != nil {
		return nil
	}
	return best.entry
}

func (i *item[K]) probesBefore(j *item[K]) bool {
	a, b := i.entry, j.entry
	switch {
	case a.Silent != b.Silent:
		return b.Silent
	case a.Once != b.Once:
		return b.Once
	case a.Probed != b.Probed:
		return a.Probed < b.Probed
	}
	return i.before(j)
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
	switch {
	case m.record.OpenUntil == 0:
	case e.Silent:
		m.passing = e
	default:
		e.Probe, m.probe = true, e
	}
	m.step.Granted = append(m.step.Granted, Grant[K]{Key: e.Key, Attempt: e.Attempt, Returns: e.Returns, Probe: e.Probe && m.config.Breaker.Wait, Waited: max(now-e.Since, 0)})
	e.Phase, e.Since = Running, now
	m.takeRate(e, now)
	m.look(e.share)
	m.touch(e)
}

// passed notes that a ticket holds no slot any more.
func (m *Machine[K]) passed(e *entry[K]) {
	if m.passing == e {
		m.passing = nil
	}
}

// refuse ends a ticket without an attempt.
func (m *Machine[K]) refuse(e *entry[K], reason retry.Reason) {
	m.step.Refused = append(m.step.Refused, Refusal[K]{Key: e.Key, Attempt: e.Attempt, Reason: reason})
	m.remove(e)
}

// refuseAll refuses all waiting tickets because the breaker is open.
func (m *Machine[K]) refuseAll() {
	var all []item[K]
	take := func(q *queue[K]) {
		for _, i := range q.items {
			if !i.isStale() {
				all = append(all, i)
			}
		}
	}
	for _, k := range m.line.turns.All() {
		take(&k.State.queue)
	}
	slices.SortFunc(all, func(a, b item[K]) int {
		if a.before(&b) {
			return -1
		}
		return 1
	})
	for e := m.holder(); e != nil; e = m.holder() {
		m.refuse(e, retry.ReasonBreaker)
	}
	for _, i := range all {
		m.refuse(i.entry, retry.ReasonBreaker)
	}
}
