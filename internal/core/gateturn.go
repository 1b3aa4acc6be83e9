package core

import (
	"slices"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/internal/history"
)

// apply sends the grants and refusals that follow from one input.
func (g *Gate) apply(s *gates.Step[TicketKey]) {
	g.touched = append(g.touched, s.Changed...)
	g.changed = append(g.changed, s.Shares...)
	for _, granted := range s.Granted {
		g.send(FromGate{Word: GateGranted, Ticket: granted.Key, Attempt: granted.Attempt, Returns: granted.Returns, Probe: granted.Probe})
		if g.detail.Check == 0 || g.detail.Unused != 0 {
			g.detail.Check, g.detail.Unused = g.now+int64(checkEvery), 0
		}
	}
	for _, refused := range s.Refused {
		g.send(FromGate{Word: GateRefused, Ticket: refused.Key, Attempt: refused.Attempt, Reason: refused.Reason})
	}
}

func (g *Gate) send(m FromGate) {
	m.Gate = g.name
	g.out.Say = append(g.out.Say, m)
}

// remindHolders reminds long-time holders that they hold the gate, and notes whether any call
// uses the gate.
func (g *Gate) remindHolders() {
	if g.detail.Check == 0 || g.now < g.detail.Check {
		return
	}
	g.detail.Check = 0
	for _, t := range g.machine.Tickets() {
		if t.Phase != gates.Running {
			continue
		}
		g.detail.Check = g.now + int64(checkEvery)
		if g.now-t.Since >= int64(checkEvery) {
			g.send(FromGate{Word: GateGranted, Ticket: t.Key, Attempt: t.Attempt, Returns: t.Returns, Probe: t.Probe && g.detail.Spec.Breaker.Wait})
		}
	}
	if g.detail.Check == 0 {
		g.noteUnused()
	}
}

// noteUnused notes that no call holds the gate. The gate is forgotten after forgetAfter of
// disuse if a new gate would behave the same: no pause, no edit, its budget full, and no
// failure that its breaker counts.
func (g *Gate) noteUnused() {
	since := g.detail.Unused
	switch {
	case !g.machine.Forgettable(g.now), g.detail.Edited != nil:
		since = g.now // check again later
	case since == 0:
		since = g.now
	case g.now-since >= int64(forgetAfter):
		g.out.Over = true
		return
	}
	g.detail.Unused, g.detail.Check = since, since+int64(forgetAfter)
}

var ticketStates = map[gates.Phase]CallState{
	gates.Waiting:    TicketWaiting,
	gates.Running:    TicketHolding,
	gates.BackingOff: TicketResting,
	gates.StandingBy: TicketResting,
}

// writeRows turns the changed tickets into rows to write or delete.
func (g *Gate) writeRows() {
	written := make(map[TicketKey]bool, len(g.touched))
	for _, key := range g.touched {
		if written[key] {
			continue
		}
		written[key] = true
		number, has := g.rows[key]
		t, exists := g.machine.Ticket(key)
		switch {
		case exists:
			if !has {
				g.lastRow++
				number = g.lastRow
				g.rows[key] = number
			}
			data, _ := history.Seal(t) // strings and numbers only: cannot fail
			g.out.Rows = append(g.out.Rows, Row{
				Call: number, State: ticketStates[t.Phase], Name: key.Run, Attempt: t.Attempt, Due: t.Until, Data: data,
			})
		case has:
			delete(g.rows, key)
			g.out.Closed = append(g.out.Closed, number)
		}
	}
	g.touched = g.touched[:0]
	for _, runKey := range slices.Compact(slices.Sorted(slices.Values(g.changed))) {
		g.writeShare(runKey, g.machine.Share(runKey))
	}
	g.changed = g.changed[:0]
}

// writeShare writes or deletes the row of a run key, and reports what became of its breaker.
func (g *Gate) writeShare(runKey string, r gates.ShareRecord) {
	row, has := g.shares[runKey]
	if r.OpenUntil != row.openUntil {
		g.out.Breakers = append(g.out.Breakers, KeyBreaker{Key: runKey, Was: row.openUntil, Until: r.OpenUntil, Failures: r.Failures})
	}
	switch {
	case r != gates.ShareRecord{}:
		if !has {
			g.lastRow++
			row.number = g.lastRow
		}
		row.openUntil = r.OpenUntil
		g.shares[runKey] = row
		state := GateShare
		if r.OpenUntil != 0 {
			state = GateTripped
		}
		data, _ := history.Seal(r) // numbers only: cannot fail
		g.out.Rows = append(g.out.Rows, Row{Call: row.number, State: state, Name: runKey, Data: data})
	case has:
		delete(g.shares, runKey)
		g.out.Closed = append(g.out.Closed, row.number)
	}
}

// NextDue returns when the gate must be stepped if no message comes, or Never.
func (g *Gate) NextDue() int64 {
	if g.machine == nil {
		return Never
	}
	at := Never
	if next, ok := g.machine.Next(); ok {
		at = next
	}
	if g.detail.Check != 0 {
		at = min(at, g.detail.Check)
	}
	return at
}

// Name is the gate's name.
func (g *Gate) Name() string { return g.name }

// Detail returns what the gate does and what it remembers besides its tickets.
func (g *Gate) Detail() GateDetail { return g.detail }

// Stats counts the tickets at the gate.
func (g *Gate) Stats(now int64) gates.Stats { return g.machine.Stats(now) }

// KeyHealths returns the run keys whose own breaker or budget remembers something.
func (g *Gate) KeyHealths(now int64) []gates.KeyHealth { return g.machine.KeyHealths(now) }

// OwnBounds returns the bounds of those run keys that have their own.
func (g *Gate) OwnBounds() map[string]spec.PerKey { return g.machine.OwnBounds() }

// Tickets returns the tickets at the gate, ordered by number.
func (g *Gate) Tickets() []gates.Ticket[TicketKey] { return g.machine.Tickets() }

// AwaitsMessage returns true: a message may come soon, however far off the next due time
// is.
func (g *Gate) AwaitsMessage() bool { return true }
