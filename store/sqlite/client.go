package sqlite

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"

	"github.com/perdure/perdure/store"
)

func (h *handle) Secret(ctx context.Context) ([]byte, error) {
	return result(ctx, h, "Secret", func(c *conn) (secret []byte, err error) {
		err = errors.New("the database has no secret: its table meta is damaged; restore it from a backup")
		failed := c.query(ctx, `SELECT value FROM meta WHERE key = 'secret'`, func(r row) error {
			secret, err = hex.DecodeString(r.text(0))
			return nil
		})
		return secret, cmp.Or(failed, err)
	})
}

func (h *handle) Create(ctx context.Context, run store.Run) error {
	if err := run.Validate(h.info); err != nil {
		return err
	}
	inserted, err := written(ctx, h, "Create", func(c *conn) (bool, error) { return h.create(c, &run) })
	if inserted {
		announce(h.path, store.NewsMessage)
	}
	return err
}

// create inserts a run, unless it exists. If the run is not in line, create notifies its
// owner.
func (h *handle) create(c *conn, run *store.Run) (inserted bool, err error) {
	if inserted, err = c.placeRun(run); err != nil || !inserted {
		return false, err
	}
	if store.IsInLine(run.Wake) {
		_, err = c.tick(run.Partition, h.marks.clock(run.Partition, h.clock()))
		return true, err
	}
	m := run.CreatedMessage()
	return true, c.post(&m, h.marks.clock(run.Partition, h.clock()))
}

func (h *handle) Post(ctx context.Context, m store.Message) error {
	if err := m.Validate(h.info); err != nil {
		return err
	}
	return h.announced(store.NewsMessage, h.write(ctx, "Post", func(c *conn) error { return h.postTo(c, &m) }))
}

// postTo delivers a message if there is a run to read it.
func (h *handle) postTo(c *conn, m *store.Message) error {
	if m.ForOwner {
		return c.post(m, h.marks.clock(m.Partition, h.clock()))
	}
	// Select few columns: a run may hold megabytes.
	query, key := `SELECT status, workflow_id, is_full FROM runs WHERE partition = ? AND workflow_id = ? AND latest = 1`, m.WorkflowID
	if m.Run != "" {
		query, key = `SELECT status, workflow_id, is_full FROM runs WHERE partition = ? AND id = ?`, m.Run
	}
	err := store.ErrNotFound
	failed := c.query(context.Background(), query, func(r row) error {
		switch {
		case r.text(1) != m.WorkflowID: // the run belongs to another workflow
		case !store.Status(r.text(0)).Open():
			err = store.ErrClosed
		case m.IfRoom && r.int(2) != 0:
			err = store.ErrFull
		default:
			err = nil
		}
		return nil
	}, int64(m.Partition), key)
	if failed != nil {
		return failed
	}
	if err != nil {
		return err
	}
	return c.post(m, h.marks.clock(m.Partition, h.clock()))
}

// post delivers a message under the partition's clock, which it advances.
func (c *conn) post(m *store.Message, now int64) error {
	clock, err := c.tick(m.Partition, now)
	if err != nil {
		return err
	}
	return c.deliver(m, clock)
}

// tick advances the clock of a partition and returns it.
func (c *conn) tick(partition int, now int64) (clock int64, err error) {
	exists, err := c.one(`UPDATE partitions SET clock = max(clock, ?) WHERE id = ? RETURNING clock`, []*int64{&clock}, now, int64(partition))
	if err == nil && !exists {
		err = store.NoPartition(partition)
	}
	return clock, err
}
