package dashboard

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"

	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

// gatesPage is the list of gates.
type gatesPage struct {
	Rows []*gateRow
	More int
}

// gateRow is a gate with its state.
type gateRow struct {
	*view.Gate
	State, Says string // Says describes the state
	Slots       *barChart
}

// Grave reports whether it needs attention.
func (r *gateRow) Grave() bool { return tone(r.State) == "held" || tone(r.State) == "bad" }

// maxGates is how many gates the list shows. Those that need attention come first.
const maxGates = 500

func gates(q *request) (any, error) {
	all, err := ops.Gates(q.ctx, q.engine)
	if err != nil {
		return nil, err
	}
	order := []string{view.WaitDamaged, "open", "half_open", view.StatusPaused, view.CallGated, "closed"}
	rank := func(g *view.Gate) int {
		state, _ := gateState(g)
		return slices.Index(order, state)
	}
	slices.SortStableFunc(all, func(a, b view.Gate) int { return cmp.Compare(rank(&a), rank(&b)) })
	p := &gatesPage{More: max(0, len(all)-maxGates)}
	for i := range all[:len(all)-p.More] {
		p.Rows = append(p.Rows, rowOfGate(&all[i]))
	}
	return p, nil
}

// gateLink returns a link to a gate.
func gateLink(name string) linked { return linked{name, link("gate", "name", name)} }

func rowOfGate(g *view.Gate) *gateRow {
	row := &gateRow{Gate: g, Slots: shares([]share{
		{"running", "busy", g.Holders - g.HeldInBackoff}, {"held in backoff", "retry", g.HeldInBackoff}, {"free", "track", max(0, g.Limit-g.Holders)},
	})}
	row.State, row.Says = gateState(g)
	return row
}

// gateState returns the most important state of a gate, one of those that have a tone, and
// its description.
func gateState(g *view.Gate) (state, says string) {
	switch {
	case g.Problem != "":
		return view.WaitDamaged, "has a problem"
	case g.Paused != nil:
		return view.StatusPaused, "paused"
	case g.Breaker == "open":
		return g.Breaker, "breaker open"
	case g.Breaker == "half_open":
		return g.Breaker, "breaker half open"
	case g.OpenKeys > 0:
		return "half_open", "breaker " + wording.GateBreaker(g)
	case g.Waiting > 0:
		return view.CallGated, "calls wait"
	}
	return "closed", "passes"
}

// gatePage shows one gate.
type gatePage struct {
	*gateRow
	Done    string
	Facts   []fact
	Buttons []button
	Calls   []ticketRow
	Pager   *pager // nil if all are shown
}

func (p *gatePage) title() string { return p.Name + " · gate" }

// ticketRow is a call at a gate.
type ticketRow struct {
	view.Ticket
	Place int // place in the line, from 1; 0: not waiting
}

// pageTickets is how many calls at a gate a page shows.
const pageTickets = 100

func showGate(q *request) (any, error) {
	name := q.URL.Query().Get("name")
	g, err := command.FindGate(q.ctx, q.engine, name)
	if err != nil {
		return nil, missing("gate", name, err)
	}
	p := &gatePage{gateRow: rowOfGate(g), Done: doneText(q, command.Gate), Facts: factsOf(wording.GateFacts(g))}
	if q.operator() && g.Problem == "" {
		names := []string{"edit", "pause"}
		if g.Paused != nil {
			names[1] = "resume"
		}
		if g.Breaker == "open" || g.OpenKeys > 0 {
			names = append(names, "probe")
		}
		if g.Breaker != "" || g.Spec.Budget.Tokens > 0 {
			names = append(names, "reset")
		}
		p.Buttons = changeButtons(command.Gate, g.Name, names...)
	}
	p.tickets(q, g)
	return p, nil
}

// tickets adds a page of the calls at the gate: running ones, waiting ones in order, and
// those in backoff.
func (p *gatePage) tickets(q *request, g *view.Gate) {
	n := len(g.Tickets)
	from, to, pages := q.part(n, pageTickets, func(from string) template.URL { return link("gate", "name", g.Name, "from", from) })
	place := 0
	for i := range g.Tickets {
		t := &g.Tickets[i]
		waits := t.State == "waiting"
		if waits {
			place++
		}
		if i < from || i >= to {
			continue
		}
		row := ticketRow{Ticket: *t}
		if waits {
			row.Place = place
		}
		p.Calls = append(p.Calls, row)
	}
	if n > pageTickets {
		p.Pager = pages
		p.Pager.Of, p.Pager.Text = "the calls", fmt.Sprintf("%s to %s of %s", human.Count(from+1), human.Count(to), human.Plural(n, "call", "calls"))
	}
}
