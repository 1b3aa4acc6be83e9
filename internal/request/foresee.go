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
	rows = store.Apart(rows)
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

// foreseeRetries says in the records of a dry run of RetryNow which calls would not start an
// attempt: those that wait for one already, those that would be refused, and those whose
// activity is paused.
func (c *Client) foreseeRetries(ctx context.Context, row *store.Run, in *core.Control, found []view.ControlRecord) error {
	if in.Operation != core.RetryNow || len(found) == 0 {
		return nil
	}
	rows, err := c.db.Calls(ctx, row.Partition, row.ID)
	if err != nil {
		return err
	}
	paused, err := c.read.Switches(ctx, true)
	if err != nil {
		return err
	}
	rows = store.Apart(rows)
	by := map[int64]*store.Call{}
	for i := range rows {
		by[rows[i].Number] = &rows[i]
	}
	off := map[string]bool{}
	for _, s := range paused {
		off[s.Name] = s.Paused
	}
	for i := range found {
		r := &found[i]
		switch call := by[r.Call]; {
		case call != nil:
			foreseeRetry(call, in, off[call.Name], r)
		case r.Note == core.StateRunning: // a step or a block of code, which has no row
			r.Outcome, r.Note = view.Unchanged, core.Already(core.Dispatched)
		}
	}
	return nil
}

func foreseeRetry(call *store.Call, in *core.Control, paused bool, r *view.ControlRecord) {
	if note := core.Already(core.CallState(call.State)); note != "" {
		r.Outcome, r.Note = view.Unchanged, note
	}
	switch call.State {
	case store.InDoubt:
		r.Note = "an attempt may have had its effect: this repeats it all the same"
	case store.Quarantined:
		if p, err := core.DecodeProgress(call.Data); err == nil && core.CrashedEverywhere(in.Builds, p.CrashedOn) {
			r.Outcome, r.Note = view.Refused, core.CrashesAgain(len(p.CrashedOn))
		}
	}
	if paused && r.Outcome == view.Selected {
		r.Outcome, r.Note = view.WouldWait, r.Note+"; then it waits until its activity is resumed"
	}
}

// staysWhere returns why moving a run to another build would do nothing, or "".
func staysWhere(row *store.Run, in *core.Control) string {
	d, _ := core.DecodeDetail(row.Detail) // an unreadable detail names no build
	_, why := core.WouldMove(d.Pin, in)
	return why
}

// previewMove says what would happen to a run that moves to another build.
func (c *Client) previewMove(ctx context.Context, row *store.Run, in core.Control) ([]view.ControlRecord, error) {
	found, err := c.selected(ctx, row, in)
	if err == nil && len(found) == 0 {
		return nil, &RefusedError{Record: view.ControlRecord{
			WorkflowID: row.WorkflowID, RunID: row.ID, Name: in.To, Operation: string(in.Operation), Outcome: view.Refused, Note: staysWhere(row, &in),
		}}
	}
	if err != nil {
		return nil, err
	}
	b := bulk{client: c, in: in, result: view.BulkResult{DryRun: true}}
	err = b.foresee(ctx, []store.Run{*row}, [][]view.ControlRecord{found})
	return found, err
}

// foresee adds to the records of a dry run of moves what would happen to the runs, and to those
// of a dry run of retries which calls would wait at gates.
func (b *bulk) foresee(ctx context.Context, rows []store.Run, found [][]view.ControlRecord) error {
	if b.in.Operation == core.RetryNow && b.result.DryRun {
		if b.rooms == nil {
			b.rooms = &rooms{client: b.client}
		}
		for i := range rows {
			if err := b.rooms.foresee(ctx, &rows[i], &b.in, found[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if b.in.Operation != core.MoveTheRun || !b.result.DryRun {
		return nil
	}
	if b.ahead == nil {
		b.ahead = map[string]string{}
	}
	for i := range rows {
		d, _ := core.DecodeDetail(rows[i].Detail)
		key := rows[i].Type + "\x00" + d.Pin
		if _, known := b.ahead[key]; !known {
			says, err := b.client.read.WouldMove(ctx, &rows[i], d.Pin, b.in.To)
			if err != nil {
				return err
			}
			b.ahead[key] = says
		}
		for j := range found[i] {
			found[i][j].Note += "; " + b.ahead[key]
		}
	}
	return nil
}
