package dashboard

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

// gatesPage is the list of gates.
type gatesPage struct {
	Rows []gateRow
	More int
}

// rowOfGate is a gate in the list.
type gateRow struct {
	Gate                   linked
	State, Says            string // Says describes the state
	Until                  *stamp
	Held, Waiting          int
	Limit                  string
	InBackoff, HeldBackoff int
	Slots                  *barChart
	Oldest                 string
	Rate, Budget, Mode     string
	Edited, Grave          bool
	Problem                string
}

// maxGates is how many gates the list shows. Those that need attention come first.
const maxGates = 500

func gates(q *request) (any, error) {
	all, err := ops.Gates(q.ctx, q.engine)
	if err != nil {
		return nil, err
	}
	rank := func(g *view.Gate) int {
		switch {
		case g.Problem != "":
			return 0
		case g.Breaker == "open", g.Breaker == "half_open", g.OpenKeys > 0:
			return 1
		case g.Paused != nil:
			return 2
		case g.Waiting > 0:
			return 3
		}
		return 4
	}
	slices.SortStableFunc(all, func(a, b view.Gate) int { return cmp.Compare(rank(&a), rank(&b)) })
	p := &gatesPage{More: max(0, len(all)-maxGates)}
	for i := range all[:len(all)-p.More] {
		p.Rows = append(p.Rows, rowOfGate(q, &all[i]))
	}
	return p, nil
}

// gateLink returns a link to a gate.
func gateLink(name string) linked { return linked{name, link("gate", "name", name)} }

func rowOfGate(q *request, g *view.Gate) gateRow {
	row := gateRow{
		Gate: gateLink(g.Name), Held: g.Holders, Limit: wording.GateLimit(g.Limit), Waiting: g.Waiting, InBackoff: g.InBackoff, HeldBackoff: g.HeldInBackoff,
		Mode: g.Mode, Edited: g.Edited != nil, Problem: g.Problem,
	}
	row.State, row.Says = gateState(g)
	row.Grave = tone(row.State) == "held" || tone(row.State) == "bad"
	if g.Breaker == "open" {
		row.Until = q.until(g.OpenUntil)
	}
	if g.Waiting > 0 {
		row.Oldest = human.Duration(g.OldestWait)
	}
	if g.Spec.Rate.PerSecond > 0 {
		row.Rate = g.Spec.Rate.String()
	}
	if g.Tokens != nil {
		row.Budget = fmt.Sprintf("%g of %d", *g.Tokens, g.Spec.Budget.Tokens)
	}
	row.Slots = shares([]share{
		{"running", "busy", g.Holders - g.HeldInBackoff}, {"held in backoff", "retry", g.HeldInBackoff}, {"free", "track", max(0, g.Limit-g.Holders)},
	})
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
	Row     gateRow
	Name    string
	Done    string
	Facts   []trait
	Buttons []button
	Paused  string
	Since   *stamp
	Opens   *stamp // when a breaker that is open lets an attempt pass; nil if it is not
	Keys    []keyRow
	Tickets []ticketRow
	Says    string // which of them are shown
	Prev    template.URL
	Next    template.URL
	Log     []auditEntry
}

func (p *gatePage) title() string { return p.Name + " · gate" }

// trait is a fact about a gate or a schedule.
type trait struct {
	Name, Text string
	Note       string
	Time       *stamp
	After      string
}

// keyRow is what waits and runs of a run key.
type keyRow struct {
	Name             string
	Link             template.URL // its runs; none for those without a key
	Waiting, Running int
	Oldest           *stamp // since when the one waits that has waited longest
	Breaker, Tokens  string // of the key alone, "" if it has none
	Says             string // how the breaker is
	Until            *stamp // end of the cooldown of the breaker, nil if it is not open
}

func keyRows(q *request, all []view.KeyWait) (rows []keyRow) {
	for _, k := range all {
		row := keyRow{Name: wording.Key(k.Key, 0), Waiting: k.Waiting, Running: k.Running, Oldest: q.ago(k.Oldest), Breaker: k.Breaker, Says: strings.ReplaceAll(k.Breaker, "_", " "), Until: q.until(k.OpenUntil)}
		if k.Tokens != nil {
			row.Tokens = fmt.Sprintf("%g", *k.Tokens)
		}
		if k.Key != "" {
			row.Link = link("runs", "key", k.Key)
		}
		rows = append(rows, row)
	}
	return rows
}

// ticketRow is a call at a gate.
type ticketRow struct {
	Key          string
	Place        int // place in the line, from 1; 0: not waiting
	Run          linked
	Of           string // run key
	Call         int64
	Attempt      int
	State        string
	Slot         bool
	Priority     int
	Since, Until *stamp
}

// pageTickets is how many calls at a gate a page shows.
const pageTickets = 100

// gateNamed returns a gate.
func (q *request) gateNamed(name string) (*view.Gate, error) {
	all, err := ops.Gates(q.ctx, q.engine)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Name == name {
			return &all[i], nil
		}
	}
	return nil, &absent{"gate", name}
}

func showGate(q *request) (any, error) {
	g, err := q.gateNamed(q.URL.Query().Get("name"))
	if err != nil {
		return nil, err
	}
	p := &gatePage{Row: rowOfGate(q, g), Name: g.Name, Done: doneText(q, command.Gate)}
	p.gateFacts(q, g)
	if q.operator() && g.Problem == "" {
		names := []string{"edit"}
		if g.Paused != nil {
			names = append(names, "resume")
		} else {
			names = append(names, "pause")
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
	for i := range g.Log {
		p.Log = append(p.Log, rowOfAudit(q, &g.Log[i]))
	}
	return p, nil
}

func (p *gatePage) gateFacts(q *request, g *view.Gate) {
	add := func(f trait) { p.Facts = append(p.Facts, f) }
	for _, part := range wording.GateParts {
		add(trait{Name: part, Text: wording.GatePart(g.Spec, part), Note: wording.GatePartEdited(g, part)})
	}
	add(trait{Name: "mode", Text: g.Mode, Note: map[string]string{
		"hold": "a call keeps its slot in backoff", "release": "a retry queues again, at the end", "rejoin": "a retry goes before calls that came later",
	}[g.Mode]})
	if g.Spec.MaxHold > 0 {
		add(trait{Name: "longest hold", Text: human.Exact(g.Spec.MaxHold)})
	}
	for _, key := range slices.Sorted(maps.Keys(g.KeyBounds)) {
		add(trait{Name: "key " + key, Text: g.KeyBounds[key].String()})
	}
	if e := g.Edited; e != nil {
		add(trait{Name: "edited", Time: q.ago(&e.Since), After: wording.ByAndWhy(e.By, e.Why)})
	}
	if g.Paused != nil {
		p.Paused, p.Since = wording.ByAndWhy(g.Paused.By, g.Paused.Why), q.ago(&g.Paused.Since)
	}
	if g.Breaker != "" {
		f := trait{Name: "breaker is", Text: wording.GateBreaker(g)}
		if g.Breaker == "open" {
			p.Opens = q.until(g.OpenUntil)
		}
		add(f)
	}
	if g.Tokens != nil {
		add(trait{Name: "budget has", Text: fmt.Sprintf("%g of %d tokens", *g.Tokens, g.Spec.Budget.Tokens)})
	}
}

// tickets adds a page of the calls at the gate: running ones, waiting ones in order, and
// those in backoff.
func (p *gatePage) tickets(q *request, g *view.Gate) {
	p.Keys = keyRows(q, g.Keys)
	n := len(g.Tickets)
	from, _ := strconv.Atoi(q.URL.Query().Get("from"))
	from = max(0, min(from, n-1)) / pageTickets * pageTickets
	to := min(n, from+pageTickets)
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
		row := ticketRow{
			Key: fmt.Sprint(t.RunID, "/", t.Call), Run: runLink(t.WorkflowID, t.RunID), Call: t.Call, Attempt: t.Attempt, State: t.State, Slot: t.Slot,
			Priority: t.Priority, Of: t.Key, Since: q.ago(&t.Since), Until: q.until(t.Until),
		}
		if waits {
			row.Place = place
		}
		p.Tickets = append(p.Tickets, row)
	}
	if n > pageTickets {
		p.Says = fmt.Sprintf("%s to %s of %s", human.Count(from+1), human.Count(to), human.Plural(n, "call", "calls"))
	}
	if from > 0 {
		p.Prev = link("gate", "name", g.Name, "from", strconv.Itoa(from-pageTickets))
	}
	if to < n {
		p.Next = link("gate", "name", g.Name, "from", strconv.Itoa(to))
	}
}
