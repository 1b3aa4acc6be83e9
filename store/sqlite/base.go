package sqlite

import "github.com/perdure/perdure/store"

// insertBase copies the history with which a new run begins.
func (c *conn) insertBase(r *store.Run) error {
	b := r.Base
	if b == nil {
		return nil
	}
	if b.Turns > 0 {
		n, err := c.exec(`INSERT INTO turns (run, number, commit_id, epoch, time, events)
			SELECT `+seq+`, number, commit_id, 0, time, events FROM turns WHERE run = `+seq+` AND number <= ?`,
			int64(r.Partition), r.ID, int64(b.Partition), b.Run, b.Turns)
		if err != nil {
			return err
		}
		if n < b.Turns {
			return store.ErrNotFound
		}
	}
	t := &b.Last
	_, err := c.exec(insertTurns(1), int64(r.Partition), r.ID, t.Number, t.CommitID, t.Epoch, t.Time, payload(t.Events))
	return err
}
