package memory

import (
	"context"
	"slices"

	"github.com/perdure/perdure/store"
)

func (h *handle) Group(ctx context.Context, name string) (store.Group, error) {
	if err := store.CheckGroup(name); err != nil {
		return store.Group{}, err
	}
	if err := h.write(ctx); err != nil {
		return store.Group{}, err
	}
	defer h.done()
	group := h.db.group(name)
	group.Codecs = h.db.mark
	return group, nil
}

// group finds a group, or makes it and its partitions after those there are.
func (db *Database) group(name string) store.Group {
	if g, ok := db.groups[name]; ok {
		return g
	}
	g := store.Group{Name: name, First: len(db.partitions), Partitions: db.info.Partitions}
	for _, id := range g.All() {
		db.partitions = append(db.partitions, newPartition(id))
	}
	db.groups[name] = g
	return g
}

// partition returns nil if there is none of this number.
func (db *Database) partition(id int) *partition {
	if id >= len(db.partitions) {
		return nil
	}
	return db.partitions[id]
}

// these are the partitions with the given numbers: see existing.
func (db *Database) these(ids []int) []*partition { return existing(ids, db.partition) }

// places are the partitions and wards with the given numbers: see existing.
func (db *Database) places(ids []int) []*place { return existing(ids, db.place) }

// existing is what has one of the numbers, in their order, each once, without those of nothing.
func existing[T any](ids []int, find func(id int) *T) (all []*T) {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if x := find(id); x != nil {
			all = append(all, x)
		}
	}
	return all
}

// place returns nil if there is none of this number.
func (db *Database) place(id int) *place {
	home, ward := store.SplitPlace(id)
	p := db.partition(home)
	switch {
	case p == nil:
		return nil
	case ward == 0:
		return &p.place
	}
	return p.ward(ward)
}

// allPlaces are all partitions, then all wards.
func (db *Database) allPlaces() []*place {
	var all, wards []*place
	for _, p := range db.partitions {
		all, wards = append(all, &p.place), append(wards, p.wards...)
	}
	return append(all, wards...)
}
