package request

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// rooms are the gates to which the calls of a dry run of RetryNow would come, each with the slots
// that are left when the calls before have taken theirs.
type rooms struct {
	client *Client
	gates  map[string]*room
}

// room is a gate.
type room struct {
	free  int    // slots
	shut  string // why nothing passes, "" if something does
	taken string // what to say when no slot is free
	holds map[core.TicketKey]bool
}

// foresee says in the records of a run which calls would not start an attempt, because a gate
// has no slot for them or lets nothing pass.
func (all *rooms) foresee(ctx context.Context, row *store.Run, in *core.Control, found []view.ControlRecord) error {
	if in.Operation != core.RetryNow || len(found) == 0 {
		return nil
	}
	rows, err := all.client.db.Calls(ctx, row.Partition, row.ID)
	if err != nil {
		return err
	}
	gated := map[int64]bool{}
	for i := range rows {
		if p, err := core.DecodeProgress(rows[i].Data); err == nil && p.HasGates() {
			gated[rows[i].Number] = true
		}
	}
	if len(gated) == 0 {
		return nil
	}
	s, err := all.client.read.Read(ctx, row) // the row of a call does not name its gates
	if err != nil {
		return err
	}
	for i := range found {
		r := &found[i]
		if r.Outcome != view.Selected || !gated[r.Call] {
			continue
		}
		names, limits := s.GatesOf(r.Call)
		why, err := all.enter(ctx, core.TicketKey{Workflow: row.WorkflowID, Run: row.ID, Call: r.Call}, names, limits)
		if err != nil {
			return err
		}
		if why != "" {
			r.Outcome, r.Note = view.WouldWait, r.Note+"; then it waits at "+why
		}
	}
	return nil
}

// enter takes the slots that an attempt of a call needs, and returns the gate at which it would
// wait instead and why, "" for none. The call asks one gate after the other, and keeps none of
// them while it waits for another.
func (all *rooms) enter(ctx context.Context, call core.TicketKey, names []string, limits []int) (string, error) {
	var needed []*room
	for i, name := range names {
		g, err := all.room(ctx, name, limits[i])
		switch {
		case err != nil:
			return "", err
		case g.shut != "":
			return g.shut, nil
		case g.holds[call]:
		case g.free <= 0:
			return g.taken, nil
		default:
			needed = append(needed, g)
		}
	}
	for _, g := range needed {
		g.free--
	}
	return "", nil
}

// room returns a gate. One that does not exist yet begins with the limit of its first call.
func (all *rooms) room(ctx context.Context, name string, limit int) (*room, error) {
	if g, known := all.gates[name]; known {
		return g, nil
	}
	g := &room{free: limit, holds: map[core.TicketKey]bool{}, taken: "gate " + name + ": those before it take its slots"}
	m, err := all.client.read.Gate(ctx, name)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	if err == nil {
		s := m.Stats(all.client.now())
		g.free = s.Limit - s.Holders - s.Depth
		g.taken = fmt.Sprintf("gate %s: %d of its %d slots are taken, and those before it in line come first", name, s.Holders, s.Limit)
		switch {
		case s.Paused:
			g.shut = "gate " + name + ", which is paused"
		case s.OpenUntil > all.client.now():
			g.shut = "gate " + name + ", whose circuit breaker is open"
		}
		for _, t := range m.Tickets() {
			if key := t.Key; t.Slot {
				key.Ticket = 0
				g.holds[key] = true
			}
		}
	}
	if all.gates == nil {
		all.gates = map[string]*room{}
	}
	all.gates[name] = g
	return g, nil
}
