package core

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/internal/history"
)

// Gate is the step machine of one gate: an entity like a run, with an inbox, a wake time
// and rows, but without history. An unused gate is forgotten; the next call creates it
// again. Package gates decides, and Gate makes the decisions durable. It is not safe for
// concurrent use. After an error of LoadGate it must be dropped.
type Gate struct {
	standing
	name    string
	machine *gates.Machine[TicketKey] // nil until a call declares what the gate does
	detail  GateDetail

	rows    map[TicketKey]int64 // row numbers of the tickets
	shares  map[string]shareRow // of the run keys that have one
	lastRow int64
	touched []TicketKey // tickets changed since the last step, perhaps repeated
	changed []string    // run keys, likewise
}

// shareRow is the row of a run key: its number, and until when its breaker was open when it was written.
type shareRow struct{ number, openUntil int64 }

// GateDetail is the document in a gate's row: everything except its tickets.
type GateDetail struct {
	Spec   history.GateSpec `json:"spec"`
	Record gates.Record     `json:"record"`
	// Check is when to ask the holders whether they still know the gate, or whether any
	// call uses it.
	Check int64 `json:"check,omitempty"`
	// Unused is since when no call has held the gate, 0 if one does.
	Unused int64 `json:"unused,omitempty"`
	// Pause says who paused the gate, nil if it is not paused.
	Pause *Pause `json:"pause,omitempty"`
	// Edited holds the edits by operators that override the code's declaration, nil for
	// none. Spec includes them.
	Edited *GateEdited `json:"edited,omitempty"`
}

// checkEvery is how often holders are told again that they hold the gate. A run that does
// not know of it, for instance because its row was deleted, gives the slot back.
const checkEvery = 5 * time.Minute

// forgetAfter is how long an unused gate is remembered. An operator who looks for a gate of
// last week can find and pause it. The time is limited because programs may use a gate per
// customer.
const forgetAfter = 7 * 24 * time.Hour

// NewGate returns the machine of a gate that has no row yet.
func NewGate(name string) *Gate {
	return &Gate{name: name, rows: map[TicketKey]int64{}, shares: map[string]shareRow{}, standing: standing{state: State{Status: StatusStanding, Wake: Never}}}
}

// LoadGate returns the machine of a gate from its rows.
func LoadGate(name string, rows []Row, state State) (*Gate, error) {
	g := NewGate(name)
	g.state = state
	var err error
	if g.detail, err = DecodeGate(state.Detail); err != nil {
		return nil, err
	}
	rows = g.log.load(rows)
	var tickets []gates.Ticket[TicketKey]
	shares := map[string]gates.ShareRecord{}
	for _, row := range rows {
		g.lastRow = max(g.lastRow, row.Call)
		if row.State == GateShare || row.State == GateTripped {
			r, err := DecodeShare(row.Data)
			if err != nil {
				return nil, err
			}
			shares[row.Name], g.shares[row.Name] = r, shareRow{row.Call, r.OpenUntil}
			continue
		}
		t, err := DecodeTicket(row.Data)
		if err != nil {
			return nil, err
		}
		tickets = append(tickets, t)
		g.rows[t.Key] = row.Call
	}
	g.machine, err = gates.Restore(spec.Spec(g.detail.Spec), g.detail.Record, tickets, shares)
	return g, err
}

// DecodeGate decodes the document in a gate's row.
func DecodeGate(data []byte) (GateDetail, error) {
	var d GateDetail
	if err := history.Unseal(data, &d); err != nil {
		return d, history.Damaged("the row of the gate", err)
	}
	return d, nil
}

// DecodeTicket decodes the document in a ticket's row.
func DecodeTicket(data []byte) (gates.Ticket[TicketKey], error) {
	var t gates.Ticket[TicketKey]
	if err := history.Unseal(data, &t); err != nil {
		return t, history.Damaged("the row of a ticket", err)
	}
	return t, nil
}

// DecodeShare decodes the document in the row of a run key.
func DecodeShare(data []byte) (gates.ShareRecord, error) {
	var r gates.ShareRecord
	if err := history.Unseal(data, &r); err != nil {
		return r, history.Damaged("the row of a run key", err)
	}
	return r, nil
}

// maxHeard is the maximum number of inputs that a gate takes in one step.
const maxHeard = 500

// Step implements Standing.
func (g *Gate) Step(now int64, inputs []Input) *StandingTurn {
	g.now = max(g.now, now)
	g.out = &StandingTurn{Time: g.now, Heard: min(len(inputs), maxHeard)}
	for _, in := range inputs[:g.out.Heard] {
		if said, ok := in.(ToGate); ok {
			g.handle(&said)
		}
	}
	if g.machine != nil {
		g.apply(g.machine.Tick(g.now))
		g.remindHolders()
		g.writeRows()
		if !g.out.Over {
			g.detail.Record = g.machine.Record()
			g.updateState(g.detail, g.NextDue())
		}
	}
	out := g.out
	g.out = nil
	return out
}

func (g *Gate) handle(m *ToGate) {
	if m.Spec != nil && (m.Word == GateEnter || g.machine == nil) {
		if err := g.configure(spec.Spec(*m.Spec)); err != nil {
			g.out.Faults = append(g.out.Faults, err)
		}
	}
	if g.machine == nil {
		return // no call was ever here, so there is nothing to give back
	}
	switch m.Word {
	case GateEnter:
		g.apply(g.machine.Enter(g.now, gates.Ask[TicketKey]{
			Key: m.Ticket, Attempt: m.Attempt, Priority: m.Priority, Returns: m.Returns, Came: m.Came, Once: m.Once, Retry: m.Retry,
			RunKey: m.RunKey, Weight: m.Weight,
		}))
	case GateReturn:
		g.apply(g.machine.Return(g.now, m.Ticket, m.Attempt, m.Returns))
	case GateBackoff:
		g.backoff(m)
	case GateDone:
		g.apply(g.machine.Done(g.now, m.Ticket, m.Outcome))
	case GatePause, GateResume, GateEdit, GateProbe, GateReset:
		g.operate(m)
	default:
		g.out.Faults = append(g.out.Faults, fmt.Errorf("run %s says %q, which this version does not know; run the newer one that wrote it", m.Ticket.Run, m.Word))
	}
}

// configure applies the declaration of the latest call, with the edits by operators on top.
func (g *Gate) configure(declared spec.Spec) error {
	if g.machine != nil && declared == g.detail.Declared() {
		return nil
	}
	is := declared
	if g.detail.Edited != nil {
		is = applyEdit(declared, g.detail.Edited.Recorded())
	}
	if g.machine == nil {
		m, err := gates.New[TicketKey](is)
		if err != nil {
			return err
		}
		g.machine = m
	} else {
		step, err := g.machine.Reconfigure(g.now, is)
		if err != nil {
			return err
		}
		old := g.detail.Declared()
		g.out.Replaced, g.out.Replacing = &old, &declared
		g.apply(step)
	}
	if g.detail.Spec = history.GateSpec(is); g.detail.Edited != nil {
		last := *g.detail.Edited
		last.Declared = history.GateSpec(declared)
		g.detail.Edited = &last
	}
	return nil
}

func (g *Gate) backoff(m *ToGate) {
	before, known := g.machine.Ticket(m.Ticket)
	g.apply(g.machine.Backoff(g.now, m.Ticket, m.Attempt, m.Outcome, m.Until))
	after, still := g.machine.Ticket(m.Ticket)
	if m.Judge && still && before.Attempt == m.Attempt && after.Attempt > m.Attempt {
		g.send(FromGate{Word: GateAllowed, Ticket: m.Ticket, Attempt: m.Attempt})
	}
	if m.Yield && known {
		g.apply(g.machine.Yield(g.now, m.Ticket))
	}
}

// GatePreview is what an operator's message to a gate would do now.
type GatePreview struct {
	Before, After    spec.Spec
	Outcome, Text    string
	Waiting          int // calls in line before
	Starting, Ending int // calls of these that start now, or are refused
	Holders          int // slots taken before
}

// Preview finds out what an operator's message would do. It changes the gate, which must be
// a copy.
func (g *Gate) Preview(now int64, m *ToGate) GatePreview {
	g.Step(now, nil) // changes due to time alone are not consequences
	stats := g.machine.Stats(g.now)
	p := GatePreview{Before: g.specOf(m), Waiting: stats.Depth, Holders: stats.Holders}
	out := g.Step(now, []Input{*m})
	p.After = g.specOf(m)
	for _, said := range out.Say {
		switch said.Word {
		case GateGranted:
			p.Starting++
		case GateRefused:
			p.Ending++
		}
	}
	if notes := g.Log(); len(notes) > 0 {
		p.Outcome, p.Text = notes[len(notes)-1].Outcome, notes[len(notes)-1].Text
	}
	return p
}
