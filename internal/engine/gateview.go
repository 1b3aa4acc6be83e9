package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/turnstile"
	"github.com/perdure/perdure/store"
)

// standingPage is how many entities that are no workflows are read at once.
const standingPage = 500

// Gates returns the gates of the group, by name, with who is at them. A gate is
// there from when the first call came to it until nobody has used it for a week; one
// that remembers something, a pause for instance, stays.
func (e *Engine) Gates(ctx context.Context) ([]Gate, error) {
	var gates []Gate
	err := e.eachStanding(ctx, entity.Gate, func(row *store.Run) error {
		g, err := e.readGate(ctx, entity.NameOf(row.ID))
		switch {
		case errors.Is(err, store.ErrNotFound):
			return nil // it was forgotten
		case err == nil:
			gates = append(gates, e.viewGate(g))
		}
		return err
	})
	slices.SortFunc(gates, func(a, b Gate) int { return cmp.Compare(a.Name, b.Name) })
	return gates, err
}

// eachStanding goes through the entities of the group that are no workflows and are
// of a kind.
func (e *Engine) eachStanding(ctx context.Context, kind entity.Kind, do func(row *store.Run) error) error {
	filter := store.Filter{Partitions: e.group.All(), Status: []store.Status{store.Standing}, Limit: standingPage}
	for {
		rows, err := e.db.List(ctx, filter)
		if err != nil {
			return err
		}
		for i := range rows {
			if entity.KindOf(rows[i].ID) != kind {
				continue
			}
			if err := do(&rows[i]); err != nil {
				return err
			}
		}
		if len(rows) < filter.Limit {
			return nil
		}
		filter.Before = rows[len(rows)-1].ID
	}
}

// readGate reads a gate as it is committed.
func (e *Engine) readGate(ctx context.Context, name string) (*core.Gate, error) {
	at := entity.Find(e.group, entity.Gate, name)
	rec, err := e.db.Load(ctx, at.Partition, at.Run)
	if err != nil {
		return nil, err
	}
	return core.LoadGate(name, record.Rows(rec.Calls), record.State(rec.Run.RunState))
}

func (e *Engine) viewGate(g *core.Gate) Gate {
	d, s := g.Detail(), g.Stats(e.clock.Now())
	v := Gate{
		Name: g.Name(), Limit: s.Limit, Mode: d.Spec.Mode, Spec: showGateSpec(d.Spec), Holders: s.Holders, Running: s.Running,
		Waiting: s.Depth, OldestWait: time.Duration(s.OldestWait), HeldInBackoff: s.HeldInBackoff, InBackoff: s.InBackoff,
		Breaker: string(s.Breaker), OpenUntil: optionalTime(s.OpenUntil), Paused: viewPause(d.Pause),
	}
	if d.Spec.Budget != (history.GateBudget{}) {
		v.Tokens = &s.Tokens
	}
	for _, t := range inOrder(g.Tickets()) {
		ticket := Ticket{
			WorkflowID: t.Key.Workflow, RunID: t.Key.Run, Call: t.Key.Call, Attempt: t.Attempt, State: string(t.Phase),
			Slot: t.Slot, Priority: t.Priority, Since: time.Unix(0, t.Since).UTC(),
		}
		if t.Until != turnstile.Never {
			ticket.Until = optionalTime(t.Until)
		}
		v.Tickets = append(v.Tickets, ticket)
	}
	return v
}

// inOrder are tickets as they are served: those that run, those that wait, those in
// backoff.
func inOrder(tickets []turnstile.Ticket[core.TicketKey]) []turnstile.Ticket[core.TicketKey] {
	rank := map[turnstile.Phase]int{turnstile.Running: 0, turnstile.Waiting: 1, turnstile.BackingOff: 2}
	slices.SortStableFunc(tickets, func(a, b turnstile.Ticket[core.TicketKey]) int {
		return cmp.Or(cmp.Compare(rank[a.Phase], rank[b.Phase]), cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Number, b.Number))
	})
	return tickets
}

// findPlaces adds the places at gates to the calls of a run that wait there.
func (e *Engine) findPlaces(ctx context.Context, run string, calls []PendingCall) error {
	for i := range calls {
		wait := calls[i].Gate
		if wait == nil || wait.Verdict {
			continue
		}
		g, err := e.readGate(ctx, wait.Name)
		if errors.Is(err, store.ErrNotFound) {
			continue // what was said to it is on its way
		}
		if err != nil {
			return err
		}
		wait.Paused = viewPause(g.Detail().Pause)
		if s := g.Stats(e.clock.Now()); s.Breaker == turnstile.Open {
			wait.OpenUntil = optionalTime(s.OpenUntil)
		}
		for _, t := range inOrder(g.Tickets()) {
			if t.Phase != turnstile.Waiting {
				continue
			}
			wait.Waiting++
			if t.Key.Run == run && t.Key.Call == calls[i].Call {
				wait.Place = wait.Waiting
			}
		}
	}
	return nil
}

// PauseGate lets nobody pass a gate any more, or again, also across restarts. What
// runs goes on. When it returns, the wish is durable; the gate's owner follows it.
func (e *Engine) PauseGate(ctx context.Context, name string, paused bool, by, why string) error {
	if err := history.CheckName("gate name", name); err != nil {
		return err
	}
	m := core.ToGate{Gate: name, Word: core.GateResume, By: by, Why: why}
	unknown := func(err error) error {
		return fmt.Errorf("there is no gate %q: it is made when the first call comes to it, and forgotten a week after the last: %w", name, err)
	}
	if paused {
		g, err := e.readGate(ctx, name)
		if errors.Is(err, store.ErrNotFound) {
			return unknown(err)
		}
		if err != nil {
			return err
		}
		spec := g.Detail().Spec
		m.Word, m.Spec = core.GatePause, &spec
	}
	err := e.db.Post(ctx, message.ControlGate(e.group, &m))
	if errors.Is(err, store.ErrNotFound) {
		return unknown(err)
	}
	if err == nil {
		e.kickInbox()
	}
	return err
}
