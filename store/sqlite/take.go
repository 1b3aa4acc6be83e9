package sqlite

import (
	"context"

	"github.com/perdure/perdure/store"
)

// messageColumns are the columns that row.message reads.
const messageColumns = `sequence, workflow_id, run, key, kind, posted, data`

func (r row) message(partition int) store.Message {
	m := store.Message{Partition: partition}
	r.scan(&m.Sequence, &m.WorkflowID, &m.Run, &m.Key, &m.Kind, &m.Posted, &m.Data)
	return m
}

func (h *handle) Take(ctx context.Context, partition int, workflowID string) ([]store.Message, error) {
	// Most calls find nothing and need not wait for the only writer.
	waits := false
	err := h.read(ctx, "Take", func(c *conn) error {
		return c.query(ctx, `SELECT 1 FROM inbox WHERE partition = ? AND workflow_id = ? LIMIT 1`, func(row) error {
			waits = true
			return nil
		}, int64(partition), workflowID)
	})
	if err != nil || !waits {
		return nil, err
	}
	return written(ctx, h, "Take", func(c *conn) ([]store.Message, error) {
		taken, err := c.posted(context.Background(), partition, workflowID)
		if err == nil {
			_, err = c.exec(`DELETE FROM inbox WHERE partition = ? AND workflow_id = ?`, int64(partition), workflowID)
		}
		return taken, err
	})
}

func (h *handle) Posted(ctx context.Context, partition int, workflowID string) ([]store.Message, error) {
	return result(ctx, h, "Posted", func(c *conn) ([]store.Message, error) { return c.posted(ctx, partition, workflowID) })
}

// posted returns the messages that wait for a workflow ID.
func (c *conn) posted(ctx context.Context, partition int, workflowID string) ([]store.Message, error) {
	return collect(ctx, c, func(r row) store.Message { return r.message(partition) },
		`SELECT `+messageColumns+` FROM inbox WHERE partition = ? AND workflow_id = ? ORDER BY sequence`, int64(partition), workflowID)
}
