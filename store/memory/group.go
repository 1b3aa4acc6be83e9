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
	return h.db.group(name), nil
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

// these are the partitions with the given numbers, in order, each once, without
// those that do not exist.
func (db *Database) these(ids []int) []*partition {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	var partitions []*partition
	for _, id := range slices.Compact(ids) {
		if p := db.partition(id); p != nil {
			partitions = append(partitions, p)
		}
	}
	return partitions
}
