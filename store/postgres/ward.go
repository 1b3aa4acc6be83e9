package postgres

import (
	"cmp"
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

// home are the bits of a place that name its partition: see store.Place.
const home = `4294967295`

// byHome orders places by their partitions.
func byHome(a, b int) int {
	p, _ := store.SplitPlace(a)
	q, _ := store.SplitPlace(b)
	return cmp.Compare(p, q)
}

func (h *handle) Move(ctx context.Context, m store.Move) error {
	if err := m.Validate(h.info); err != nil {
		return err
	}
	if h.distributed {
		return store.ErrNoPlace
	}
	return h.hold(ctx, "Move", func(c *conn) error {
		err := c.transact(ctx, func(pgx.Tx) error { return c.move(ctx, &m) })
		if code(err) == unheardOf {
			return store.ErrFenced
		}
		if err == nil {
			c.tell(ctx, store.NewsNodes|store.NewsMessage)
		}
		return err
	})
}

func (c *conn) move(ctx context.Context, m *store.Move) error {
	var to int
	if m.To != "" {
		hosts, err := c.one(ctx, `SELECT n.ordinal FROM perdure.nodes n WHERE n.id = $1 AND n.departed IS NULL AND n.expires > perdure.now() AND NOT n.draining
				AND n.node_group = (SELECT node_group FROM perdure.runs WHERE partition = $2 AND id = $3)
				AND NOT EXISTS (SELECT FROM perdure.nodes o WHERE o.node_group = n.node_group AND (o.build = '' OR NOT o.wards) AND o.departed IS NULL) FOR KEY SHARE OF n`,
			[]any{m.To, m.Partition, m.Run}, &to)
		if err != nil {
			return err
		}
		if !hosts {
			to = -1 // what is wrong with the run, or the epoch, is said before
		}
	}
	var now int64
	if err := c.send(ctx, func(b *batch) { b.fence(map[int]int64{store.Place(m.Partition, m.Ward): m.Epoch}, &now) }); err != nil {
		return err
	}
	if to > 0 { // before the run: who dissolves a ward locks its row first, too
		if err := c.makeWard(ctx, m, to); err != nil {
			return err
		}
	}
	var ward int
	var open bool
	known, err := c.one(ctx, `SELECT ward, closed = 0 AND status = ANY ($3::text[]) FROM perdure.runs WHERE partition = $1 AND id = $2 FOR UPDATE`,
		[]any{m.Partition, m.Run, openStatuses}, &ward, &open)
	switch {
	case err != nil:
		return err
	case !known:
		return store.ErrNotFound
	case !open:
		return store.ErrClosed
	case to < 0:
		return store.ErrNoPlace
	case ward == to:
		return nil
	case ward != m.Ward:
		return store.ErrElsewhere
	}
	_, err = c.exec(ctx, `UPDATE perdure.runs SET ward = $3, wake = -1, detail = CASE WHEN $4 THEN $5 ELSE detail END WHERE partition = $1 AND id = $2`,
		m.Partition, m.Run, to, m.Detail != nil, payload(m.Detail))
	return err
}

// openStatuses are those of runs that may move.
var openStatuses = []string{string(store.Running), string(store.OnHold), string(store.WaitingForCode), string(store.Parked)}

// makeWard makes the ward of a node unless there is one, and keeps it from being dissolved
// until the transaction ends.
func (c *conn) makeWard(ctx context.Context, m *store.Move, ward int) error {
	if _, err := c.exec(ctx, `INSERT INTO perdure.partitions (id, epoch, node, clock) SELECT $1,
			greatest($4::bigint, (SELECT max(epoch) + 1 FROM perdure.owners WHERE partition = $2 AND epoch >= $4 AND epoch < $5)), $3, perdure.now() ON CONFLICT DO NOTHING`,
		store.Place(m.Partition, ward), m.Partition, m.To, store.WardEpoch(ward, 0), store.WardEpoch(ward+1, 0)); err != nil {
		return err
	}
	_, err := c.exec(ctx, `SELECT nextval('perdure.changes')`)
	if err != nil {
		return err
	}
	var node string
	known, err := c.one(ctx, `SELECT coalesce(node, '') FROM perdure.partitions WHERE id = $1 FOR SHARE`, []any{store.Place(m.Partition, ward)}, &node)
	if err == nil && (!known || node != m.To) {
		err = store.ErrNoPlace // it gave the ward up
	}
	return err
}

func (h *handle) Dissolve(ctx context.Context, partition int, epoch int64, ward int) (bool, error) {
	if err := h.info.Check(partition); err != nil {
		return false, err
	}
	if h.distributed {
		return true, nil
	}
	gone := false
	err := h.taking(ctx, "Dissolve", func(c *conn) error {
		gone = false
		err := c.transact(ctx, func(pgx.Tx) error {
			return c.dissolve(ctx, partition, epoch, ward, &gone)
		})
		if code(err) == unheardOf {
			return store.ErrFenced
		}
		if err == nil && gone {
			c.tell(ctx, store.NewsMessage)
		}
		return err
	})
	return gone, err
}

func (c *conn) dissolve(ctx context.Context, partition int, epoch int64, ward int, gone *bool) error {
	const dead = `NOT EXISTS (SELECT FROM perdure.nodes n WHERE n.id = p.node AND n.departed IS NULL AND n.expires > perdure.now())`
	place, now := store.Place(partition, ward), int64(0)
	err := c.send(ctx, func(b *batch) {
		b.fence(map[int]int64{partition: epoch}, &now)
		b.limitLocks(takePatience)
		// It waits for commits under way; what follows sees what they left.
		b.do(`SELECT FROM perdure.partitions p WHERE id = $1 AND `+dead+` FOR UPDATE`, place)
		b.do(`WITH moment AS MATERIALIZED (SELECT nextval('perdure.moments') AS at),
			gone AS (DELETE FROM perdure.partitions p WHERE id = $1 AND `+dead+` RETURNING p.epoch),
			ended AS (UPDATE perdure.owners o SET over = moment.at FROM gone, moment WHERE o.partition = $2 AND o.epoch = gone.epoch AND o.over IS NULL)
			UPDATE perdure.runs SET ward = 0 FROM gone WHERE partition = $2 AND ward = $3 AND ward <> 0`, place, partition, ward)
		b.do(`DELETE FROM perdure.owners o WHERE partition = $1 AND epoch > `+home+` AND NOT EXISTS (SELECT FROM perdure.nodes n WHERE n.id = o.node)
			AND NOT EXISTS (SELECT FROM perdure.partitions p WHERE p.id = $1 + (o.epoch >> 32 << 32))`, partition)
	})
	if err != nil {
		return err
	}
	left, err := c.one(ctx, `SELECT 1 FROM perdure.partitions WHERE id = $1`, []any{place}, new(int))
	*gone = !left
	return err
}
