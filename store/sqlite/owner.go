package sqlite

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/perdure/perdure/store"
)

func (h *handle) Join(ctx context.Context, node store.Node) error {
	if node.ID == "" {
		return fmt.Errorf("a node needs an ID to join")
	}
	return h.hold(ctx, h.writer, "Join", func(c *conn) error {
		if h.node == node.ID {
			return nil
		}
		if h.lock != nil {
			return &store.InUseError{Location: h.info.Location, Holder: h.lock.holder}
		}
		lock, err := acquire(h.path+".lock", h.info.Location, holder(node))
		if err != nil {
			return err
		}
		err = transact(c, func(c *conn) error {
			// Whoever was here is dead: the lock was free.
			for _, query := range []string{`DELETE FROM nodes`, `UPDATE partitions SET node = NULL WHERE node IS NOT NULL`} {
				if _, err := c.exec(query); err != nil {
					return err
				}
			}
			_, err := c.exec(`INSERT INTO nodes (id, name, joined) VALUES (?, ?, ?)`, node.ID, node.Name, h.clock())
			return err
		})
		if err != nil {
			lock.release()
			return err
		}
		h.node, h.lock = node.ID, lock
		return nil
	})
}

// holder describes this engine for the one that may not join.
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

func (h *handle) Leave(ctx context.Context, node string) error {
	return h.hold(ctx, h.writer, "Leave", func(c *conn) error {
		err := transact(c, func(c *conn) error { return leave(c, node) })
		if err == nil && node == h.node {
			h.unlock()
		}
		return err
	})
}

func leave(c *conn, node string) error {
	if _, err := c.exec(`UPDATE partitions SET node = NULL WHERE node = ?`, node); err != nil {
		return err
	}
	_, err := c.exec(`DELETE FROM nodes WHERE id = ?`, node)
	return err
}

// unlock lets another engine join. The caller holds the writer.
func (h *handle) unlock() {
	if h.lock != nil {
		h.lock.release()
	}
	h.node, h.lock = "", nil
}

func (h *handle) Claim(ctx context.Context, node string, partitions []int) ([]store.Ownership, error) {
	for _, p := range partitions {
		if err := h.info.Check(p); err != nil {
			return nil, err
		}
	}
	claimed := make([]store.Ownership, len(partitions))
	err := h.write(ctx, "Claim", func(c *conn) error {
		joined, err := c.one(`SELECT 1 FROM nodes WHERE id = ?`, nil, node)
		if err != nil {
			return err
		}
		if !joined {
			return fmt.Errorf("node %q cannot claim partitions: it has not joined", node)
		}
		now := h.clock()
		for i, p := range partitions {
			o := store.Ownership{Partition: p, Node: node}
			if _, err := c.one(`UPDATE partitions SET epoch = epoch + 1, node = ?, clock = max(clock, ?) WHERE id = ? RETURNING epoch, clock`,
				[]*int64{&o.Epoch, &o.Clock}, node, now, int64(p)); err != nil {
				return err
			}
			o.Since = o.Clock
			if _, err := c.exec(`INSERT INTO owners (partition, epoch, node, since) VALUES (?, ?, ?, ?)`, int64(p), o.Epoch, node, o.Since); err != nil {
				return err
			}
			claimed[i] = o
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return claimed, nil
}

func (h *handle) Due(ctx context.Context, partition int, after, until int64, limit int) ([]store.Wake, error) {
	var due []store.Wake
	collect := func(r row) error {
		due = append(due, store.Wake{Run: r.text(0), Time: r.int(1)})
		return nil
	}
	err := h.readPartition(ctx, "Due", partition, func(c *conn) error {
		err := c.query(ctx, `SELECT id, wake FROM runs WHERE partition = ? AND wake > ? AND wake <= ? ORDER BY wake, id LIMIT ?`,
			collect, int64(partition), after, until, all(limit))
		if err != nil || limit <= 0 || len(due) < limit {
			return err
		}
		last := due[len(due)-1]
		return c.query(ctx, `SELECT id, wake FROM runs WHERE partition = ? AND wake = ? AND id > ? ORDER BY id`,
			collect, int64(partition), last.Time, last.Run)
	})
	return due, err
}

// all is a LIMIT clause's value: none for 0.
func all(limit int) int64 {
	if limit <= 0 {
		return -1
	}
	return int64(limit)
}

func (h *handle) Inbox(ctx context.Context, partition int, after int64, limit int) ([]store.Message, error) {
	var messages []store.Message
	err := h.readPartition(ctx, "Inbox", partition, func(c *conn) error {
		return c.query(ctx, `SELECT sequence, workflow_id, run, key, kind, posted, data FROM inbox
			WHERE partition = ? AND sequence > ? ORDER BY sequence LIMIT ?`, func(r row) error {
			messages = append(messages, store.Message{
				Partition:  partition,
				Sequence:   r.int(0),
				WorkflowID: r.text(1),
				Run:        r.text(2),
				Key:        r.text(3),
				Kind:       r.text(4),
				Posted:     r.int(5),
				Data:       r.bytes(6),
			})
			return nil
		}, int64(partition), after, all(limit))
	})
	return messages, err
}

func (h *handle) Load(ctx context.Context, partition int, run string) (*store.Record, error) {
	record := &store.Record{}
	err := h.readPartition(ctx, "Load", partition, func(c *conn) (err error) {
		// One transaction: all of it as of one moment.
		if _, err := c.exec("BEGIN"); err != nil {
			return err
		}
		defer func() {
			if _, end := c.exec("ROLLBACK"); end != nil {
				err = &brokenError{end}
			}
		}()
		found, err := c.findRun(ctx, partition, "", run)
		if err != nil {
			return err
		}
		record.Run = *found
		if record.Turns, err = c.history(ctx, partition, run, 0, 0); err != nil {
			return err
		}
		record.Calls, err = c.calls(ctx, partition, run)
		return err
	})
	if err != nil {
		return nil, err
	}
	return record, nil
}
