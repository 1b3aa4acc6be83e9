package inspect

import (
	"context"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// List returns runs, newest first. Pages that continue from the last run of the page
// before neither repeat nor skip a run that existed all the time.
func (in *Inspector) List(ctx context.Context, filter view.Filter) ([]view.Run, error) {
	if err := in.check(ctx); err != nil {
		return nil, err
	}
	selected, err := RunFilter(filter, in.group.All())
	if err != nil {
		return nil, err
	}
	rows, err := in.db.List(ctx, selected)
	if err != nil {
		return nil, err
	}
	out := make([]view.Run, len(rows))
	var o *obstacles
	if filter.Waits {
		if o, err = in.obstacles(ctx); err != nil {
			return nil, err
		}
	}
	for i := range rows {
		out[i] = runOf(&rows[i])
		if filter.Waits {
			if err := o.addWait(ctx, &rows[i], &out[i]); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// Counts returns how many runs and calls are in which state.
func (in *Inspector) Counts(ctx context.Context) (view.Counts, error) {
	if err := in.check(ctx); err != nil {
		return view.Counts{}, err
	}
	c, err := in.db.Counts(ctx, in.group.All())
	if err != nil {
		return view.Counts{}, err
	}
	v := view.Counts{Runs: map[string]int{}, Calls: map[string]int{}, NextRetry: optional(c.NextRetry)}
	for status, n := range c.Runs {
		v.Runs[string(status)] = n
	}
	for state, n := range c.Calls {
		v.Calls[core.ShownState(core.CallState(state))] = n
	}
	return v, nil
}

func runOf(r *store.Run) view.Run {
	v := view.Run{
		WorkflowID: r.WorkflowID, RunID: r.ID, Workflow: r.Type, Status: string(r.Status), Attempt: r.Attempt,
		Created: at(r.Created), Closed: optional(r.Closed), Priority: r.Priority, Attributes: record.Attributes(r.Attributes),
	}
	if r.Wake != store.Never && r.Wake > store.Hot {
		v.NextWake = optional(r.Wake)
	}
	if d, err := core.DecodeDetail(r.Detail); readable(err) {
		v.CustomStatus, v.Paused, v.Reason = d.Says, pause(d.Paused), d.Reason
		if d.Failure != nil {
			v.Error, v.ErrorType = d.Failure.Message, d.Failure.TypeName()
		}
	}
	return v
}
