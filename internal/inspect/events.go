package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

const (
	mostTurns  = 500 // turns read at a time, of a part of a history
	probeTurns = 16  // turns read at a time when searching for a call
)

// Events returns a part of the history of a run, the start event first. Each event of a
// call has the call's name, which history itself records only once, and the types of its
// errors. An unreadable turn is replaced by an event of kind TurnDamaged whose note says
// what is wrong. The error is a *history.InputError if the part is invalid.
func (in *Inspector) Events(ctx context.Context, workflowID, run string, part view.HistoryRange) ([]view.Event, error) {
	if err := errors.Join(checkLimit(part.Limit), checkPart(&part)); err != nil {
		return nil, err
	}
	row, err := in.Find(ctx, workflowID, run)
	if err != nil {
		return nil, err
	}
	start, unread := record.Start(row)
	first, err := beginning(&start, unread)
	if err != nil {
		return nil, err
	}
	e := events{in: in, row: row, start: &start, part: part, names: map[int64]string{}}
	e.add(&first)
	if part.After.Event == view.EndOfTurn {
		e.from = part.After.Turn
	} else {
		e.from = max(part.After.Turn-1, 0) // the turn of the place may have events after it
	}
	if e.full() {
		return e.all, nil
	}
	n := mostTurns
	if part.Limit > 0 {
		n = min(part.Limit+1, mostTurns)
	}
	var failed error
	_, err = in.each(ctx, row, &start, e.from, n, func(some stretch) (more bool) {
		failed = e.read(ctx, some)
		return failed == nil && !e.full()
	})
	if err = cmp.Or(failed, err); err != nil {
		return nil, err
	}
	return e.all, nil
}

func checkPart(p *view.HistoryRange) error {
	if p.After.Turn < 0 || p.After.Event < 0 {
		return &history.InputError{What: fmt.Sprintf("place in the history, %d.%d,", p.After.Turn, p.After.Event), Problem: "has a negative number; turns count from 0, their events from 1"}
	}
	if p.Call < 0 {
		return &history.InputError{What: fmt.Sprintf("call %d", p.Call), Problem: "is none; calls are numbered from 1"}
	}
	return nil
}

// events is a part of a history that is being read.
type events struct {
	in    *Inspector
	row   *store.Run
	start *history.Start
	part  view.HistoryRange
	from  int64            // read turns after this one
	names map[int64]string // names of calls; empty for one that is no longer searched
	all   []view.Event
}

func (e *events) full() bool { return e.part.Limit > 0 && len(e.all) >= e.part.Limit }

// selects reports whether an event belongs to the part and fits.
func (e *events) selects(ev *view.Event) bool {
	return e.part.After.Before(ev) && (e.part.Call == 0 || e.part.Call == ev.Call) && !e.full()
}

func (e *events) add(ev *view.Event) {
	if e.selects(ev) {
		e.all = append(e.all, *ev)
	}
}

// read adds the events of a part of the history, and in place of turns that cannot be read what is
// wrong.
func (e *events) read(ctx context.Context, some stretch) error {
	if err := e.nameCalls(ctx, some.turns); err != nil {
		return err
	}
	damaged := func(before int64) error {
		for ; len(some.damage) > 0 && some.damage[0].Turn < before; some.damage = some.damage[1:] {
			if some.damage[0].Coded {
				continue // the events of its face are there
			}
			ev, err := damagedEvent(some.damage[0])
			if err != nil {
				return err
			}
			e.add(&ev)
		}
		return nil
	}
	for _, t := range some.turns {
		err := damaged(t.Number)
		if err == nil {
			err = e.addTurn(t)
		}
		if err != nil {
			return err
		}
	}
	return damaged(math.MaxInt64)
}

// addTurn adds the events of a turn.
func (e *events) addTurn(t core.StoredTurn) error {
	for i, ev := range t.Events {
		ev.Name = cmp.Or(ev.Name, e.names[ev.Call])
		out := view.Event{Turn: t.Number, Number: i + 1, Time: at(t.Time), Kind: string(ev.Kind), Call: ev.Call, Name: ev.Name}
		if !e.selects(&out) {
			continue
		}
		in := shown(t, ev)
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		out.ErrorType, out.Record = in.ErrorType, text
		e.all = append(e.all, out)
	}
	return nil
}

// nameCalls finds the names of the calls of turns: in these turns, or in those before the
// part.
func (e *events) nameCalls(ctx context.Context, turns []core.StoredTurn) error {
	var others []int64
	for _, t := range turns {
		for i := range t.Events {
			ev := &t.Events[i]
			if ev.Call == 0 {
				continue
			}
			if ev.Name != "" {
				e.names[ev.Call] = ev.Name
			} else if _, known := e.names[ev.Call]; !known && e.from > 0 {
				e.names[ev.Call] = ""
				others = append(others, ev.Call)
			}
		}
	}
	slices.Sort(others)
	return e.bisect(ctx, 0, e.from, others)
}

// bisect finds the names of calls that began after one turn and not after another. Calls
// are numbered in the order in which they begin, so a few turns in the middle tell where
// the others began. Turns in which no call begins tell nothing.
func (e *events) bisect(ctx context.Context, above, to int64, calls []int64) error {
	if len(calls) == 0 || above >= to {
		return nil
	}
	probe := max(above, above+(to-above-probeTurns)/2)
	stored, err := e.in.db.History(ctx, e.row.Partition, e.row.ID, probe, int(min(probeTurns, to-probe)))
	if err != nil {
		return err
	}
	turns, _ := record.Turns(e.start, probe, stored)
	for _, t := range turns {
		for _, ev := range t.Events {
			if ev.Call == 0 || ev.Name == "" {
				continue
			}
			e.names[ev.Call] = ev.Name
		}
	}
	least, greatest := begun(turns)
	var lower, upper []int64
	for _, c := range calls {
		if e.names[c] != "" {
			continue
		}
		if c < least {
			lower = append(lower, c)
		}
		if c > greatest {
			upper = append(upper, c)
		}
	}
	if err := e.bisect(ctx, above, probe, lower); err != nil {
		return err
	}
	return e.bisect(ctx, probe+probeTurns, to, upper)
}
