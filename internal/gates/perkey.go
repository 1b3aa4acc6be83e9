package gates

import (
	"cmp"
	"slices"
	"time"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/fair"
)

// A breaker and a budget are those of the gate, or each run key has its own. Then what they
// remember stands in the record of the key, and a key whose breaker is open takes no turns.

// keepHealth is how long a key is remembered whose breaker or budget remembers something, and of
// which nothing is heard: such keys would become more and more.
const keepHealth = time.Hour

// probing is what an open breaker waits for.
type probing[K comparable] struct {
	probe   *entry[K] // whose outcome decides
	passing *entry[K] // of which the gate learns none, and that has passed while it was half-open
}

// shut reports whether a breaker lets no attempt pass.
func (p *probing[K]) shut(h Health, now int64) bool {
	return h.OpenUntil != 0 && (now < h.OpenUntil || p.probe != nil)
}

// breaker returns the breaker that is asked about the tickets of a key.
func (m *Machine[K]) breaker(k *fair.Key[share[K]]) (*Health, *probing[K]) {
	if m.config.Breaker.PerKey {
		return &k.State.record.Health, &k.State.probing
	}
	return &m.record.Health, &m.probing
}

// these returns one key, or all if it is nil.
func (m *Machine[K]) these(of *fair.Key[share[K]]) []*fair.Key[share[K]] {
	if of == nil {
		return m.line.turns.All()
	}
	return []*fair.Key[share[K]]{of}
}

// opensAt returns when the rate and the own breaker of a key let its next attempt start; perhaps in
// the past. It is Never if that takes the end of another attempt.
func (m *Machine[K]) opensAt(k *fair.Key[share[K]]) int64 {
	s, at := &k.State, m.startAt(k)
	switch {
	case !m.config.Breaker.PerKey || s.record.OpenUntil == 0:
		return at
	case s.probe != nil || s.passing != nil && !m.loud(k):
		return Never
	}
	return max(at, s.record.OpenUntil)
}

// halfOpen reports whether the next attempt of a key, which may start, is the probe of its own breaker.
func (m *Machine[K]) halfOpen(k *fair.Key[share[K]]) bool {
	return m.config.Breaker.PerKey && k.State.record.OpenUntil != 0
}

// refuses reports whether the own breaker of a key refuses what waits.
func (m *Machine[K]) refuses(k *fair.Key[share[K]]) bool {
	return m.config.Breaker.PerKey && !m.config.Breaker.Wait && k.State.waiting > 0 && k.State.probing.shut(k.State.record.Health, m.now)
}

// loud reports whether an attempt of a key waits of whose end the gate learns.
func (m *Machine[K]) loud(k *fair.Key[share[K]]) bool {
	for _, q := range []*queue[K]{&m.due, &k.State.aside, &k.State.queue} {
		if slices.ContainsFunc(q.Heap, func(e *entry[K]) bool { return e.share == k && !e.Silent }) {
			return true
		}
	}
	return false
}

// setAside takes the first ticket with a slot out of the line until its key may start something.
func (m *Machine[K]) setAside(e *entry[K]) {
	m.due.leave(e)
	e.share.State.aside.push(e, e.rank, e.came)
}

// forgo notes that a breaker learns nothing of an attempt for which it waits.
func (m *Machine[K]) forgo(e *entry[K]) {
	_, p := m.breaker(e.share)
	if p.passing == e {
		p.passing = nil
	}
	if p.probe == e {
		p.probe, e.Probe = nil, false
	}
}

// learned sets for how long a key is remembered, after its own breaker or budget has learned something.
func (m *Machine[K]) learned(k *fair.Key[share[K]], own bool) {
	if !own {
		return
	}
	r := &k.State.record
	if r.Health != (Health{}) || r.Until != 0 {
		m.remember(k)
		m.touchShare(k)
	}
	m.look(k)
}

// remember sets until when the health of a key is remembered.
func (m *Machine[K]) remember(k *fair.Key[share[K]]) {
	r := &k.State.record
	if r.Until = 0; r.Health != (Health{}) {
		r.Until = max(m.now, r.OpenUntil) + int64(keepHealth)
	}
	m.fade(k)
}

// fade sets when something of the record of a key can be forgotten.
func (m *Machine[K]) fade(k *fair.Key[share[K]]) {
	s := &k.State
	s.fading = m.line.fading.set(s.fading, k, cmp.Or(s.record.RateAt, s.record.Until))
}

// forget drops what is at rest in the record of a key.
func (m *Machine[K]) forget(k *fair.Key[share[K]]) {
	s := &k.State
	if s.record.RateAt <= m.now {
		s.record.RateAt = 0
	}
	if s.record.Until != 0 && s.record.Until <= m.now {
		if s.tickets == 0 {
			s.record.Health = Health{}
		}
		m.remember(k)
	}
	m.touchShare(k)
	m.fade(k)
	m.look(k)
}

// KeyHealth is what the own breaker and budget of a run key are at a moment.
type KeyHealth struct {
	Key string
	Health
	Breaker spec.BreakerState // NoBreaker if all keys have the same
	Probing bool
	Tokens  float64 // left in the budget
}

// KeyHealths returns the run keys whose own breaker or budget remembers something, by age.
func (m *Machine[K]) KeyHealths(now int64) (all []KeyHealth) {
	if !m.config.Breaker.PerKey && !m.config.Budget.PerKey {
		return nil
	}
	for _, k := range m.line.turns.All() {
		h := k.State.record.Health
		if h == (Health{}) {
			continue
		}
		key := KeyHealth{Key: k.Name, Health: h, Probing: k.State.probe != nil, Tokens: float64(capacity(m.config.Budget)-h.Spent) / 1000}
		if m.config.Breaker.PerKey {
			key.Breaker = breakerState(h, now)
		}
		all = append(all, key)
	}
	return all
}
