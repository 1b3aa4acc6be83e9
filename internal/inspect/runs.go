package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// List returns runs, newest first. A page that continues after the last run of the previous
// one neither repeats nor skips a run that existed throughout.
func (in *Inspector) List(ctx context.Context, filter view.Filter) ([]view.Run, error) {
	p, err := in.page(ctx, filter, false)
	return p.Runs, err
}

// searched is how many of the newest runs Search looks at. It looks at a quarter of that
// for error types, and at a hundredth where it has to find out what each run waits for.
const searched = 100_000

// Search is List for filters for which the database has to look at each run. It looks at
// the newest runs only.
func (in *Inspector) Search(ctx context.Context, filter view.Filter) (view.RunPage, error) {
	return in.page(ctx, filter, true)
}

// floor returns the ID of the last run that a search looks at, or "" if it looks at all,
// because an index finds the runs: those of open or failed status, and those with an
// attribute.
func (in *Inspector) floor(ctx context.Context, f *store.Filter) (string, error) {
	indexed := len(f.Attributes) > 0 || len(f.Status) > 0 && !slices.Contains(f.Status, store.Completed)
	if indexed || f.Type == "" && f.IDPrefix == "" && f.ErrorType == "" {
		return "", nil
	}
	most := in.search
	if f.ErrorType != "" { // it looks at the attempts of each run
		most /= 4
	}
	floor, err := in.db.Floor(ctx, f.Partitions, f.Before, max(1, most/len(f.Partitions)))
	if floor <= f.Above {
		return "", err
	}
	return floor, err
}

func (in *Inspector) page(ctx context.Context, filter view.Filter, bounded bool) (p view.RunPage, err error) {
	if err := in.check(ctx); err != nil {
		return p, err
	}
	text := filter.Text
	if filter.Call == "" {
		filter.Text = ""
	}
	search, byCalls := callSearches[filter.Call]
	if byCalls {
		filter.Call = string(search.states[0])
	}
	selected, err := RunFilter(filter, in.group.All())
	if err != nil {
		return p, err
	}
	most := 0 // how many runs' waits to read; a text costs a fifth of that
	if bounded {
		most = max(1, in.search/100)
		if p.Searched, err = in.floor(ctx, &selected); err != nil {
			return p, err
		}
		if p.Searched != "" {
			selected.Above = ident.Below(p.Searched) // the last run itself is included
		}
	}
	var stopped string
	switch {
	case byCalls:
		p.Runs, stopped, err = in.byCalls(ctx, selected, search, most)
	case text != "":
		p.Runs, stopped, err = in.byText(ctx, selected, text, filter.Waits, 5*most)
	default:
		var rows []store.Run
		if rows, err = in.db.List(ctx, selected); err == nil {
			p.Runs, err = in.shownRuns(ctx, rows, filter.Waits)
		}
	}
	if p.Searched = cmp.Or(stopped, p.Searched); len(p.Runs) >= store.Page(filter.Limit) {
		p.Searched = "" // the next page starts after the last of them
	}
	return p, err
}

func (in *Inspector) shownRuns(ctx context.Context, rows []store.Run, waits bool) ([]view.Run, error) {
	out := make([]view.Run, len(rows))
	var o *obstacles
	if waits {
		var err error
		if o, err = in.obstacles(ctx); err != nil {
			return nil, err
		}
	}
	for i := range rows {
		out[i] = runOf(&rows[i])
		if waits {
			if err := o.addWait(ctx, &rows[i], &out[i]); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// Counts returns how many runs and calls are in each state, up to most of each; 0 counts all.
func (in *Inspector) Counts(ctx context.Context, most int) (view.Counts, error) {
	if err := in.check(ctx); err != nil {
		return view.Counts{}, err
	}
	if most < 0 {
		return view.Counts{}, &history.InputError{What: "number up to which to count", Problem: fmt.Sprintf("is %d, which is negative", most)}
	}
	c, err := in.db.Counts(ctx, in.group.All(), most)
	if err != nil {
		return view.Counts{}, err
	}
	v := view.Counts{Runs: map[string]int{}, Calls: map[string]int{}, Away: c.Away, NextRetry: optional(c.NextRetry)}
	reached := func(n int) {
		if most > 0 && n >= most {
			v.Most = most
		}
	}
	for status, n := range c.Runs {
		v.Runs[string(status)] = n
		reached(n)
	}
	reached(c.Away)
	for state, n := range c.Calls {
		v.Calls[core.ShownState(core.CallState(state))] += n // running ones have two states: here, and on a worker
		reached(n)
	}
	return v, nil
}

// nameOf returns the name under which the workflow of a run is shown.
func nameOf(row *store.Run) string {
	return record.NameOf(row.Type, record.Attributes(row.Attributes)[view.FileAttribute])
}

func runOf(r *store.Run) view.Run {
	v := view.Run{
		WorkflowID: r.WorkflowID, RunID: r.ID, Workflow: r.Type, Status: string(r.Status), Attempt: r.Attempt,
		Created: at(r.Created), Closed: optional(r.Closed), Priority: r.Priority, Key: r.Key, Weight: r.Weight, Attributes: record.Attributes(r.Attributes),
	}
	if name := nameOf(r); name != r.Type {
		v.Workflow, v.Definition = name, r.Type
	}
	if r.Wake != store.Never && r.Wake > store.Hot {
		v.NextWake = optional(r.Wake)
	}
	if d, err := core.DecodeDetail(r.Detail); readable(err) {
		v.CustomStatus, v.Paused, v.Reason, v.Build = d.Says, pause(d.Paused), d.Reason, d.Pin
		v.Error, v.ErrorType = told(d.Failure)
	}
	return v
}
