package inspect

import (
	"context"
	"slices"

	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// Canary returns an entry of the log that is about a canary.
func Canary(s store.Switch) view.Canary {
	return view.Canary{
		Group: s.Group, Build: s.Name, Percent: float64(s.Share) * 100 / store.WholeShare, Ended: !s.Off,
		Request: s.Request, By: s.By, Why: s.Why, Time: at(s.Time),
	}
}

// Canaries returns the log of canaries of the group, oldest first. The last one counts.
func (in *Inspector) Canaries(ctx context.Context) ([]view.Canary, error) {
	log, err := in.switches(ctx, store.SwitchCanary)
	all := make([]view.Canary, len(log))
	for i, w := range log {
		all[i] = Canary(w)
	}
	return all, err
}

// CurrentCanary returns the canary that is in force, nil if none is.
func (in *Inspector) CurrentCanary(ctx context.Context) (*view.Canary, error) {
	log, err := in.Canaries(ctx)
	if len(log) == 0 || err != nil || log[len(log)-1].Ended {
		return nil, err
	}
	return &log[len(log)-1], nil
}

// switches are the entries of one kind in the log of the group.
func (in *Inspector) switches(ctx context.Context, kind string) ([]store.Switch, error) {
	if err := in.check(ctx); err != nil {
		return nil, err
	}
	log, err := in.db.Switches(ctx, in.group.Name, 0)
	return slices.DeleteFunc(log, func(w store.Switch) bool { return w.Kind != kind }), err
}
