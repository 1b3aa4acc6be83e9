package sqlite

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/store"
)

// runColumns are what scanRun reads.
const runColumns = `partition, id, workflow_id, type, node_group, chain, attempt, created, status, ifnull(wake, 9223372036854775807), closed, start, detail`

func scanRun(r row) store.Run {
	return store.Run{
		Partition:  int(r.int(0)),
		ID:         r.text(1),
		WorkflowID: r.text(2),
		Type:       r.text(3),
		Group:      r.text(4),
		Chain:      r.text(5),
		Attempt:    int(r.int(6)),
		Created:    r.int(7),
		RunState: store.RunState{
			Status: store.Status(r.text(8)),
			Wake:   r.int(9),
			Closed: r.int(10),
			Detail: r.bytes(12),
		},
		Start: r.bytes(11),
	}
}

// findRun reads a run by its ID, or the latest of a workflow ID.
func (c *conn) findRun(ctx context.Context, partition int, workflowID, run string) (*store.Run, error) {
	query, key := `SELECT `+runColumns+` FROM runs WHERE partition = ? AND id = ?`, run
	if run == "" {
		query, key = `SELECT `+runColumns+` FROM runs WHERE partition = ? AND workflow_id = ? AND latest = 1`, workflowID
	}
	var found *store.Run
	err := c.query(ctx, query, func(r row) error {
		run := scanRun(r)
		found = &run
		return nil
	}, int64(partition), key)
	if err == nil && found == nil {
		err = store.ErrNotFound
	}
	return found, err
}

func (c *conn) exists(partition int, run string) (bool, error) {
	return c.one(`SELECT 1 FROM runs WHERE partition = ? AND id = ?`, nil, int64(partition), run)
}

// insertRun inserts a run as the latest of its workflow ID, unless the ID or
// the workflow ID is taken.
func (c *conn) insertRun(r *store.Run) (inserted bool, err error) {
	n, err := c.exec(`INSERT INTO runs (partition, id, workflow_id, latest, type, node_group, chain, attempt, created, status, wake, closed, start, detail)
		VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		int64(r.Partition), r.ID, r.WorkflowID, r.Type, r.Group, r.Chain, int64(r.Attempt), r.Created,
		string(r.Status), wake(r.Wake), r.Closed, payload(r.Start), payload(r.Detail))
	for i := 0; i < len(r.Attributes) && n > 0 && err == nil; i++ {
		a := r.Attributes[i]
		_, err = c.exec(`INSERT INTO attributes (partition, name, value, run) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			int64(r.Partition), a.Name, a.Value, r.ID)
	}
	return n > 0, err
}

// placeRun inserts a run, after a closed one of its chain or the one that it
// names. If
// this very run exists it does nothing; if another has the workflow ID it
// answers *store.ConflictError.
func (c *conn) placeRun(r *store.Run) (inserted bool, err error) {
	if inserted, err = c.insertRun(r); inserted || err != nil {
		return inserted, err
	}
	ctx := context.Background()
	known, err := c.findRun(ctx, r.Partition, "", r.ID)
	if err == nil {
		if known.WorkflowID != r.WorkflowID {
			return false, fmt.Errorf("run %q exists already, for workflow ID %q", r.ID, known.WorkflowID)
		}
		return false, nil
	}
	if err != store.ErrNotFound {
		return false, err
	}
	latest, err := c.findRun(ctx, r.Partition, r.WorkflowID, "")
	if err != nil {
		return false, err
	}
	if latest.Chain != r.Chain && latest.ID != r.After || latest.Status.Open() {
		return false, &store.ConflictError{Existing: *latest}
	}
	if latest.ID == r.After {
		if _, err := c.exec(`UPDATE inbox SET run = ? WHERE partition = ? AND workflow_id = ? AND run = ''`, latest.ID, int64(r.Partition), r.WorkflowID); err != nil {
			return false, err
		}
	}
	if _, err := c.exec(`UPDATE runs SET latest = 0 WHERE partition = ? AND id = ?`, int64(r.Partition), latest.ID); err != nil {
		return false, err
	}
	return c.insertRun(r)
}
