package gates

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/perdure/perdure/gate/spec"
)

// Ticket returns the record of a ticket, or false if there is none.
func (m *Machine[K]) Ticket(key K) (Ticket[K], bool) {
	if e := m.tickets[key]; e != nil {
		return e.Ticket, true
	}
	return Ticket[K]{}, false
}

// Record returns the state of the gate besides its tickets.
func (m *Machine[K]) Record() Record { return m.record }

// Forgettable reports whether a new machine would behave the same from now on: there is no
// ticket, and no state is left of earlier ones.
func (m *Machine[K]) Forgettable(now int64) bool {
	r := m.record
	return len(m.tickets) == 0 && !r.Paused && r.RateAt <= now && r.Spent == 0 && r.Failures == 0 && r.OpenUntil == 0 && len(m.line.fading.Heap) == 0 && m.line.owning == 0
}

// Tickets returns all tickets, ordered by number.
func (m *Machine[K]) Tickets() []Ticket[K] {
	all := make([]Ticket[K], 0, len(m.tickets))
	for _, e := range m.tickets {
		all = append(all, e.Ticket)
	}
	slices.SortFunc(all, func(a, b Ticket[K]) int { return cmp.Compare(a.Number, b.Number) })
	return all
}

// Restore returns the gate with this record and these tickets, which may be in any order, and with
// the records of run keys. It grants nothing by itself: call Tick.
func Restore[K comparable](c spec.Spec, r Record, tickets []Ticket[K], shares map[string]ShareRecord) (*Machine[K], error) {
	m, err := New[K](c)
	if err != nil {
		return nil, err
	}
	m.record = r
	for _, runKey := range slices.Sorted(maps.Keys(shares)) {
		k := m.line.turns.Key(runKey, 0)
		m.setOwn(k, shares[runKey].Own)
		k.State.record.Health, k.State.record.Until = shares[runKey].Health, shares[runKey].Until
		m.setRate(k, shares[runKey].RateAt)
	}
	sorted := slices.Clone(tickets)
	slices.SortFunc(sorted, func(a, b Ticket[K]) int { return cmp.Compare(a.Number, b.Number) })
	for i, t := range sorted {
		if m.tickets[t.Key] != nil {
			return nil, fmt.Errorf("two tickets have the key %v", t.Key)
		}
		if i > 0 && sorted[i-1].Number == t.Number {
			return nil, fmt.Errorf("the tickets %v and %v have the same number, %d", sorted[i-1].Key, t.Key, t.Number)
		}
		if err := m.restore(t); err != nil {
			return nil, fmt.Errorf("ticket %v: %w", t.Key, err)
		}
	}
	m.fit()
	return m, nil
}

// restore adds one ticket.
func (m *Machine[K]) restore(t Ticket[K]) error {
	e := &entry[K]{Ticket: t}
	m.join(e)
	_, p := m.breaker(e.share)
	switch {
	case t.Phase == Running && !t.Slot:
		return fmt.Errorf("it runs without a slot")
	case t.Phase == StandingBy && t.Slot:
		return fmt.Errorf("it stands by and has a slot")
	case t.Probe && (t.Phase != Running || p.probe != nil):
		return fmt.Errorf("it is a probe that does not run, or not the only one")
	case t.Phase == Running, t.Phase == StandingBy:
	case t.Phase == Waiting:
		m.queue(e)
	case t.Phase == BackingOff:
		m.rest(e)
	default:
		return fmt.Errorf("its phase is %q; allowed is waiting, running, backoff or standby", t.Phase)
	}
	m.tickets[t.Key] = e
	m.record.Number = max(m.record.Number, t.Number)
	if t.Slot {
		m.holders++
		e.share.State.holders++
	}
	if t.Probe {
		p.probe = e
	}
	m.look(e.share)
	return nil
}
