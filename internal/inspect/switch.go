package inspect

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// Switches returns the log of pauses and resumptions in the group, oldest first. With
// current it returns only what is paused now, by kind and name.
func (in *Inspector) Switches(ctx context.Context, current bool) ([]view.SwitchRecord, error) {
	log, err := in.switches(ctx, store.SwitchActivity)
	if err != nil {
		return nil, err
	}
	if current {
		latest := map[string]store.Switch{}
		for _, w := range log {
			latest[w.Name] = w
		}
		maps.DeleteFunc(latest, func(_ string, w store.Switch) bool { return !w.IsOff(in.now()) })
		if log, err = in.withHeld(ctx, slices.Collect(maps.Values(latest))); err != nil {
			return nil, err
		}
	}
	out := make([]view.SwitchRecord, len(log))
	for i, w := range log {
		out[i] = SwitchRecord(w)
	}
	return out, nil
}

// withHeld adds the activities that are held because their calls ended processes, and sorts all.
func (in *Inspector) withHeld(ctx context.Context, paused []store.Switch) ([]store.Switch, error) {
	off, err := in.paused(ctx)
	for _, w := range off {
		if w.Kind == store.SwitchCrash {
			paused = append(paused, w)
		}
	}
	slices.SortFunc(paused, func(a, b store.Switch) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	return paused, err
}

// SwitchRecord returns an entry of the log.
func SwitchRecord(s store.Switch) view.SwitchRecord {
	return view.SwitchRecord{
		Group: s.Group, Kind: s.Kind, Name: s.Name, Paused: s.Off, Request: s.Request, By: s.By, Why: s.Why,
		Time: at(s.Time), Until: optional(s.Ends()),
	}
}
