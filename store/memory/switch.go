package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/perdure/perdure/store"
)

func (h *handle) Switch(ctx context.Context, s store.Switch) (store.Switch, error) {
	if err := h.writeChecked(ctx, s.Validate()); err != nil {
		return store.Switch{}, err
	}
	defer h.done()
	db := h.db
	log := db.switches[s.Group]
	if at := slices.IndexFunc(log, func(o store.Switch) bool { return o.Request == s.Request }); at >= 0 {
		return log[at], nil
	}
	s.Number, s.Time = 1, db.clock()
	if len(log) > 0 { // the last entry is never deleted
		s.Number = log[len(log)-1].Number + 1
	}
	db.switches[s.Group] = append(log, s)
	db.announce(store.NewsSwitches)
	return s, nil
}

func (h *handle) Switches(ctx context.Context, group string, after int64) ([]store.Switch, error) {
	if err := h.read(ctx); err != nil {
		return nil, err
	}
	defer h.db.mu.RUnlock()
	log := h.db.switches[group]
	from, _ := slices.BinarySearchFunc(log, after+1, func(s store.Switch, n int64) int { return cmp.Compare(s.Number, n) })
	return slices.Clone(log[from:]), nil
}
