package core

import (
	"fmt"
	"slices"
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
	return decode[GateDetail](data, "the row of the gate")
}

// DecodeTicket decodes the document in a ticket's row.
func DecodeTicket(data []byte) (gates.Ticket[TicketKey], error) {
	return decode[gates.Ticket[TicketKey]](data, "the row of a ticket")
}

// DecodeShare decodes the document in the row of a run key.
func DecodeShare(data []byte) (gates.ShareRecord, error) {
	return decode[gates.ShareRecord](data, "the row of a run key")
}

// maxHeard is the maximum number of inputs that a gate takes in one step.
const maxHeard = 500

// Step implements Standing.
func (g *Gate) Step(now int64, inputs []Input) *StandingTurn {
	g.begin(now)
	g.out.Heard = min(len(inputs), maxHeard)
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
	return g.end()
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
			g.out.Rows = append(g.out.Rows, Row{
				Call: number, State: ticketStates[t.Phase], Name: key.Run, Attempt: t.Attempt, Due: t.Until, Data: seal(t),
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
		g.out.Rows = append(g.out.Rows, Row{Call: row.number, State: state, Name: runKey, Data: seal(r)})
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
