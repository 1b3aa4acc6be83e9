package core

import (
	"cmp"
	"slices"

	"github.com/perdure/perdure/internal/history"
)

// mailbox holds the signals of one name and the calls that await one. It never has both
// values and waiting calls.
type mailbox struct {
	arrivals int64    // number of signals received so far
	values   []signal // in order of arrival
	waiting  []*Call
}

// signal is the value of a signal and its number among those of its name, from 1.
type signal struct {
	value   history.Payload
	arrival int64
}

func (s *signals) mailbox(name string) *mailbox {
	m := s.byName[name]
	if m == nil {
		m = &mailbox{}
		if s.byName == nil {
			s.byName = map[string]*mailbox{}
		}
		s.byName[name] = m
	}
	return m
}

// awaits reports whether a call waits for a signal of this name. Then none is unread.
func (s *signals) awaits(name string) bool {
	m := s.byName[name]
	return m != nil && len(m.waiting) > 0
}

// awaited returns the names of the signals that calls wait for.
func (s *signals) awaited() (names []string) {
	for name := range s.byName {
		if s.awaits(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// apply adds a signal that is on record.
func (s *signals) apply(e *history.Event) {
	s.ids.add(signalKey(e.Name, e.ID), s.journal.now)
	s.push(e.Name, e.Input)
}

// push adds a new signal.
func (s *signals) push(name string, v history.Payload) {
	m := s.mailbox(name)
	m.arrivals++
	s.deliver(m, signal{v, m.arrivals})
}

// await hands the first signal to a call, or lets it wait.
func (s *signals) await(c *Call) {
	m := s.mailbox(c.Name)
	if len(m.values) == 0 {
		m.waiting = append(m.waiting, c)
		return
	}
	first := m.values[0]
	m.values = m.values[1:]
	s.backlog--
	c.Result, c.arrival = first.value, first.arrival
	s.attempts.close(c)
}

func (s *signals) withdraw(c *Call) {
	m := s.mailbox(c.Name)
	m.waiting = slices.DeleteFunc(m.waiting, func(w *Call) bool { return w == c })
}

// deliver hands a signal to the first waiting call, or keeps it.
func (s *signals) deliver(m *mailbox, v signal) {
	if len(m.waiting) == 0 {
		s.insert(m, v)
		return
	}
	c := m.waiting[0]
	m.waiting = m.waiting[1:]
	c.Result, c.arrival = v.value, v.arrival
	s.unread = append(s.unread, c)
	s.attempts.close(c)
}

// insert inserts a signal among those not received yet, in the order of arrival.
func (s *signals) insert(m *mailbox, v signal) {
	s.backlog++
	at, _ := slices.BinarySearchFunc(m.values, v.arrival, func(have signal, arrival int64) int { return cmp.Compare(have.arrival, arrival) })
	m.values = slices.Insert(m.values, at, v)
}

// full reports whether senders must send the run no more signals, except for those that it
// waits for: it has MaxBacklog unread ones, or maxYoung came with IDs within KeepKeys. A full
// run stays full until it has read a fifth of the limit, so that its row does not change with
// each signal.
func (s *signals) full(was bool) bool {
	return reached(s.backlog, s.journal.config.MaxBacklog, was) || reached(s.ids.young(s.journal.now), maxYoung, was)
}

// reached reports whether n is at the limit or, if it was before, has not yet dropped by a
// fifth of it. A limit of 0 means no limit.
func reached(n, limit int, was bool) bool {
	return limit > 0 && (n >= limit || was && n > limit-limit/5)
}

// roomAt returns when enough IDs are old that the run is no longer full of them, or Never
// if it is not full of them.
func (s *signals) roomAt(was bool) int64 {
	if !reached(s.ids.young(s.journal.now), maxYoung, was) {
		return Never
	}
	return s.ids.order[len(s.ids.order)-1-(maxYoung-maxYoung/5)].at + int64(KeepKeys)
}
