package record

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// Decode decodes the record of a run. With a *history.DamageError it also returns what
// precedes the damage.
func Decode(r *store.Record) (*core.Past, error) {
	p := &core.Past{Rows: Rows(r.Calls), State: State(r.Run.RunState)}
	if n := len(r.Turns); n > 0 {
		p.Last = r.Turns[n-1].Number
	}
	var err error
	if p.Start, err = Start(&r.Run); err != nil {
		return p, err
	}
	var damage []*history.DamageError
	if p.Turns, damage = Turns(&p.Start, 0, r.Turns); len(damage) > 0 {
		p.Turns = Before(p.Turns, damage[0].Turn)
		return p, damage[0]
	}
	return p, nil
}

// Start decodes the start event of a run: see history.OpenStart.
func Start(r *store.Run) (history.Start, error) { return history.OpenStart(entity.Row(r), r.Start) }

// words keeps what one history taught for the next one: runs of one workflow have the same
// names, nodes and policies.
var words = sync.Pool{New: func() any { return new(history.Words) }}

// Turns decodes turns of a run's history that follow the turn with the number after. It also
// returns which turns are unreadable or missing.
func Turns(start *history.Start, after int64, stored []store.TurnRow) (turns []core.StoredTurn, damage []*history.DamageError) {
	known := words.Get().(*history.Words)
	defer words.Put(known)
	turns = make([]core.StoredTurn, 0, len(stored))
	bad := func(err error) {
		d, _ := errors.AsType[*history.DamageError](err)
		damage = append(damage, d)
	}
	for _, t := range stored {
		switch missing := t.Number - after - 1; {
		case missing == 1:
			bad(history.DamagedTurn(after+1, history.ErrMissing))
		case missing > 1:
			bad(history.DamagedTurn(after+1, fmt.Errorf("%w, as are the %d that follow", history.ErrMissing, missing-1)))
		}
		after = t.Number
		events, err := known.OpenTurn(start.Author(t.Number), t.Number, t.Time, t.Events)
		if err != nil {
			bad(err)
			if !history.IsCoded(err) {
				continue
			}
		}
		turns = append(turns, core.StoredTurn{Number: t.Number, Epoch: t.Epoch, Time: t.Time, Events: events})
	}
	return turns, damage
}

// Before returns the turns with numbers below number.
func Before(turns []core.StoredTurn, number int64) []core.StoredTurn {
	if i := slices.IndexFunc(turns, func(t core.StoredTurn) bool { return t.Number >= number }); i >= 0 {
		return turns[:i]
	}
	return turns
}

// Rows converts the rows of calls, of the tickets of a gate or of the fires of a schedule.
func Rows(calls []store.Call) (rows []core.Row) {
	for _, c := range calls {
		rows = append(rows, core.Row{
			Call: c.Number, First: c.First, State: core.CallState(c.State), Name: c.Name, Queue: c.Queue,
			Attempt: c.Attempt, Due: c.Due, Data: c.Data,
		})
	}
	return rows
}

// State converts the part of a row that turns change.
func State(s store.RunState) core.State {
	return core.State{Status: core.Status(s.Status), Wake: s.Wake, Closed: s.Closed, Detail: s.Detail, Full: s.Full}
}

// Attributes returns the attributes of a run by name, nil if it has none.
func Attributes(row []store.Attribute) (all map[string]string) {
	for _, a := range row {
		if a.Name == keyAttribute {
			continue
		}
		if all == nil {
			all = make(map[string]string, len(row))
		}
		all[a.Name] = a.Value
	}
	return all
}

// MayFollow reports whether a child may use the workflow ID of an existing closed run. A fire
// of a schedule never may: each time fires once. Starts of one parent arrive in order, so the
// existing run was not started later than the child.
func MayFollow(start *history.Start, existing *store.Run) bool {
	p := start.Parent
	if existing.Status.Open() || existing.Status == store.Continued || entity.KindOf(p.WorkflowID) != entity.Run {
		return false
	}
	switch p.Reuse {
	case history.ReuseEnded:
		return true
	case history.ReuseFailed:
		return existing.Status != store.Completed
	case history.ReuseOwn:
		before, err := Start(existing)
		was := before.Parent // of one chain with the parent
		return err == nil && existing.Type == start.Type && was != nil && was.WorkflowID == p.WorkflowID && was.Chain == p.Chain
	}
	return false
}
