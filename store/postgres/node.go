package postgres

import (
	"context"
	"math/bits"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

// remembered is how many departed nodes are kept, and how many owners of each partition.
const remembered = 1000

// Rows of nodes are always locked before those of partitions. A member that claims holds
// its own row FOR KEY SHARE, which allows renewals of its lease but does not allow its
// membership to end.

func (h *handle) Join(ctx context.Context, node store.Node) error {
	if err := node.Check(h.info); err != nil {
		return err
	}
	h.idle.Store(int64(min(idleLimit, node.Lease)))
	return h.taking(ctx, "Join", func(c *conn) error {
		// Rivals for a name, or two joins with one ID, conflict in an index.
		err := again(createdMeanwhile, func() error {
			return c.transact(ctx, func(pgx.Tx) error { return c.join(ctx, node) })
		})
		if err == nil {
			c.notify(ctx, store.NewsNodes)
		}
		return err
	})
}

func (c *conn) join(ctx context.Context, node store.Node) error {
	if err := c.send(ctx, func(b *batch) { b.limitLocks(takePatience) }); err != nil {
		return err
	}
	var spread bool
	if _, err := c.one(ctx, `SELECT count(*) > 0 FROM perdure.meta WHERE key = 'distributed'`, nil, &spread); err != nil {
		return err
	}
	if spread != c.h.distributed {
		return errDistributedSince
	}
	var departed bool
	known, err := c.one(ctx, `SELECT departed IS NOT NULL FROM perdure.nodes WHERE id = $1`, []any{node.ID}, &departed)
	if departed {
		return store.ErrReplaced
	}
	if err != nil || known {
		return err
	}
	if err := c.recordCodecs(ctx, node); err != nil {
		return err
	}
	if node.Supersede {
		namesakes, err := list(ctx, c, `SELECT id FROM perdure.nodes WHERE node_group = $1 AND name = $2 AND departed IS NULL ORDER BY id FOR UPDATE`,
			[]any{node.Group, node.Name}, func(id *string) []any { return []any{id} })
		if err != nil {
			return err
		}
		if err := c.send(ctx, func(b *batch) { b.end(namesakes, true) }); err != nil {
			return err
		}
	}
	if err := c.forget(ctx); err != nil {
		return err
	}
	return c.send(ctx, func(b *batch) {
		b.do(`INSERT INTO perdure.nodes (id, name, node_group, lease, supersede, joined, seen, alive, clock, build, definitions, wards)
			SELECT $1, $2, $3, $4, $5, now, now, nextval('perdure.moments'), greatest(now, $6), $7, $8, $9 FROM perdure.now()`,
			node.ID, node.Name, node.Group, int64(node.Lease), node.Supersede, c.h.clock.Load(), node.Build, node.Definitions, bits.UintSize == 64)
		b.do(`SELECT nextval('perdure.changes')`)
	})
}

// recordCodecs records the codecs with which the node writes. Joining locks the row of the secret,
// so if a node with a codec and one without join concurrently, the later one sees the
// other.
func (c *conn) recordCodecs(ctx context.Context, node store.Node) error {
	lock := `FOR SHARE`
	if len(node.Encodes) > 0 {
		lock = `FOR UPDATE`
	}
	if _, err := c.exec(ctx, `SELECT FROM perdure.meta WHERE key = 'secret' `+lock); err != nil {
		return err
	}
	var before string
	if err := c.codecs(ctx, &before); err != nil {
		return err
	}
	after, err := node.Mark(c.h.info.Location, before)
	if err == nil && after != before {
		_, err = c.exec(ctx, `INSERT INTO perdure.meta (key, value) VALUES ('codecs', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value`, after)
	}
	return err
}

// codecs reads the recorded codecs. If there are none it leaves mark unchanged.
func (c *conn) codecs(ctx context.Context, mark *string) error {
	_, err := c.one(ctx, `SELECT value FROM perdure.meta WHERE key = 'codecs'`, nil, mark)
	return err
}

// end ends memberships, whose rows are locked, and frees their partitions.
func (b *batch) end(nodes []string, superseded bool) {
	b.do(`SELECT nextval('perdure.changes')`)
	b.do(`UPDATE perdure.nodes SET departed = greatest(perdure.now(), 1), superseded = $2 WHERE id = ANY ($1::text[]) AND departed IS NULL`, nodes, superseded)
	b.do(`SELECT FROM perdure.partitions WHERE node = ANY ($1::text[]) ORDER BY id FOR UPDATE`, nodes)
	b.do(`WITH moment AS MATERIALIZED (SELECT nextval('perdure.moments') AS at),
		freed AS (UPDATE perdure.partitions p SET node = NULL, clock = greatest(p.clock, n.clock, $2)
			FROM perdure.nodes n WHERE n.id = p.node AND p.node = ANY ($1::text[]) RETURNING p.id, p.epoch)
		UPDATE perdure.owners o SET over = moment.at FROM freed, moment WHERE o.partition = freed.id & `+home+` AND o.epoch = freed.epoch`, nodes, b.h.clock.Load())
}

func (h *handle) Leave(ctx context.Context, node string) error {
	return h.hold(ctx, "Leave", func(c *conn) error {
		return c.transaction(ctx, func(b *batch) {
			b.do(`SELECT FROM perdure.nodes WHERE id = $1 FOR UPDATE`, node)
			b.end([]string{node}, false)
			// This shows that the node lives after its epochs have ended, so it comes last.
			b.do(`UPDATE perdure.nodes SET alive = nextval('perdure.moments') WHERE id = $1`, node)
		}, func(b *batch) { b.notify(store.NewsNodes) })
	})
}

// forget deletes the oldest departed nodes without partitions, beyond the number kept. What
// is known about their survival stays.
func (c *conn) forget(ctx context.Context) error {
	_, err := c.exec(ctx, `WITH gone AS (DELETE FROM perdure.nodes WHERE id IN (
			SELECT id FROM perdure.nodes n WHERE (departed IS NOT NULL OR expires <= perdure.now())
			AND NOT EXISTS (SELECT FROM perdure.partitions p WHERE p.node = n.id)
			ORDER BY ordinal DESC OFFSET $1 FOR UPDATE SKIP LOCKED) RETURNING id, alive)
		UPDATE perdure.owners o SET survived = true FROM gone WHERE o.node = gone.id AND gone.alive > o.over`, remembered)
	return err
}

func (h *handle) Renew(ctx context.Context, renewal store.Renewal) (*store.Membership, error) {
	if err := renewal.Check(); err != nil {
		return nil, err
	}
	var seen *store.Membership
	member := false
	err := h.hold(ctx, "Renew", func(c *conn) error {
		seen, member = &store.Membership{}, false
		return c.transaction(ctx, func(b *batch) { b.renew(renewal, seen, &member) }, nil)
	})
	if err == nil && !member {
		err = store.ErrReplaced
	}
	if err != nil {
		return nil, err
	}
	h.observe(seen.Now)
	return seen, nil
}

// renew adds the statements that renew a lease and read what the node sees of its group.
// It is no member either if the numbers belong to another process.
func (b *batch) renew(r store.Renewal, seen *store.Membership, member *bool) {
	// Record the sign of life even if it is no longer a member.
	b.query(`UPDATE perdure.nodes SET seen = now, alive = nextval('perdure.moments'), clock = greatest(clock, now, $5), draining = $4, last = $2, next = $3
		FROM perdure.now() WHERE id = $1 AND (next = $2 OR next = $3 AND last = $2) RETURNING seen, departed IS NULL`,
		[]any{r.Node, r.Last, r.Next, r.Draining, b.h.clock.Load()}, func(r pgx.Rows) error { return r.Scan(&seen.Now, member) })
	// A sign of life in the future comes from before the clock was set back. The lease must
	// not last longer for that.
	b.do(`UPDATE perdure.nodes SET seen = now FROM perdure.now() WHERE id IN (
		SELECT id FROM perdure.nodes WHERE seen > perdure.now() + $1 FOR UPDATE SKIP LOCKED)`, int64(store.Foresight))
	b.query(selectMembers(`''`)+` WHERE expires > now AND departed IS NULL AND node_group = (SELECT node_group FROM perdure.nodes WHERE id = $1) ORDER BY id`,
		[]any{r.Node}, into(&seen.Nodes, memberFields))
	// The owners of the partitions of the node's group.
	b.query(`SELECT p.id, p.epoch, coalesce(p.node, '') FROM perdure.nodes n JOIN perdure.node_groups g ON g.name = n.node_group
		JOIN perdure.partitions p ON p.id >= g.first AND p.id < g.first + $2
			OR p.id > `+home+` AND p.id & `+home+` >= g.first AND p.id & `+home+` < g.first + $2 WHERE n.id = $1 ORDER BY p.id`,
		[]any{r.Node, b.h.info.Partitions}, into(&seen.Owners, func(o *store.Ownership) []any { return []any{&o.Partition, &o.Epoch, &o.Node} }))
	// Read last, this is closest to the time at which the answer arrives.
	b.advance(&seen.Now)
}

// selectMembers is the beginning of a query for nodes, which memberFields reads. definitions is
// the expression for their definitions.
func selectMembers(definitions string) string {
	return `SELECT id, name, node_group, lease, supersede, joined, seen, coalesce(departed, 0), draining, expires,
		departed IS NULL AND expires > now, (SELECT count(*) FROM perdure.partitions WHERE node = nodes.id AND id <= ` + home + `), ordinal, build, ` + definitions + `, superseded
		FROM perdure.now(), perdure.nodes`
}

func memberFields(m *store.Member) []any {
	return []any{&m.ID, &m.Name, &m.Group, &m.Lease, &m.Supersede, &m.Joined, &m.Seen, &m.Left, &m.Draining, &m.Expires, &m.Live, &m.Owned, &m.Ordinal, &m.Build, &m.Definitions, &m.Superseded}
}

func (h *handle) Nodes(ctx context.Context) ([]store.Member, error) {
	members, err := readRows(ctx, h, "Nodes", selectMembers(`definitions`)+` ORDER BY joined, ordinal`, nil, memberFields)
	return slices.Clip(members), err
}
