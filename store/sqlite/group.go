package sqlite

import (
	"context"

	"github.com/perdure/perdure/store"
)

func (h *handle) Group(ctx context.Context, name string) (store.Group, error) {
	group := store.Group{Name: name, Partitions: h.info.Partitions}
	if err := store.CheckGroup(name); err != nil {
		return store.Group{}, err
	}
	first := int64(-1)
	find := func(c *conn) error {
		if _, err := c.one(`SELECT partition FROM node_groups WHERE name = ?`, []*int64{&first}, name); err != nil {
			return err
		}
		mark, err := c.codecs()
		group.Codecs = mark
		return err
	}
	err := h.read(ctx, "Group", find)
	if err == nil && first < 0 {
		err = h.write(ctx, "Group", func(c *conn) error {
			if err := find(c); err != nil || first >= 0 { // another caller was faster
				return err
			}
			if _, err := c.one(`INSERT INTO partitions (id) SELECT max(id) + 1 FROM partitions RETURNING id`, []*int64{&first}); err != nil {
				return err
			}
			_, err := c.exec(`INSERT INTO node_groups (name, partition) VALUES (?, ?)`, name, first)
			return err
		})
	}
	if err != nil {
		return store.Group{}, err
	}
	group.First = int(first)
	return group, nil
}

// ofPartitions returns what f reads in each of the partitions; see eachPartition.
func ofPartitions[T any](ctx context.Context, h *handle, op string, partitions []int, every bool, f func(c *conn, partition int) ([]T, error)) (all []T, err error) {
	err = h.eachPartition(ctx, op, partitions, every, func(c *conn, partition int) error {
		some, err := f(c, partition)
		if all == nil { // mostly there is one partition
			all = some
		} else {
			all = append(all, some...)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// eachPartition runs f for each of the partitions, or for all existing ones, in order and
// in one snapshot.
func (h *handle) eachPartition(ctx context.Context, op string, partitions []int, every bool, f func(c *conn, partition int) error) error {
	listed, err := h.info.Ordered(partitions)
	if err != nil {
		return err
	}
	return h.snapshot(ctx, op, func(c *conn) error {
		if every {
			err := c.query(ctx, `SELECT id FROM partitions ORDER BY id`, func(r row) error {
				listed = append(listed, int(r.int(0)))
				return nil
			})
			if err != nil {
				return err
			}
		}
		for _, p := range listed {
			if err := f(c, p); err != nil {
				return err
			}
		}
		return nil
	})
}
