package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

func (h *handle) Take(ctx context.Context, partition int, workflowID string) ([]store.Message, error) {
	var taken []store.Message
	err := h.share(ctx, "Take", func(c *conn) error {
		taken = nil
		return c.query(ctx, `WITH taken AS (DELETE FROM perdure.inbox WHERE partition = $1 AND workflow_id = $2
				RETURNING sequence, workflow_id, run, key, kind, posted, data)
			SELECT * FROM taken ORDER BY sequence`, []any{partition, workflowID}, func(r pgx.Rows) error {
			m := store.Message{Partition: partition}
			err := r.Scan(&m.Sequence, &m.WorkflowID, &m.Run, &m.Key, &m.Kind, &m.Posted, (*opaque)(&m.Data))
			taken = append(taken, m)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return taken, nil
}
