package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

// messageColumns are the columns of a message, as handle.messages reads them.
const messageColumns = `sequence, workflow_id, run, key, kind, posted, data`

func (h *handle) Take(ctx context.Context, partition int, workflowID string) ([]store.Message, error) {
	return h.messages(ctx, "Take", `WITH taken AS (DELETE FROM perdure.inbox WHERE partition = $1 AND workflow_id = $2
		RETURNING `+messageColumns+`) SELECT * FROM taken ORDER BY sequence`, partition, workflowID)
}

func (h *handle) Posted(ctx context.Context, partition int, workflowID string) ([]store.Message, error) {
	return h.messages(ctx, "Posted", `SELECT `+messageColumns+` FROM perdure.inbox WHERE partition = $1 AND workflow_id = $2 ORDER BY sequence`, partition, workflowID)
}

func (h *handle) messages(ctx context.Context, verb, query string, partition int, workflowID string) ([]store.Message, error) {
	var all []store.Message
	err := h.share(ctx, verb, func(c *conn) error {
		all = nil
		return c.query(ctx, query, []any{partition, workflowID}, func(r pgx.Rows) error {
			m := store.Message{Partition: partition}
			err := r.Scan(&m.Sequence, &m.WorkflowID, (*runID)(&m.Run), &m.Key, &m.Kind, &m.Posted, (*opaque)(&m.Data))
			all = append(all, m)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
