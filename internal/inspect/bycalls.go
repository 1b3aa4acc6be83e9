package inspect

import (
	"cmp"
	"context"
	"slices"

	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// callSearch finds runs by a property that calls in several states may have. Every run with
// a call in the first state qualifies. For the others it depends on what the run waits for.
type callSearch struct {
	states []store.CallState
	has    func(*view.Wait) bool
}

// callSearches are the searches by the value of view.Filter.Call. Retrying calls are those
// with Retries in view.Call, paused calls those with Rests.
var callSearches = map[string]callSearch{
	view.CallRetrying: {[]store.CallState{store.Backoff, store.Gated, store.Queued, store.Offered}, func(w *view.Wait) bool { return w.Retrying > 0 }},
	view.CallPaused:   {[]store.CallState{store.Paused, store.Queued, store.Offered}, func(w *view.Wait) bool { return w.Paused > 0 }},
}

// byCalls returns a page of the runs that a search by calls finds, newest first, with what
// they wait for. If most is set it looks at that many runs at most, and returns the last of
// them if there are more.
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
	first bool // in the first state
}

// inStates lists the runs with a call in any of several states, without duplicates and
// newest first, as far as all states were read. floor is the last of these runs, "" if they
// are complete.
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
	// For a run that was found twice, the first state wins.
	slices.SortStableFunc(rows, func(a, b stateRow) int { return cmp.Compare(b.ID, a.ID) })
	rows = slices.CompactFunc(rows, func(a, b stateRow) bool { return a.ID == b.ID })
	return slices.DeleteFunc(rows, func(r stateRow) bool { return r.ID < floor }), floor, nil
}
