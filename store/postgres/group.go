package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

func (h *handle) Group(ctx context.Context, name string) (store.Group, error) {
	group := store.Group{Name: name, Partitions: h.info.Partitions}
	if err := store.CheckGroup(name); err != nil {
		return store.Group{}, err
	}
	err := h.share(ctx, "Group", func(c *conn) error {
		if err := c.codecs(ctx, &group.Codecs); err != nil {
			return err
		}
		found, err := c.one(ctx, `SELECT first FROM perdure.node_groups WHERE name = $1`, []any{name}, &group.First)
		if err != nil || found {
			return err
		}
		return c.transact(ctx, func(pgx.Tx) (err error) {
			group.First, err = c.addGroup(ctx, name, h.info.Partitions)
			return err
		})
	})
	if err == nil && h.distributed {
		err = h.learnDomains(ctx, group.First+group.Partitions)
	}
	if err != nil {
		return store.Group{}, err
	}
	return group, nil
}

// addGroup creates a group and its partitions, numbered after the existing ones, unless
// another caller was first. One group is created at a time.
func (c *conn) addGroup(ctx context.Context, name string, partitions int) (first int, err error) {
	if _, err := c.exec(ctx, `LOCK TABLE perdure.node_groups IN SHARE ROW EXCLUSIVE MODE`); err != nil {
		return 0, err
	}
	found, err := c.one(ctx, `SELECT first FROM perdure.node_groups WHERE name = $1`, []any{name}, &first)
	if err != nil || found {
		return first, err
	}
	_, err = c.one(ctx, `INSERT INTO perdure.node_groups (name, first) SELECT $1, coalesce(max(first) + $2, 0) FROM perdure.node_groups RETURNING first`,
		[]any{name, partitions}, &first)
	if err != nil {
		return 0, err
	}
	return first, c.send(ctx, func(b *batch) {
		b.do(`INSERT INTO perdure.partitions (id) SELECT generate_series($1::bigint, $1 + $2 - 1)`, first, partitions)
		if c.h.distributed {
			b.do(`INSERT INTO perdure.places (partition) SELECT generate_series($1::bigint, $1 + $2 - 1) ON CONFLICT DO NOTHING`, first, partitions)
		}
	})
}

// countPartitions is the query of how many partitions exist, if each group has $1.
const countPartitions = `SELECT max(first) + $1 FROM perdure.node_groups`

// known returns an error if a partition does not exist. Partitions are numbered without gaps and
// never removed, so few calls reach the database.
func (h *handle) known(ctx context.Context, c *conn, partition int) error {
	if int64(partition) < h.partitions.Load() {
		return nil
	}
	var n int64
	if _, err := c.one(ctx, countPartitions, []any{h.info.Partitions}, &n); err != nil {
		return err
	}
	h.partitions.Store(n)
	if int64(partition) >= n {
		return store.NoPartition(partition)
	}
	return nil
}
