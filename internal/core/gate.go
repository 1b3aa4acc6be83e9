package core

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/internal/history"
)

// Gate is the step machine of one gate: an entity like a run, with an inbox, a
// wake time and rows, but without a history. One that no call uses is
// forgotten, and made again by the next call. Package gates decides; this type makes the
// decisions durable. It is not safe for concurrent use. After an error of LoadGate it
// must be dropped.
type Gate struct {
	name    string
	machine *gates.Machine[TicketKey] // nil until a call said what the gate is to do
	detail  GateDetail
	state   State // as last committed or about to be

	rows    map[TicketKey]int64 // numbers of the tickets' rows
	lastRow int64
	log     notebook

	now     int64
	out     *StandingTurn
	touched []TicketKey // since the last step, perhaps more than once
}

// GateDetail is the document of a gate's row: all but its tickets.
type GateDetail struct {
	Spec   gates.Spec   `json:"spec"`
	Record gates.Record `json:"record"`
	// Check is when the calls that hold the gate are asked whether they know it, or
	// whether a call uses the gate.
	Check int64 `json:"check,omitempty"`
	// Unused is since when no call was seen to hold the gate, 0 if one was.
	Unused int64 `json:"unused,omitempty"`
	// Pause says who paused the gate, nil if it is not paused.
	Pause *Pause `json:"pause,omitempty"`
	// Edited says what people made different from what the code declares, nil if nothing.
	// Spec has it.
	Edited *GateEdited `json:"edited,omitempty"`
}

// checkEvery is how often those who hold a gate are told so again. A run that does
// not know of it, because its row was deleted for instance, gives the slot back.
const checkEvery = 5 * time.Minute

// forgetAfter is for how long an unused gate is remembered: long enough that a person
// who looks for one of last week finds it, and can pause it. There may be one for
// each customer.
const forgetAfter = 7 * 24 * time.Hour

// NewGate makes the machine of a gate that has no row yet.
func NewGate(name string) *Gate {
	return &Gate{name: name, rows: map[TicketKey]int64{}, state: State{Status: StatusStanding, Wake: Never}}
}

// LoadGate makes a gate's machine from its rows.
func LoadGate(name string, rows []Row, state State) (*Gate, error) {
	g := NewGate(name)
	g.state = state
	var err error
	if g.detail, err = DecodeGate(state.Detail); err != nil {
		return nil, err
	}
	rows = g.log.load(rows)
	tickets := make([]gates.Ticket[TicketKey], len(rows))
	for i, row := range rows {
		if tickets[i], err = DecodeTicket(row.Data); err != nil {
			return nil, err
		}
		g.rows[tickets[i].Key] = row.Call
		g.lastRow = max(g.lastRow, row.Call)
	}
	g.machine, err = gates.Restore(g.detail.Spec, g.detail.Record, tickets)
	return g, err
}

// DecodeGate reads the document of a gate's row.
func DecodeGate(data []byte) (GateDetail, error) {
	var d GateDetail
	if err := history.Unseal(data, &d); err != nil {
		return d, history.Damaged("the row of the gate", err)
	}
	return d, nil
}

// DecodeTicket reads the document of a ticket's row.
func DecodeTicket(data []byte) (gates.Ticket[TicketKey], error) {
	var t gates.Ticket[TicketKey]
	if err := history.Unseal(data, &t); err != nil {
		return t, history.Damaged("the row of a ticket", err)
	}
	return t, nil
}

// maxHeard is how much of what is said to a gate is taken in one step.
const maxHeard = 500

// Step implements Standing.
func (g *Gate) Step(now int64, inputs []Input) *StandingTurn {
	g.now = max(g.now, now)
	g.out = &StandingTurn{Time: g.now, Heard: min(len(inputs), maxHeard)}
	for _, in := range inputs[:g.out.Heard] {
		if said, ok := in.(ToGate); ok {
			g.hear(&said)
		}
	}
	if g.machine != nil {
		g.take(g.machine.Tick(g.now))
		g.check()
		g.writeRows()
		if !g.out.Over {
			g.settle()
		}
	}
	out := g.out
	g.out = nil
	return out
}

func (g *Gate) hear(m *ToGate) {
	if m.Spec != nil && (m.Word == GateEnter || g.machine == nil) {
		if err := g.configure(*m.Spec); err != nil {
			g.out.Faults = append(g.out.Faults, err)
		}
	}
	if g.machine == nil {
		return // no call was ever here: what is taken back was never given
	}
	switch m.Word {
	case GateEnter:
		g.take(g.machine.Enter(g.now, gates.Ask[TicketKey]{
			Key: m.Ticket, Attempt: m.Attempt, Priority: m.Priority, Returns: m.Returns, Came: m.Came,
		}))
	case GateReturn:
		g.take(g.machine.Return(g.now, m.Ticket, m.Attempt, m.Returns))
	case GateBackoff:
		g.backoff(m)
	case GateDone:
		g.take(g.machine.Done(g.now, m.Ticket, m.Outcome))
	case GatePause, GateResume, GateEdit, GateProbe, GateReset:
		g.operate(m)
	default:
		g.out.Faults = append(g.out.Faults, fmt.Errorf("run %s says %q, which this version does not know; run the newer one that wrote it", m.Ticket.Run, m.Word))
	}
}

// configure makes the gate do what the latest call declares, except for what people
// edited.
func (g *Gate) configure(declared gates.Spec) error {
	if g.machine != nil && declared == g.detail.Declared() {
		return nil
	}
	spec := declared
	if g.detail.Edited != nil {
		spec = g.detail.Edited.Over(declared)
	}
	if g.machine == nil {
		m, err := gates.New[TicketKey](spec)
		if err != nil {
			return err
		}
		g.machine = m
	} else {
		step, err := g.machine.Reconfigure(g.now, spec)
		if err != nil {
			return err
		}
		old := g.detail.Declared()
		g.out.Replaced, g.out.Replacing = &old, &declared
		g.take(step)
	}
	if g.detail.Spec = spec; g.detail.Edited != nil {
		edited := *g.detail.Edited
		edited.Declared = declared
		g.detail.Edited = &edited
	}
	return nil
}

func (g *Gate) backoff(m *ToGate) {
	before, known := g.machine.Ticket(m.Ticket)
	g.take(g.machine.Backoff(g.now, m.Ticket, m.Attempt, m.Outcome, m.Until))
	after, still := g.machine.Ticket(m.Ticket)
	if m.Judge && still && before.Attempt == m.Attempt && after.Attempt > m.Attempt {
		g.say(FromGate{Word: GateAllowed, Ticket: m.Ticket, Attempt: m.Attempt})
	}
	if m.Yield && known {
		g.take(g.machine.Yield(g.now, m.Ticket))
	}
}
