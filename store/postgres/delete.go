package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

func (h *handle) Delete(ctx context.Context, d store.Deletion) (int, error) {
	if err := d.Validate(h.info); err != nil {
		return 0, err
	}
	return shared(ctx, h, "Delete", func(c *conn) (int, error) {
		var ended runIDs
		var workflows []string
		err := c.inTwo(ctx, func(b *batch) {
			// A run that another client's transaction has locked, to create another run after it, is
			// left for the next time: when that ends is not known.
			b.query(`SELECT id, workflow_id FROM perdure.runs WHERE partition = $1 AND id = ANY ($2::bytea[]) AND NOT status = ANY ($3::text[])
				ORDER BY id FOR UPDATE SKIP LOCKED`, []any{d.Partition, runIDs(d.Runs), open}, func(r pgx.Rows) error {
				var id, workflow string
				err := r.Scan((*runID)(&id), &workflow)
				ended, workflows = append(ended, id), append(workflows, workflow)
				return err
			})
		}, func(b *batch) {
			if len(ended) > 0 {
				b.deleteRuns(d.Partition, ended, workflows)
			}
			if d.TalliesBefore > 0 {
				b.do(`DELETE FROM perdure.tallies WHERE partition = $1 AND bucket < $2`, d.Partition, d.TalliesBefore)
			}
			if d.SwitchesBefore > 0 {
				b.do(`DELETE FROM perdure.switches s WHERE node_group = $1 AND time < $2 AND EXISTS (
					SELECT FROM perdure.switches l WHERE l.node_group = s.node_group AND l.number > s.number AND l.kind = s.kind AND l.name = s.name)`,
					d.Group, d.SwitchesBefore)
			}
		}, nil)
		return len(ended), err
	})
}

// deleteRuns deletes runs of workflow IDs, and all that belongs to them.
func (b *batch) deleteRuns(partition int, runs runIDs, workflows []string) {
	b.do(`DELETE FROM perdure.inbox WHERE partition = $1 AND workflow_id = ANY ($2::text[]) AND run = ANY ($3::bytea[])`, partition, workflows, runs)
	for _, statement := range []string{
		`DELETE FROM perdure.turns WHERE partition = $1 AND run = ANY ($2::bytea[])`,
		`DELETE FROM perdure.calls WHERE partition = $1 AND run = ANY ($2::bytea[])`,
		`DELETE FROM perdure.attempts WHERE partition = $1 AND run = ANY ($2::bytea[])`,
		`DELETE FROM perdure.tasks WHERE partition = $1 AND run = ANY ($2::bytea[])`,
		`DELETE FROM perdure.attributes WHERE partition = $1 AND run = ANY ($2::bytea[])`,
		`DELETE FROM perdure.runs WHERE partition = $1 AND id = ANY ($2::bytea[])`,
	} {
		b.do(statement, partition, runs)
	}
}
