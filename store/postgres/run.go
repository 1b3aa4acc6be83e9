package postgres

import (
	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

// runColumns are what scanRun reads.
const runColumns = `partition, id, workflow_id, type, node_group, chain, attempt, created, status, coalesce(wake, 9223372036854775807), closed, start, detail`

// scanRun reads a run and the columns before it.
func scanRun(row pgx.Row, before ...any) (*store.Run, error) {
	r := &store.Run{}
	err := row.Scan(append(before, &r.Partition, &r.ID, &r.WorkflowID, &r.Type, &r.Group, &r.Chain, &r.Attempt, &r.Created,
		&r.Status, &r.Wake, &r.Closed, (*opaque)(&r.Start), (*opaque)(&r.Detail))...)
	return r, err
}
