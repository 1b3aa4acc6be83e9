package sqlite

import (
	"context"

	"github.com/perdure/perdure/store"
)

func (h *handle) Claim(ctx context.Context, node string, partitions []int) ([]store.Ownership, error) {
	partitions, err := h.info.Ordered(partitions)
	if err != nil {
		return nil, err
	}
	return written(ctx, h, "Claim", func(c *conn) ([]store.Ownership, error) {
		joined, err := c.one(`SELECT 1 FROM nodes WHERE id = ? AND departed IS NULL`, nil, node)
		if err != nil {
			return nil, err
		}
		if !joined {
			return nil, store.ErrReplaced
		}
		now, claimed := h.clock(), make([]store.Ownership, len(partitions))
		for i, p := range partitions {
			// Its owner is this node: when this node joined, all others were dead.
			if err := c.free(p, node); err != nil {
				return nil, err
			}
			if claimed[i], err = c.claim(p, node, h.marks.clock(p, now)); err != nil {
				return nil, err
			}
		}
		return claimed, nil
	})
}

func (c *conn) claim(partition int, node string, now int64) (store.Ownership, error) {
	o := store.Ownership{Partition: partition, Node: node}
	exists, err := c.one(`UPDATE partitions SET epoch = epoch + 1, node = ?, clock = max(clock, ?) WHERE id = ? RETURNING epoch, clock`,
		[]*int64{&o.Epoch, &o.Clock}, node, now, int64(partition))
	if err != nil {
		return o, err
	}
	if !exists {
		return o, store.NoPartition(partition)
	}
	o.Since = o.Clock
	_, err = c.exec(`INSERT INTO owners (partition, epoch, node, since) VALUES (?, ?, ?, ?)`, int64(partition), o.Epoch, node, o.Since)
	return o, err
}

// free ends a live node's ownership of a partition, if the node owns it.
func (c *conn) free(partition int, node string) error {
	var epoch int64
	owned, err := c.one(`UPDATE partitions SET node = NULL WHERE id = ? AND node = ? RETURNING epoch`, []*int64{&epoch}, int64(partition), node)
	if err != nil || !owned {
		return err
	}
	_, err = c.exec(`UPDATE owners SET survived = 1 WHERE partition = ? AND epoch = ?`, int64(partition), epoch)
	return err
}

// Move implements store.Owner: there is no other node.
func (h *handle) Move(ctx context.Context, move store.Move) error {
	if err := move.Validate(h.info); err != nil {
		return err
	}
	return store.ErrNoPlace
}

// Dissolve implements store.Owner: there are no wards.
func (h *handle) Dissolve(context.Context, int, int64, int) (bool, error) { return true, nil }

func (h *handle) Release(ctx context.Context, node string, partitions []int) error {
	partitions, err := h.info.Ordered(partitions)
	if err != nil {
		return err
	}
	return h.announced(store.NewsNodes, h.write(ctx, "Release", func(c *conn) error {
		for _, p := range partitions {
			if err := c.free(p, node); err != nil {
				return err
			}
		}
		return nil
	}))
}

func (h *handle) Owners(ctx context.Context, partition int) ([]store.Ownership, error) {
	scan := func(r row) store.Ownership {
		o := store.Ownership{Partition: partition}
		r.scan(&o.Epoch, &o.Node, &o.Since, &o.Clock, &o.Survived, &o.Ended, &o.Over)
		return o
	}
	return ofPartition(ctx, h, "Owners", partition, func(c *conn) ([]store.Ownership, error) {
		return collect(ctx, c, scan, `SELECT o.epoch, o.node, o.since, o.since, o.survived OR n.survived, n.departed IS NOT NULL AND (o.epoch < p.epoch OR p.node IS NULL), o.epoch < p.epoch OR p.node IS NULL
			FROM owners o JOIN nodes n ON n.id = o.node JOIN partitions p ON p.id = o.partition
			WHERE o.partition = ? ORDER BY o.epoch`, int64(partition))
	})
}
