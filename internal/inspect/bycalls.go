package inspect

import (
	"cmp"
	"context"
	"slices"

	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// callSearch finds runs by what several states of calls have in common. A run with a call in
// the first state is one of them; of the others what it waits for tells.
type callSearch struct {
	states []store.CallState
	has    func(*view.Wait) bool
}

// callSearches are by the value of view.Filter.Call. Retrying are the calls that view.Call
// says Retries of, paused those of which it says Rests.
var callSearches = map[string]callSearch{
	view.CallRetrying: {[]store.CallState{store.Backoff, store.Gated, store.Queued, store.Offered}, func(w *view.Wait) bool { return w.Retrying > 0 }},
	view.CallPaused:   {[]store.CallState{store.Paused, store.Queued, store.Offered}, func(w *view.Wait) bool { return w.Paused > 0 }},
}

// byCalls returns a page of the runs that a search by calls finds, newest first, with what they
// wait for. A bounded one looks at most runs and returns the last of them if there are more.
func (in *Inspector) byCalls(ctx context.Context, f store.Filter, s callSearch, most int) (found []view.Run, stopped string, err error) {
	o, err := in.obstacles(ctx)
	if err != nil {
		return nil, "", err
	}
	f.Limit = store.Page(f.Limit)
	for looked := 0; ; {
		rows, floor, err := in.inStates(ctx, f, s.states)
		if err != nil {
			return nil, "", err
		}
		for i := range rows {
			row := &rows[i]
			r := runOf(&row.Run)
			if err := o.addWait(ctx, &row.Run, &r); err != nil {
				return nil, "", err
			}
			if row.first || r.Wait != nil && s.has(r.Wait) {
				found = append(found, r)
			}
			looked++
			switch {
			case len(found) == f.Limit:
				return found, "", nil
			case looked == most && (floor != "" || i+1 < len(rows)):
				return found, row.ID, nil
			}
		}
		if floor == "" {
			return found, "", nil
		}
		f.Before = floor
	}
}

// stateRow is a run with a call in one of several states.
type stateRow struct {
	store.Run
	first bool // in the first of them
}

// inStates lists runs with a call in any of several states, each once and newest first, as far
// as they were read of all states: floor is the last of these runs, empty if they are all.
func (in *Inspector) inStates(ctx context.Context, f store.Filter, states []store.CallState) (rows []stateRow, floor string, err error) {
	for i, state := range states {
		f.Call = state
		some, err := in.db.List(ctx, f)
		if err != nil {
			return nil, "", err
		}
		if len(some) >= f.Limit {
			floor = max(floor, some[len(some)-1].ID)
		}
		for _, row := range some {
			rows = append(rows, stateRow{row, i == 0})
		}
	}
	// Of a run that was found twice the first state comes first.
	slices.SortStableFunc(rows, func(a, b stateRow) int { return cmp.Compare(b.ID, a.ID) })
	rows = slices.CompactFunc(rows, func(a, b stateRow) bool { return a.ID == b.ID })
	return slices.DeleteFunc(rows, func(r stateRow) bool { return r.ID < floor }), floor, nil
}
