package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"slices"

	"github.com/perdure/perdure/store"
)

func (h *handle) Due(ctx context.Context, partitions []int, after, until int64, limit int) ([]store.Wake, error) {
	due, err := ofPartitions(ctx, h, "Due", partitions, false, func(c *conn, partition int) ([]store.Wake, error) {
		return c.due(ctx, partition, after, until, limit)
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(due, func(a, b store.Wake) int { return cmp.Compare(a.Time, b.Time) })
	if limit > 0 && len(due) > limit {
		end := limit
		for end < len(due) && due[end].Time == due[limit-1].Time {
			end++
		}
		due = due[:end]
	}
	return due, nil
}

// due lists the runs of one partition that may be among the due ones.
func (c *conn) due(ctx context.Context, partition int, after, until int64, limit int) ([]store.Wake, error) {
	var due []store.Wake
	collect := func(r row) error {
		due = append(due, store.Wake{Partition: partition, Run: r.text(0), Time: r.int(1)})
		return nil
	}
	err := c.query(ctx, `SELECT id, wake FROM runs WHERE partition = ? AND wake > ? AND wake <= ? ORDER BY wake, id LIMIT ?`,
		collect, int64(partition), after, until, all(limit))
	if err != nil || limit <= 0 || len(due) < limit {
		return due, err
	}
	last := due[len(due)-1]
	err = c.query(ctx, `SELECT id, wake FROM runs WHERE partition = ? AND wake = ? AND id > ? ORDER BY id`,
		collect, int64(partition), last.Time, last.Run)
	return due, err
}

// all returns the value of a LIMIT clause: no limit for 0.
func all(limit int) int64 {
	if limit <= 0 {
		return -1
	}
	return int64(limit)
}

func (h *handle) Inbox(ctx context.Context, partitions []int, read store.InboxRead) ([]store.Message, error) {
	from, of := "inbox WHERE partition = ?", []driver.Value(nil)
	if read.Of != nil {
		from, of = "inbox INDEXED BY inbox_key WHERE partition = ? AND workflow_id IN (SELECT value FROM json_each(?))", []driver.Value{list(read.Of)}
	}
	messages, err := ofPartitions(ctx, h, "Inbox", partitions, false, func(c *conn, partition int) ([]store.Message, error) {
		return collect(ctx, c, func(r row) store.Message { return r.message(partition) }, `SELECT `+messageColumns+` FROM `+from+` AND sequence > ? ORDER BY sequence LIMIT ?`,
			slices.Concat([]driver.Value{int64(partition)}, of, []driver.Value{read.After, all(read.Limit)})...)
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(messages, func(a, b store.Message) int { return cmp.Compare(a.Sequence, b.Sequence) })
	if read.Limit > 0 && len(messages) > read.Limit {
		messages = messages[:read.Limit]
	}
	return messages, nil
}

func (h *handle) Load(ctx context.Context, partition int, run string) (*store.Record, error) {
	record := &store.Record{}
	if err := h.info.Check(partition); err != nil {
		return nil, err
	}
	err := h.snapshot(ctx, "Load", func(c *conn) error {
		found, err := c.findRun(ctx, partition, "", run)
		if err != nil {
			return err
		}
		record.Run = *found
		if record.Turns, err = c.history(ctx, partition, run, 0, 0); err != nil {
			return err
		}
		record.Calls, err = c.calls(ctx, partition, run)
		return err
	})
	if err != nil {
		return nil, err
	}
	return record, nil
}
