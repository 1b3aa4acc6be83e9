package sqlite

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/perdure/perdure/store"
)

// remembered is how many nodes are listed.
const remembered = 100

func (h *handle) Join(ctx context.Context, node store.Node) error {
	if err := node.Check(h.info); err != nil {
		return err
	}
	return h.announced(store.NewsNodes, h.hold(ctx, h.writer, "Join", func(c *conn) error {
		if h.node == node.ID {
			return nil
		}
		if other := h.guard.holder(); other != "" {
			return &store.InUseError{Location: h.info.Location, Holder: other}
		}
		lock, err := acquire(h.path+".lock", h.info.Location, holder(node))
		if err != nil {
			return err
		}
		if err := transact(c, func(c *conn) error { return join(c, node, h.info.Location, h.clock()) }); err != nil {
			lock.release()
			return err
		}
		h.node = node.ID
		h.guard.join(node.ID, lock)
		return nil
	}))
}

// join makes a node the member. The lock was free, so the former member is dead, and every
// node supersedes all others.
func join(c *conn, node store.Node, location string, now int64) error {
	if err := recordCodecs(c, node, location); err != nil {
		return err
	}
	if err := endOthers(c, now); err != nil {
		return err
	}
	added, err := c.exec(`INSERT INTO nodes (id, name, node_group, lease, supersede, joined, seen, build, definitions) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		node.ID, node.Name, node.Group, int64(node.Lease), flag(node.Supersede), now, now, node.Build, node.Definitions)
	if err == nil && added == 0 {
		err = store.ErrReplaced
	}
	return err
}

// recordCodecs records the codecs with which the node writes.
func recordCodecs(c *conn, node store.Node, location string) error {
	before, err := c.codecs()
	if err != nil {
		return err
	}
	after, err := node.Mark(location, before)
	if err == nil && after != before {
		_, err = c.exec(`INSERT INTO meta (key, value) VALUES ('codecs', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value`, after)
	}
	return err
}

// codecs returns the codecs recorded in the database.
func (c *conn) codecs() (mark string, err error) {
	err = c.query(context.Background(), `SELECT value FROM meta WHERE key = 'codecs'`, func(r row) error {
		mark = r.text(0)
		return nil
	})
	return mark, err
}

// endOthers ends the membership of nodes that did not leave and frees their partitions. It
// records a departure at 1 or later, whatever the clock says, because 0 means present.
func endOthers(c *conn, now int64) error {
	if _, err := c.exec(`UPDATE nodes SET departed = max(?, 1), superseded = 1 WHERE departed IS NULL`, now); err != nil {
		return err
	}
	_, err := c.exec(`UPDATE partitions SET node = NULL WHERE node IS NOT NULL`)
	return err
}

// holder describes this engine to another one that cannot join.
func holder(node store.Node) string {
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	name := node.Name
	if name == "" {
		name = node.ID
	}
	return fmt.Sprintf("%s: process %d on %s, since %s", name, os.Getpid(), host, time.Now().UTC().Format(time.RFC3339))
}

func (h *handle) Renew(ctx context.Context, renewal store.Renewal) (*store.Membership, error) {
	if err := renewal.Check(); err != nil {
		return nil, err
	}
	seen, err := written(ctx, h, "Renew", func(c *conn) (*store.Membership, error) { return c.renew(renewal, h.clock()) })
	if err == nil && seen == nil {
		err = store.ErrReplaced
	}
	return seen, err
}

// renew returns nil if the node is not a member or the numbers belong to another process.
func (c *conn) renew(r store.Renewal, now int64) (*store.Membership, error) {
	// Record the sign of life even if it is no longer a member.
	known, err := c.exec(`UPDATE nodes SET seen = ?, draining = ?, last = ?, next = ?, survived = departed IS NOT NULL
		WHERE id = ? AND (next = ? OR next = ? AND last = ?)`, now, flag(r.Draining), r.Last, r.Next, r.Node, r.Last, r.Next, r.Last)
	if err != nil || known == 0 {
		return nil, err
	}
	members, err := collect(context.Background(), c, scanMember, `SELECT `+memberColumns+` FROM nodes n WHERE id = ? AND departed IS NULL`, r.Node)
	if err != nil || len(members) == 0 {
		return nil, err
	}
	members[0].Definitions = ""
	seen := &store.Membership{Now: now, Nodes: members}
	seen.Owners, err = collect(context.Background(), c, func(r row) (o store.Ownership) {
		r.scan(&o.Partition, &o.Epoch, &o.Node)
		return o
	}, `SELECT p.id, p.epoch, p.node FROM node_groups g JOIN partitions p ON p.id = g.partition WHERE g.name = ?`, members[0].Group)
	return seen, err
}

func (h *handle) Leave(ctx context.Context, node string) error {
	return h.announced(store.NewsNodes, h.hold(ctx, h.writer, "Leave", func(c *conn) error {
		err := transact(c, func(c *conn) error {
			if _, err := c.exec(`UPDATE partitions SET node = NULL WHERE node = ?`, node); err != nil {
				return err
			}
			_, err := c.exec(`UPDATE nodes SET departed = ifnull(departed, max(?, 1)), survived = 1 WHERE id = ?`, h.clock(), node)
			return err
		})
		if err == nil && node == h.node {
			h.unlock()
		}
		return err
	}))
}

// unlock lets another engine join. The caller holds the writer.
func (h *handle) unlock() {
	h.guard.leave()
	h.node = ""
}

func (h *handle) Nodes(ctx context.Context) ([]store.Member, error) {
	members, err := result(ctx, h, "Nodes", func(c *conn) ([]store.Member, error) {
		return collect(ctx, c, scanMember, `SELECT `+memberColumns+` FROM nodes n ORDER BY joined DESC, rowid DESC LIMIT ?`, int64(remembered))
	})
	slices.Reverse(members)
	for i := range members {
		// A killed process could not record its departure.
		if m := &members[i]; m.Live && !held(h.path+".lock") {
			m.Live = false
		}
	}
	return members, err
}

// memberColumns are the columns that scanMember reads.
const memberColumns = `id, name, node_group, lease, supersede, joined, seen, ifnull(departed, 0), draining,
	(SELECT count(*) FROM partitions WHERE node = n.id), build, definitions, superseded`

func scanMember(r row) store.Member {
	m := store.Member{Expires: store.Never}
	r.scan(&m.ID, &m.Name, &m.Group, &m.Lease, &m.Supersede, &m.Joined, &m.Seen, &m.Left, &m.Draining, &m.Owned, &m.Build, &m.Definitions, &m.Superseded)
	m.Live = m.Left == 0
	return m
}

func flag(set bool) int64 {
	if set {
		return 1
	}
	return 0
}
