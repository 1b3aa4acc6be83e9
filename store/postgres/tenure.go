package postgres

import (
	"context"
	"slices"

	"github.com/perdure/perdure/store"
)

// takeableAt selects the partitions that a node ($1) may claim at a time: free ones, its own,
// and those of nodes that are gone.
func takeableAt(time string) string {
	return `(p.node = $1 OR NOT EXISTS (SELECT FROM perdure.nodes n WHERE n.id = p.node AND n.departed IS NULL AND n.expires > ` + time + `))`
}

func (h *handle) Claim(ctx context.Context, node string, partitions []int) ([]store.Ownership, error) {
	partitions, err := h.info.Ordered(partitions)
	if err != nil {
		return nil, err
	}
	var claimed []store.Ownership
	err = h.taking(ctx, "Claim", func(c *conn) error {
		if n := len(partitions); n > 0 {
			last, _ := store.SplitPlace(slices.MaxFunc(partitions, byHome))
			if err := h.known(ctx, c, last); err != nil {
				return err
			}
		}
		claimed = nil
		err := c.transaction(ctx, func(b *batch) {
			b.claim(node, partitions, &claimed)
		}, nil)
		if code(err) == noMember {
			return store.ErrReplaced
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, o := range claimed {
		h.observe(o.Clock)
	}
	return claimed, nil
}

// claim adds the statements that make the node the owner of what it may claim. A statement
// of its own locks the rows in order and waits for commits in progress, so the next one
// sees their results. That one reads the time once: what is recorded as the time of a claim is
// the time at which the lease of the owner before was over.
func (b *batch) claim(node string, partitions []int, claimed *[]store.Ownership) {
	b.limitLocks(takePatience)
	b.do(`SELECT CASE WHEN count(*) = 0 THEN perdure.refuse('`+noMember+`', 'the node is no member') END
		FROM (SELECT FROM perdure.nodes WHERE id = $1 AND departed IS NULL FOR KEY SHARE) member`, node)
	b.do(`SELECT FROM perdure.partitions p WHERE id = ANY ($2::bigint[]) AND `+takeableAt(`perdure.now()`)+` ORDER BY id FOR UPDATE`, node, partitions)
	b.query(`WITH moment AS MATERIALIZED (SELECT nextval('perdure.moments') AS at, now, greatest(now, $3) AS clock FROM perdure.now()),
		taken AS (UPDATE perdure.partitions p SET epoch = p.epoch + 1, node = $1,
				clock = greatest(p.clock, moment.clock, (SELECT clock FROM perdure.nodes n WHERE n.id = p.node))
			FROM moment WHERE p.id = ANY ($2::bigint[]) AND `+takeableAt(`moment.now`)+` RETURNING p.id, p.epoch, p.clock),
		ended AS (UPDATE perdure.owners o SET over = moment.at, survived = o.node = $1 FROM taken, moment
			WHERE o.partition = taken.id & `+home+` AND o.epoch = taken.epoch - 1 AND o.over IS NULL),
		began AS (INSERT INTO perdure.owners (partition, epoch, node, since) SELECT id & `+home+`, epoch, $1, clock FROM taken),
		forgotten AS (DELETE FROM perdure.owners o USING taken WHERE o.partition = taken.id & `+home+` AND o.epoch = taken.epoch - $4)
		SELECT id, epoch, $1, clock, clock FROM taken ORDER BY id`,
		[]any{node, partitions, b.h.clock.Load(), remembered}, into(claimed, func(o *store.Ownership) []any {
			return []any{&o.Partition, &o.Epoch, &o.Node, &o.Clock, &o.Since}
		}))
}

func (h *handle) Release(ctx context.Context, node string, partitions []int) error {
	partitions, err := h.info.Ordered(partitions)
	if err != nil {
		return err
	}
	return h.hold(ctx, "Release", func(c *conn) error {
		return c.transaction(ctx, func(b *batch) {
			b.do(`SELECT FROM perdure.partitions WHERE id = ANY ($2::bigint[]) AND node = $1 ORDER BY id FOR UPDATE`, node, partitions)
			b.do(`WITH moment AS MATERIALIZED (SELECT nextval('perdure.moments') AS at),
				freed AS (UPDATE perdure.partitions SET node = NULL, clock = greatest(clock, perdure.now(), $3)
					WHERE id = ANY ($2::bigint[]) AND node = $1 RETURNING id, epoch),
				ended AS (UPDATE perdure.owners o SET over = moment.at, survived = true FROM freed, moment
					WHERE o.partition = freed.id & `+home+` AND o.epoch = freed.epoch)
				SELECT nextval('perdure.changes') FROM freed LIMIT 1`, node, partitions, h.clock.Load())
		}, func(b *batch) { b.notify(store.NewsNodes) })
	})
}

func (h *handle) Owners(ctx context.Context, partition int) ([]store.Ownership, error) {
	if err := h.info.Check(partition); err != nil {
		return nil, err
	}
	return readRows(ctx, h, "Owners", `SELECT o.partition, o.epoch, o.node, o.since, o.since, o.over IS NOT NULL, o.over IS NOT NULL AND (o.survived OR coalesce(n.alive > o.over, false)),
			o.over IS NOT NULL AND n.departed IS NOT NULL
		FROM perdure.owners o LEFT JOIN perdure.nodes n ON n.id = o.node WHERE o.partition = $1 ORDER BY o.epoch`,
		[]any{partition}, func(o *store.Ownership) []any {
			return []any{&o.Partition, &o.Epoch, &o.Node, &o.Since, &o.Clock, &o.Over, &o.Survived, &o.Ended}
		})
}
