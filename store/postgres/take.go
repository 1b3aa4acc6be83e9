package postgres

import (
	"context"

	"github.com/perdure/perdure/store"
)

// messageColumns are the columns of messageFields.
const messageColumns = `partition, sequence, workflow_id, run, key, kind, posted, data`

func messageFields(m *store.Message) []any {
	fields := make([]any, 0, 9) // an inbox has a column more
	return append(fields, &m.Partition, &m.Sequence, &m.WorkflowID, (*runID)(&m.Run), &m.Key, &m.Kind, &m.Posted, (*opaque)(&m.Data))
}

func (h *handle) Take(ctx context.Context, partition int, workflowID string) ([]store.Message, error) {
	return readRows(ctx, h, "Take", `WITH taken AS (DELETE FROM perdure.inbox WHERE partition = $1 AND workflow_id = $2
		RETURNING `+messageColumns+`) SELECT * FROM taken ORDER BY sequence`, []any{partition, workflowID}, messageFields)
}

func (h *handle) Posted(ctx context.Context, partition int, workflowID string) ([]store.Message, error) {
	return readRows(ctx, h, "Posted", `SELECT `+messageColumns+` FROM perdure.inbox WHERE partition = $1 AND workflow_id = $2 ORDER BY sequence`, []any{partition, workflowID}, messageFields)
}
