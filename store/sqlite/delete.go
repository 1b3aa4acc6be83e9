package sqlite

import (
	"context"

	"github.com/perdure/perdure/store"
)

func (h *handle) Delete(ctx context.Context, d store.Deletion) (int, error) {
	if err := d.Validate(h.info); err != nil {
		return 0, err
	}
	return written(ctx, h, "Delete", func(c *conn) (deleted int, err error) {
		for _, run := range d.Runs {
			gone, err := c.deleteRun(d.Partition, run)
			if err != nil {
				return 0, err
			}
			if gone {
				deleted++
			}
		}
		if d.TalliesBefore > 0 {
			if _, err := c.exec(`DELETE FROM tallies WHERE partition = ? AND bucket < ?`, int64(d.Partition), d.TalliesBefore); err != nil {
				return 0, err
			}
		}
		if d.SwitchesBefore > 0 {
			_, err = c.exec(`DELETE FROM switches AS s WHERE node_group = ? AND time < ? AND EXISTS (
				SELECT 1 FROM switches AS l WHERE l.node_group = s.node_group AND l.number > s.number AND l.kind = s.kind AND l.name = s.name)`,
				d.Group, d.SwitchesBefore)
		}
		return deleted, err
	})
}

// deleteRun deletes a closed run and everything that belongs to it.
func (c *conn) deleteRun(partition int, run string) (gone bool, err error) {
	workflowID := ""
	err = c.query(context.Background(), `SELECT status, workflow_id FROM runs WHERE partition = ? AND id = ?`, func(r row) error {
		gone, workflowID = !store.Status(r.text(0)).Open(), r.text(1)
		return nil
	}, int64(partition), run)
	if err != nil || !gone {
		return false, err
	}
	if _, err := c.exec(`DELETE FROM inbox WHERE partition = ? AND workflow_id = ? AND run = ?`, int64(partition), workflowID, run); err != nil {
		return false, err
	}
	for _, statement := range []string{
		`DELETE FROM turns WHERE run = ` + seq,
		`DELETE FROM calls WHERE partition = ? AND run = ?`,
		`DELETE FROM attempts WHERE partition = ? AND run = ?`,
		`DELETE FROM tasks WHERE partition = ? AND run = ?`,
		`DELETE FROM attributes WHERE partition = ? AND run = ?`,
		`DELETE FROM runs WHERE partition = ? AND id = ?`,
	} {
		if _, err := c.exec(statement, int64(partition), run); err != nil {
			return false, err
		}
	}
	return true, nil
}
