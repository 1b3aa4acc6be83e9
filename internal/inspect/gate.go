package inspect

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// Gates returns the gates of the group, by name. A gate exists from its first call until a
// week after the last use. A gate stays if it is paused, or if its budget or breaker is not
// in its initial state.
func (in *Inspector) Gates(ctx context.Context) ([]view.Gate, error) {
	if err := in.check(ctx); err != nil {
		return nil, err
	}
	var gates []view.Gate
	err := in.eachStanding(ctx, entity.Gate, func(row *store.Run) error {
		g, err := in.Gate(ctx, entity.NameOf(row.ID))
		switch {
		case errors.Is(err, store.ErrNotFound):
			return nil // deleted meanwhile
		case damageOf(err) != nil:
			gates = append(gates, view.Gate{Name: entity.NameOf(row.ID), Problem: err.Error()})
			return nil
		case err == nil:
			gates = append(gates, in.gateOf(g))
		}
		return err
	})
	slices.SortFunc(gates, func(a, b view.Gate) int { return cmp.Compare(a.Name, b.Name) })
	return gates, err
}

// Breakers reports for the gates with a circuit breaker, by name, whether it is open, and for those
// with one for each run key how many of these are. It covers as many gates as a status does, and
// reads none of the calls at them.
func (in *Inspector) Breakers(ctx context.Context) (open map[string]bool, ofKeys map[string]int, err error) {
	if err := in.check(ctx); err != nil {
		return nil, nil, err
	}
	keys, err := in.openKeys(ctx)
	if err != nil {
		return nil, nil, err
	}
	open, ofKeys = map[string]bool{}, map[string]int{}
	read := 0
	err = in.eachStanding(ctx, entity.Gate, func(row *store.Run) error {
		if read++; read > statusGates {
			return errEnough
		}
		d, err := core.DecodeGate(row.Detail)
		switch name := entity.NameOf(row.ID); {
		case err != nil || !hasBreaker(&d): // the status names an unreadable gate
		case d.Spec.Breaker.PerKey:
			ofKeys[name] = len(keys[name])
		default:
			open[name] = breakerOpen(&d, in.now())
		}
		return nil
	})
	return open, ofKeys, err
}

// Gate returns the committed machine of a gate.
func (in *Inspector) Gate(ctx context.Context, name string) (*core.Gate, error) {
	if err := in.check(ctx); err != nil {
		return nil, err
	}
	at := entity.Find(in.group, entity.Gate, name)
	rec, err := in.db.Load(ctx, at.Partition, at.Run)
	if err != nil {
		return nil, err
	}
	return record.Gate(rec)
}

func (in *Inspector) gateOf(g *core.Gate) view.Gate {
	d, s := g.Detail(), g.Stats(in.now())
	v := view.Gate{
		Name: g.Name(), Limit: s.Limit, Mode: string(d.Spec.Mode), Spec: spec.Spec(d.Spec), Holders: s.Holders, Running: s.Running,
		Waiting: s.Depth, OldestWait: s.OldestWait, HeldInBackoff: s.HeldInBackoff, InBackoff: s.InBackoff,
		Breaker: string(s.Breaker), OpenUntil: optional(s.OpenUntil), Paused: pause(d.Pause),
		Log: logOf("gate", g.Name(), g.Log()),
	}
	if by := d.Edited; by != nil {
		v.Edited = &view.GateEdited{GateEdit: by.Recorded(), Declared: spec.Spec(by.Declared), By: by.By, Why: by.Why, Since: at(by.At)}
	}
	if b := d.Spec.Budget; b != (spec.Budget{}) && !b.PerKey {
		v.Tokens = &s.Tokens
	}
	v.Keys, v.KeyBounds, v.OpenKeys = keysAt(g, in.now()), g.OwnBounds(), s.OpenKeys
	for _, t := range inOrder(g.Tickets()) {
		ticket := view.Ticket{
			WorkflowID: t.Key.Workflow, RunID: t.Key.Run, Call: t.Key.Call, Attempt: t.Attempt, State: string(t.Phase),
			Slot: t.Slot, Priority: t.Priority, Key: t.RunKey, Since: at(t.Since),
		}
		if t.Until != gates.Never {
			ticket.Until = optional(t.Until)
		}
		v.Tickets = append(v.Tickets, ticket)
	}
	return v
}

// GateChange returns what an operator's request to a gate would do.
func GateChange(name string, word core.GateWord, p core.GatePreview) view.GateChange {
	return view.GateChange{
		Gate: name, Operation: string(word), Before: p.Before, After: p.After, Outcome: p.Outcome, Note: p.Text,
		Holders: p.Holders, Waiting: p.Waiting, Starting: p.Starting, Refusing: p.Ending,
	}
}

// keysAt counts the calls at a gate by run key, and says how the breaker and the budget of a key are
// that has its own.
func keysAt(g *core.Gate, now int64) []view.KeyWait {
	keys := keyCounts{}
	for _, t := range g.Tickets() {
		switch t.Phase {
		case gates.Running:
			keys.of(t.RunKey).Running++
		case gates.Waiting:
			keys.waits(t.RunKey, optional(t.Since))
		}
	}
	is, health := g.Detail().Spec, healthAt(g, now)
	for _, h := range health {
		if h.OpenUntil != 0 {
			keys.of(h.Key)
		}
	}
	for _, k := range keys {
		h, known := health[k.Key]
		if is.Breaker.PerKey {
			k.Breaker = cmp.Or(string(h.Breaker), string(spec.Closed))
		}
		if h.Breaker == spec.Open {
			k.OpenUntil = optional(h.OpenUntil)
		}
		if is.Budget.PerKey {
			if k.Tokens = &h.Tokens; !known {
				h.Tokens = float64(is.Budget.Tokens)
			}
		}
	}
	return keys.most()
}

// healthAt returns how breaker and budget are of those run keys at a gate that have their own, unless
// they are as at first.
func healthAt(g *core.Gate, now int64) map[string]gates.KeyHealth {
	health := map[string]gates.KeyHealth{}
	for _, h := range g.KeyHealths(now) {
		health[h.Key] = h
	}
	return health
}

// inOrder sorts tickets: running ones, waiting ones in the order in which they are
// admitted if all keys have had as many turns, those standing by, those in backoff.
func inOrder(tickets []gates.Ticket[core.TicketKey]) []gates.Ticket[core.TicketKey] {
	rank := map[gates.Phase]int{gates.Running: 0, gates.Waiting: 1, gates.StandingBy: 2, gates.BackingOff: 3}
	slices.SortStableFunc(tickets, func(a, b gates.Ticket[core.TicketKey]) int {
		return cmp.Or(cmp.Compare(rank[a.Phase], rank[b.Phase]), cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Came, b.Came), cmp.Compare(a.Number, b.Number))
	})
	turn, waiting := map[string]int{}, map[core.TicketKey]int{}
	for _, t := range tickets {
		if t.Phase == gates.Waiting {
			waiting[t.Key] = turn[t.RunKey] / max(t.Weight, 1)
			turn[t.RunKey]++
		}
	}
	slices.SortStableFunc(tickets, func(a, b gates.Ticket[core.TicketKey]) int {
		return cmp.Or(cmp.Compare(rank[a.Phase], rank[b.Phase]), cmp.Compare(waiting[a.Key], waiting[b.Key]))
	})
	return tickets
}

// addPlaces adds to the gated calls of a run their places at the gates. It reads each gate
// once.
func (in *Inspector) addPlaces(ctx context.Context, run string, calls []view.Call) error {
	lines := map[string]*gateLine{}
	for i := range calls {
		wait := calls[i].Gate
		if wait == nil || wait.Verdict {
			continue
		}
		line, known := lines[wait.Name]
		if !known {
			var err error
			if line, err = in.lineAt(ctx, wait.Name, run); err != nil {
				return err
			}
			lines[wait.Name] = line
		}
		if line == nil {
			continue
		}
		*wait = line.GateWait
		wait.Place = line.places[calls[i].Call]
	}
	return nil
}

// gateLine is the line at a gate, as the calls of one run see it, and their places in it.
type gateLine struct {
	view.GateWait
	places map[int64]int
}

// lineAt returns the line at a gate, or nil if the gate is unknown or its first message is
// in transit.
func (in *Inspector) lineAt(ctx context.Context, gate, run string) (*gateLine, error) {
	g, err := in.Gate(ctx, gate)
	if errors.Is(err, store.ErrNotFound) || damageOf(err) != nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	line := &gateLine{view.GateWait{Name: gate, Paused: pause(g.Detail().Pause)}, map[int64]int{}}
	if s := g.Stats(in.now()); s.Breaker == spec.Open {
		line.OpenUntil = optional(s.OpenUntil)
	}
	health := healthAt(g, in.now())
	for _, t := range inOrder(g.Tickets()) {
		if t.Phase != gates.Waiting {
			continue
		}
		line.Waiting++
		if t.Key.Run == run {
			if h := health[t.RunKey]; h.Breaker == spec.Open {
				line.OpenUntil, line.Key = optional(h.OpenUntil), h.Key
			}
			line.places[t.Key.Call] = line.Waiting
		}
	}
	return line, nil
}
