package postgres

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/perdure/perdure/store"
)

// home are the bits of a place that are its partition: see store.Place.
const home = `4294967295`

// inWard reads the number of a ward into that of a partition, which makes it the number of a place.
type inWard int

// ScanInt64 implements pgtype.Int64Scanner.
func (place *inWard) ScanInt64(ward pgtype.Int8) error {
	*place = inWard(store.Place(int(*place), int(ward.Int64)))
	return nil
}

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
	return h.hold(ctx, "Move", func(c *conn) error {
		err := c.move(ctx, &m)
		if code(err) == unheardOf {
			return store.ErrFenced
		}
		if err == nil {
			c.notify(ctx, store.NewsNodes, store.NewsMessage)
		}
		return err
	})
}

// stepwise takes steps that alternately write to the coordinator of a distributed database
// and to a worker. There each step is a transaction of its own, which avoids two-phase
// commits, in the middle of which a run may be invisible for a minute. What a step leaves
// behind is harmless, and all steps may be repeated. On one server they are one
// transaction. Each transaction begins with before.
func (c *conn) stepwise(ctx context.Context, before func() error, steps ...func() error) error {
	together := [][]func() error{steps}
	if c.h.distributed {
		together = slices.Collect(slices.Chunk(steps, 1))
	}
	for _, steps := range together {
		err := c.transact(ctx, func(pgx.Tx) error {
			err := before()
			for _, step := range steps {
				if err == nil {
					err = step()
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) move(ctx context.Context, m *store.Move) error {
	var to int
	ready := func() (err error) { to, err = c.readyToMove(ctx, m); return err }
	moveRun := func() error { return c.moveRun(ctx, m, to) }
	if m.To == "" {
		return c.stepwise(ctx, ready, moveRun)
	}
	return c.stepwise(ctx, ready, func() error { return c.makeWard(ctx, m, to) }, moveRun)
}

// readyToMove locks what must not change until the transaction ends: the node to which a
// run moves, and the owner that moves it. It returns the ward of the node, 0 for home, and
// -1 if the node takes no runs. A problem with the run takes precedence over that.
func (c *conn) readyToMove(ctx context.Context, m *store.Move) (to int, err error) {
	if m.To != "" {
		var group string
		if _, err := c.one(ctx, `SELECT node_group FROM perdure.runs WHERE partition = $1 AND id = $2`, []any{m.Partition, runID(m.Run)}, &group); err != nil {
			return 0, err
		}
		takes, err := c.one(ctx, `SELECT n.ordinal FROM perdure.nodes n WHERE n.id = $1 AND n.departed IS NULL AND n.expires > perdure.now() AND NOT n.draining AND n.node_group = $2
				AND NOT EXISTS (SELECT FROM perdure.nodes o WHERE o.node_group = n.node_group AND NOT o.wards AND o.departed IS NULL) FOR KEY SHARE OF n`,
			[]any{m.To, group}, &to)
		if err != nil {
			return 0, err
		}
		if !takes {
			to = -1
		}
	}
	var now int64
	return to, c.send(ctx, func(b *batch) { b.fence(map[int]int64{store.Place(m.Partition, m.Ward): m.Epoch}, &now) })
}

// moveRun puts the run into a ward, 0 for home. It locks the ward before the run, in the
// same order as dissolve.
func (c *conn) moveRun(ctx context.Context, m *store.Move, to int) error {
	// Behind a pooler the nodes poll these sequences for news.
	if _, err := c.exec(ctx, `SELECT nextval('perdure.changes'), nextval('perdure.messages')`); err != nil {
		return err
	}
	if to > 0 {
		if err := c.holdWard(ctx, m, to); err != nil {
			return err
		}
	}
	if err := c.send(ctx, func(b *batch) { b.shareWards(m.Partition) }); err != nil {
		return err
	}
	var ward int
	var open bool
	known, err := c.one(ctx, `SELECT ward, closed = 0 AND status = ANY ($3::text[]) FROM perdure.runs WHERE partition = $1 AND id = $2 FOR UPDATE`,
		[]any{m.Partition, runID(m.Run), openStatuses}, &ward, &open)
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
		m.Partition, runID(m.Run), to, m.Detail != nil, payload(m.Detail))
	return err
}

// openStatuses are the statuses of runs that may move.
var openStatuses = []string{string(store.Running), string(store.OnHold), string(store.WaitingForCode), string(store.Parked)}

// shareWards keeps the wards of a partition from being dissolved until the transaction's
// writes to one are visible. On a distributed database that may be later than the release
// of its locks at the coordinator: the worker that has the run must block callers that
// dissolve a ward (takeWards). On one server the lock on the ward does that.
func (b *batch) shareWards(partition int) {
	if b.h.distributed {
		b.do(`SELECT FROM perdure.places WHERE partition = $1 FOR SHARE`, partition)
	}
}

func (b *batch) takeWards(partition int) {
	if b.h.distributed {
		b.do(`SELECT FROM perdure.places WHERE partition = $1 FOR UPDATE`, partition)
	}
}

// makeWard creates the ward of a node that takes runs, unless it exists.
func (c *conn) makeWard(ctx context.Context, m *store.Move, ward int) error {
	if ward < 0 {
		return nil
	}
	_, err := c.exec(ctx, `INSERT INTO perdure.partitions (id, epoch, node, clock) SELECT $1,
			greatest($4::bigint, (SELECT max(epoch) + 1 FROM perdure.owners WHERE partition = $2 AND epoch >= $4 AND epoch < $5)), $3, perdure.now() ON CONFLICT DO NOTHING`,
		store.Place(m.Partition, ward), m.Partition, m.To, store.WardEpoch(ward, 0), store.WardEpoch(ward+1, 0))
	return err
}

// holdWard keeps the ward of a node from being dissolved until the transaction ends.
func (c *conn) holdWard(ctx context.Context, m *store.Move, ward int) error {
	var node string
	known, err := c.one(ctx, `SELECT coalesce(node, '') FROM perdure.partitions WHERE id = $1 FOR SHARE`, []any{store.Place(m.Partition, ward)}, &node)
	if err == nil && (!known || node != m.To) {
		err = store.ErrNoPlace // the node gave the ward up
	}
	return err
}

func (h *handle) Dissolve(ctx context.Context, partition int, epoch int64, ward int) (bool, error) {
	if err := h.info.Check(partition); err != nil {
		return false, err
	}
	gone := false
	err := h.taking(ctx, "Dissolve", func(c *conn) (err error) {
		gone, err = c.dissolve(ctx, partition, epoch, ward)
		if code(err) == unheardOf {
			return store.ErrFenced
		}
		if err == nil && gone {
			c.notify(ctx, store.NewsMessage)
		}
		return err
	})
	return gone, err
}

// dissolve ends the ownership of a ward whose node is gone, brings its runs home and
// removes it. Nothing is added to a ward without an owner any more.
func (c *conn) dissolve(ctx context.Context, partition int, epoch int64, ward int) (gone bool, err error) {
	const dead = `p.node IS NOT NULL AND NOT EXISTS (SELECT FROM perdure.nodes n WHERE n.id = p.node AND n.departed IS NULL AND n.expires > perdure.now())`
	place, now := store.Place(partition, ward), int64(0)
	fence := func() error {
		return c.send(ctx, func(b *batch) {
			b.fence(map[int]int64{partition: epoch}, &now)
			b.limitLocks(takePatience)
		})
	}
	end := func() error {
		err := c.send(ctx, func(b *batch) {
			// This waits for commits in progress; what follows sees their results.
			b.do(`SELECT FROM perdure.partitions p WHERE id = $1 AND (node IS NULL OR `+dead+`) FOR UPDATE`, place)
			b.do(`WITH moment AS MATERIALIZED (SELECT nextval('perdure.moments') AS at),
				freed AS (UPDATE perdure.partitions p SET node = NULL WHERE id = $1 AND `+dead+` RETURNING p.epoch)
				UPDATE perdure.owners o SET over = moment.at FROM freed, moment WHERE o.partition = $2 AND o.epoch = freed.epoch AND o.over IS NULL`, place, partition)
		})
		if err != nil {
			return err
		}
		owned, err := c.one(ctx, `SELECT 1 FROM perdure.partitions WHERE id = $1 AND node IS NOT NULL`, []any{place}, new(int))
		gone = !owned
		return err
	}
	bringHome := func() error {
		if !gone {
			return nil
		}
		return c.send(ctx, func(b *batch) {
			b.takeWards(partition)
			b.do(`UPDATE perdure.runs SET ward = 0 WHERE partition = $1 AND ward = $2 AND ward <> 0`, partition, ward)
		})
	}
	remove := func() error {
		if !gone {
			return nil
		}
		return c.send(ctx, func(b *batch) {
			b.do(`DELETE FROM perdure.partitions WHERE id = $1 AND node IS NULL`, place)
			b.do(`DELETE FROM perdure.owners o WHERE partition = $1 AND epoch > `+home+` AND NOT EXISTS (SELECT FROM perdure.nodes n WHERE n.id = o.node)
				AND NOT EXISTS (SELECT FROM perdure.partitions p WHERE p.id = $1 + (o.epoch >> 32 << 32))`, partition)
		})
	}
	err = c.stepwise(ctx, fence, end, bringHome, remove)
	return gone && err == nil, err
}
