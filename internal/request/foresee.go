package request

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/inspect"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// foresight says in the records of a dry run what would come of the operation: which calls would
// start no attempt, and how runs would go on after a move. It is asked about one run after the
// other, and knows what those before have taken.
type foresight struct {
	client *Client
	gates  map[string]*room  // to which the calls would come
	paused map[string]bool   // activities and inline steps; nil: not read yet
	moves  map[string]string // what would happen to runs, by workflow and build
}

// room is a gate, with the slots that are left when the calls before have taken theirs.
type room struct {
	free  int    // slots
	shut  string // why nothing passes, "" if something does
	taken string // what to say when no slot is free
	holds map[core.TicketKey]bool
}

// add says in the records of a run what would come of the operation.
func (f *foresight) add(ctx context.Context, row *store.Run, in *core.Control, found []view.ControlRecord) error {
	switch {
	case len(found) == 0:
	case in.Operation == core.RetryNow:
		return f.retries(ctx, row, in, found)
	case in.Operation == core.MoveTheRun:
		return f.move(ctx, row, in, found)
	}
	return nil
}

// retries says which calls would not start an attempt: those that wait for one already, those that
// would be refused, those whose activity is paused, and those for which a gate has no slot.
func (f *foresight) retries(ctx context.Context, row *store.Run, in *core.Control, found []view.ControlRecord) error {
	if d, err := core.DecodeDetail(row.Detail); err == nil && d.Paused != nil {
		for i := range found {
			found[i].Outcome, found[i].Note = view.Refused, core.RunIsPaused
		}
		return nil
	}
	rows, err := f.client.db.Calls(ctx, row.Partition, row.ID)
	if err == nil && f.paused == nil {
		err = f.readPaused(ctx)
	}
	if err != nil {
		return err
	}
	rows = store.Apart(rows)
	var s *inspect.Snapshot // read for a call at gates, which its row does not name
	for i := range found {
		r := &found[i]
		at, is := slices.BinarySearchFunc(rows, r.Call, func(c store.Call, call int64) int { return cmp.Compare(c.Number, call) })
		if !is {
			if r.Note == core.StateRunning { // a step or a block of code, which has no row
				r.Outcome, r.Note = view.Unchanged, core.Already(core.Dispatched)
			}
			continue
		}
		p, err := core.DecodeProgress(rows[at].Data)
		if err != nil {
			p = &core.Progress{}
		}
		foreseeRetry(&rows[at], p, in, f.paused[inspect.CodeName(row.Type, rows[at].Name, p.Inline)], r)
		if r.Outcome != view.Selected || !p.HasGates() {
			continue
		}
		if s == nil {
			if s, err = f.client.read.Read(ctx, row); err != nil {
				return err
			}
		}
		why, err := f.enter(ctx, core.TicketKey{Workflow: row.WorkflowID, Run: row.ID, Call: r.Call}, s.GatesOf(r.Call))
		if err != nil {
			return err
		}
		if why != "" {
			r.Outcome, r.Note = view.WouldWait, r.Note+"; then it waits at "+why
		}
	}
	return nil
}

// readPaused reads what is paused in the group.
func (f *foresight) readPaused(ctx context.Context) error {
	paused, err := f.client.read.Switches(ctx, true)
	if err != nil {
		return err
	}
	f.paused = map[string]bool{}
	for _, s := range paused {
		f.paused[s.Name] = s.Paused
	}
	return nil
}

func foreseeRetry(call *store.Call, p *core.Progress, in *core.Control, paused bool, r *view.ControlRecord) {
	if note := core.Already(core.CallState(call.State)); note != "" {
		r.Outcome, r.Note = view.Unchanged, note
	}
	switch call.State {
	case store.InDoubt:
		r.Note = "an attempt may have had its effect: this repeats it all the same"
	case store.Quarantined:
		if core.CrashedEverywhere(in.Builds, p.CrashedOn) {
			r.Outcome, r.Note = view.Refused, core.CrashesAgain(len(p.CrashedOn))
		}
	}
	if paused && r.Outcome == view.Selected {
		r.Outcome, r.Note = view.WouldWait, r.Note+"; then it waits until its activity is resumed"
	}
}

// enter takes the slots that an attempt of a call needs, and returns the gate at which it would
// wait instead and why, "" for none. The call asks one gate after the other, and keeps none of
// them while it waits for another.
func (f *foresight) enter(ctx context.Context, call core.TicketKey, gates []history.GateSpec) (string, error) {
	var needed []*room
	for i := range gates {
		g, err := f.room(ctx, gates[i].Name, gates[i].Limit)
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
func (f *foresight) room(ctx context.Context, name string, limit int) (*room, error) {
	if g, known := f.gates[name]; known {
		return g, nil
	}
	g := &room{free: limit, holds: map[core.TicketKey]bool{}, taken: "gate " + name + ": those before it take its slots"}
	m, err := f.client.read.Gate(ctx, name)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	if err == nil {
		s := m.Stats(f.client.now())
		g.free = s.Limit - s.Holders - s.Depth
		g.taken = fmt.Sprintf("gate %s: %d of its %d slots are taken, and those before it in line come first", name, s.Holders, s.Limit)
		switch {
		case s.Paused:
			g.shut = "gate " + name + ", which is paused"
		case s.OpenUntil > f.client.now():
			g.shut = "gate " + name + ", whose circuit breaker is open"
		}
		for _, t := range m.Tickets() {
			if key := t.Key; t.Slot {
				key.Ticket = 0
				g.holds[key] = true
			}
		}
	}
	if f.gates == nil {
		f.gates = map[string]*room{}
	}
	f.gates[name] = g
	return g, nil
}

// staysWhere returns why moving a run to another build would do nothing, or "".
func staysWhere(row *store.Run, in *core.Control) string {
	d, _ := core.DecodeDetail(row.Detail) // an unreadable detail names no build
	_, why := core.WouldMove(d.Pin, in)
	return why
}

// move says how a run would go on at another build.
func (f *foresight) move(ctx context.Context, row *store.Run, in *core.Control, found []view.ControlRecord) error {
	if f.moves == nil {
		f.moves = map[string]string{}
	}
	d, _ := core.DecodeDetail(row.Detail)
	key := row.Type + "\x00" + d.Pin
	if _, known := f.moves[key]; !known {
		says, err := f.client.read.WouldMove(ctx, row, d.Pin, in.To)
		if err != nil {
			return err
		}
		f.moves[key] = says
	}
	for i := range found {
		found[i].Note += "; " + f.moves[key]
	}
	return nil
}
