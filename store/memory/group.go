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
	if err := h.enter(ctx); err != nil {
		return store.Group{}, err
	}
	defer h.done()
	group := h.db.group(name)
	group.Codecs = h.db.mark
	return group, nil
}

// group returns a group. If it does not exist, it is created with new partitions.
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

// partition returns nil if the partition does not exist.
func (db *Database) partition(id int) *partition {
	if id >= len(db.partitions) {
		return nil
	}
	return db.partitions[id]
}

// these returns the existing ones of the partitions; see existing.
func (db *Database) these(ids []int) []*partition { return existing(ids, db.partition) }

// places returns the existing ones of the partitions and wards; see existing.
func (db *Database) places(ids []int) []*place { return existing(ids, db.place) }

// existing returns what find returns for the IDs, sorted, without duplicates and without nil.
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

// place returns nil if the place does not exist.
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

// allPlaces returns all partitions, then all wards.
func (db *Database) allPlaces() []*place {
	var all, wards []*place
	for _, p := range db.partitions {
		all, wards = append(all, &p.place), append(wards, p.wards...)
	}
	return append(all, wards...)
}
