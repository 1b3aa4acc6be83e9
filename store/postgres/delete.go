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
	return shared(ctx, h, "Delete", func(c *conn) (deleted int, err error) {
		err = c.transact(ctx, func(pgx.Tx) (err error) {
			if deleted, err = c.deleteRuns(ctx, d.Partition, d.Runs); err != nil {
				return err
			}
			if d.TalliesBefore > 0 {
				if _, err := c.exec(ctx, `DELETE FROM perdure.tallies WHERE partition = $1 AND bucket < $2`, d.Partition, d.TalliesBefore); err != nil {
					return err
				}
			}
			if d.SwitchesBefore > 0 {
				_, err = c.exec(ctx, `DELETE FROM perdure.switches s WHERE node_group = $1 AND time < $2 AND EXISTS (
					SELECT FROM perdure.switches l WHERE l.node_group = s.node_group AND l.number > s.number AND l.kind = s.kind AND l.name = s.name)`,
					d.Group, d.SwitchesBefore)
			}
			return err
		})
		return deleted, err
	})
}

// deleteRuns removes those of the runs that have ended, and all that belongs to them.
// One that another client's transaction has locked, to create another run after it, is left
// for the next time: when that ends is not known.
func (c *conn) deleteRuns(ctx context.Context, partition int, runs []string) (int, error) {
	if len(runs) == 0 {
		return 0, nil
	}
	var ended runIDs
	var workflows []string
	err := c.query(ctx, `SELECT id, workflow_id FROM perdure.runs WHERE partition = $1 AND id = ANY ($2::bytea[]) AND NOT status = ANY ($3::text[])
		ORDER BY id FOR UPDATE SKIP LOCKED`, []any{partition, runIDs(runs), open}, func(r pgx.Rows) error {
		var id, workflow string
		err := r.Scan((*runID)(&id), &workflow)
		ended, workflows = append(ended, id), append(workflows, workflow)
		return err
	})
	if err != nil || len(ended) == 0 {
		return 0, err
	}
	_, err = c.exec(ctx, `DELETE FROM perdure.inbox WHERE partition = $1 AND workflow_id = ANY ($2::text[]) AND run = ANY ($3::bytea[])`, partition, workflows, ended)
	if err != nil {
		return 0, err
	}
	for _, statement := range []string{
		`DELETE FROM perdure.turns WHERE partition = $1 AND run = ANY ($2::bytea[])`,
		`DELETE FROM perdure.calls WHERE partition = $1 AND run = ANY ($2::bytea[])`,
		`DELETE FROM perdure.attempts WHERE partition = $1 AND run = ANY ($2::bytea[])`,
		`DELETE FROM perdure.tasks WHERE partition = $1 AND run = ANY ($2::bytea[])`,
		`DELETE FROM perdure.attributes WHERE partition = $1 AND run = ANY ($2::bytea[])`,
		`DELETE FROM perdure.runs WHERE partition = $1 AND id = ANY ($2::bytea[])`,
	} {
		if _, err := c.exec(ctx, statement, partition, ended); err != nil {
			return 0, err
		}
	}
	return len(ended), nil
}
