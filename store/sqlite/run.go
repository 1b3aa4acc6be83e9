package sqlite

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/store"
)

// runColumns are the columns that scanRun reads.
const runColumns = `partition, id, workflow_id, type, node_group, chain, attempt, created, status, ifnull(wake, 9223372036854775807), closed, start, detail, priority, is_full, latest, run_key, weight,
	(SELECT json_group_array(json_array(name, value)) FROM attributes WHERE partition = runs.partition AND run = runs.id)`

func scanRun(row row) (r store.Run, err error) {
	var attributes []byte
	row.scan(&r.Partition, &r.ID, &r.WorkflowID, &r.Type, &r.Group, &r.Chain, &r.Attempt, &r.Created, &r.Status, &r.Wake, &r.Closed, &r.Start, &r.Detail,
		&r.Priority, &r.Full, &r.Latest, &r.Key, &r.Weight, &attributes)
	r.Attributes, err = store.DecodeAttributes(attributes)
	return r, err
}

// findRun reads a run by its ID, or the latest run of a workflow ID.
func (c *conn) findRun(ctx context.Context, partition int, workflowID, run string) (*store.Run, error) {
	query, key := `SELECT `+runColumns+` FROM runs WHERE partition = ? AND id = ?`, run
	if run == "" {
		query, key = `SELECT `+runColumns+` FROM runs WHERE partition = ? AND workflow_id = ? AND latest = 1`, workflowID
	}
	var found *store.Run
	err := c.query(ctx, query, func(r row) error {
		run, err := scanRun(r)
		found = &run
		return err
	}, int64(partition), key)
	if err == nil && found == nil {
		err = store.ErrNotFound
	}
	return found, err
}

// seq is the number by which turns refer to a run, from the run's partition and ID.
const seq = `(SELECT seq FROM runs WHERE partition = ? AND id = ?)`

func (c *conn) exists(partition int, run string) (bool, error) {
	return c.one(`SELECT 1 FROM runs WHERE partition = ? AND id = ?`, nil, int64(partition), run)
}

// insertRun inserts a run as the latest of its workflow ID, unless the ID or the workflow
// ID is taken.
func (c *conn) insertRun(r *store.Run) (inserted bool, err error) {
	n, err := c.exec(`INSERT INTO runs (partition, id, workflow_id, latest, type, node_group, chain, attempt, created, status, wake, closed, start, detail, priority, is_full, run_key, weight)
		VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		int64(r.Partition), r.ID, r.WorkflowID, r.Type, r.Group, r.Chain, int64(r.Attempt), r.Created,
		string(r.Status), wake(r.Wake), r.Closed, payload(r.Start), payload(r.Detail), int64(r.Priority), flag(r.Full), r.Key, int64(r.Weight))
	if n > 0 && err == nil {
		err = c.insertAttributes(r.Partition, r.ID, r.Attributes)
	}
	if n > 0 && err == nil {
		err = c.insertBase(r)
	}
	return n > 0, err
}

func (c *conn) insertAttributes(partition int, run string, all []store.Attribute) error {
	for _, a := range all {
		_, err := c.exec(`INSERT INTO attributes (partition, name, value, run) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			int64(partition), a.Name, a.Value, run)
		if err != nil {
			return err
		}
	}
	return nil
}

// changeAttributes replaces the attributes of a run.
func (c *conn) changeAttributes(partition int, run string, all []store.Attribute) error {
	if _, err := c.exec(`DELETE FROM attributes WHERE partition = ? AND run = ?`, int64(partition), run); err != nil {
		return err
	}
	return c.insertAttributes(partition, run, all)
}

// placeRun inserts a run, either after a closed one of its chain or after the one that it
// names. If this very run exists it does nothing. If another run has the workflow ID it
// returns a *store.ConflictError.
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
	if !r.MayFollow(latest) || latest.Status.Open() {
		return false, &store.ConflictError{Existing: *latest}
	}
	if latest.ID == r.After {
		if _, err := c.exec(`UPDATE inbox SET run = ?, key = ? || key WHERE partition = ? AND workflow_id = ? AND run = ''`,
			latest.ID, store.LeftKey(latest.ID, ""), int64(r.Partition), r.WorkflowID); err != nil {
			return false, err
		}
	}
	if _, err := c.exec(`UPDATE runs SET latest = 0 WHERE partition = ? AND id = ?`, int64(r.Partition), latest.ID); err != nil {
		return false, err
	}
	return c.insertRun(r)
}
