package sim

import (
	"maps"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/store"
)

// fuses is what the model knows of the breakers that run keys have at a gate: while one is open, no
// attempt of its key is let in, and then one at a time is let in to try.
type fuses struct {
	open    map[string]int64 // until when, by run key
	shares  map[int64]string // rows of run keys
	tickets map[int64]gates.Ticket[core.TicketKey]
}

func newFuses() *fuses {
	return &fuses{open: map[string]int64{}, shares: map[int64]string{}, tickets: map[int64]gates.Ticket[core.TicketKey]{}}
}

// fuse holds a turn of a gate against what was on record before it.
func (m *model) fuse(t *store.Turn) {
	if entity.KindOf(t.Run) != entity.Gate || entity.NameOf(t.Run) != narrow.Name() { // the line of runs is a gate, too
		return
	}
	f := m.fuses
	before := maps.Clone(f.open)
	for _, row := range t.Closed {
		delete(f.tickets, row)
		delete(f.open, f.shares[row])
	}
	for i := range t.Calls {
		switch c := &t.Calls[i]; c.State {
		case store.Noted:
		case store.GateShare, store.GateTripped:
			share, err := core.DecodeShare(c.Data)
			if err != nil {
				m.wrong("a run key at a gate: %v", err)
			}
			f.shares[c.Number] = c.Name
			if delete(f.open, c.Name); share.OpenUntil != 0 {
				f.open[c.Name] = share.OpenUntil
			}
		default:
			ticket, err := core.DecodeTicket(c.Data)
			if err != nil {
				m.wrong("a ticket: %v", err)
			}
			was := f.tickets[c.Number]
			f.tickets[c.Number] = ticket
			granted := ticket.Phase == gates.Running && (was.Phase != gates.Running || was.Attempt != ticket.Attempt || was.Returns != ticket.Returns)
			if until := before[ticket.RunKey]; granted && t.Time < until {
				m.wrong("T3: the gate lets attempt %d of %s in at %d; the breaker of %q is open until %d", ticket.Attempt, ticket.Key.Run, t.Time, ticket.RunKey, until)
			}
		}
	}
	probes := map[string]int{}
	for _, ticket := range f.tickets {
		if ticket.Probe && ticket.Phase == gates.Running {
			probes[ticket.RunKey]++
		}
	}
	for key, n := range probes {
		if n > 1 {
			m.wrong("T3: %d attempts of %q try at a time whether it is well again", n, key)
		}
	}
	if t.Remove {
		m.fuses = newFuses()
	}
}
