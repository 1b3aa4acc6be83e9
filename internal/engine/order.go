package engine

import (
	"cmp"
	"slices"

	"github.com/perdure/perdure/internal/core"
)

// A request is durable from the moment at which the database took it, whether a process serves
// its run then or not. Two things make sure that what comes due later comes later: a run hears
// what the inbox has before it takes a turn in which something comes due, or its first turn
// since its partition was taken; and its machine takes the mail and what is due in the order
// of their moments (see package core).

// inOrder sorts mail by moment. Messages of the inbox keep the order of their numbers, whatever
// the clock of the database showed. A claim comes first: decisions about its call must know that
// the attempt is running.
func inOrder(all []mail) {
	if len(all) < 2 {
		return
	}
	latest := int64(0)
	for i := range all {
		if m := &all[i]; m.sequence != 0 && !isClaim(m) {
			latest = max(latest, m.at)
			m.at = latest
		}
	}
	slices.SortStableFunc(all, func(a, b mail) int { return cmp.Compare(a.at, b.at) })
}

func isClaim(m *mail) bool {
	_, is := m.input.(core.Claimed)
	return is
}

// timed returns the input of mail with its moment.
func timed(m *mail) core.Input {
	switch m.input.(type) {
	case nil, core.AttemptEnded, core.Heartbeat, core.Claimed:
		return m.input
	}
	if m.sequence == 0 {
		return m.input
	}
	return core.Timed{Input: m.input, At: m.at}
}

// firstOf returns the earliest moment of the mail, 0 if there is none.
func firstOf(all []mail) (at int64) {
	for i := range all {
		if m := &all[i]; m.at != 0 && (at == 0 || m.at < at) {
			at = m.at
		}
	}
	return at
}

// stamp gives mail that did not come by the inbox its moment. The engine's mu is held.
func (e *Engine) stamp(m *mail) {
	if m.at != 0 || isClaim(m) {
		return
	}
	switch in := m.input.(type) {
	case core.AttemptEnded:
		m.at = in.Ended
	case core.Heartbeat:
		m.at = in.At
	default:
		m.at = e.clock.Now()
	}
}

// hearFirst delivers the messages that a resident has to hear before its next turn, and
// completes the mail of that turn.
func (e *Engine) hearFirst(r *resident, t *turn) error {
	if t.heard {
		return nil // the usual case
	}
	if due := r.machine().NextDue(); due <= e.clock.Now() && !e.heardSince(r.partition, due) {
		if err := e.hearSince(r.partition, r.stepper.workflowID(), due); err != nil {
			return err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(r.mail) > 0 {
		r.mail = slices.Concat(t.mail, r.mail)
		t.mail = e.takeMail(r)
	}
	e.complete(r, t, e.clock.Now())
	return nil
}

// complete completes the mail of a turn at a time at which nothing is due that was not heard before.
// The engine's mu is held.
func (e *Engine) complete(r *resident, t *turn, now int64) {
	t.heard, t.now, t.more = true, now, firstOf(r.mail)
	r.stepper.takeDeferred(t)
}
