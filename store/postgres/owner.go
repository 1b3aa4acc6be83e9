package postgres

import (
	"context"
	"math"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

func (h *handle) Due(ctx context.Context, partitions []int, after, until int64, limit int) ([]store.Wake, error) {
	partitions, err := h.ordered(partitions)
	if err != nil || len(partitions) == 0 {
		return nil, err
	}
	var due []store.Wake
	err = h.hold(ctx, "Due", func(c *conn) error {
		due = nil
		// Each partition's index is read from its own beginning, as far as the
		// limit reaches; what is sorted is never more than that of each.
		return c.query(ctx, `SELECT p.id, r.id, r.wake FROM unnest($1::bigint[]) AS p (id), LATERAL (
				SELECT id, wake FROM perdure.runs WHERE partition = p.id AND wake > $2 AND wake <= $3 ORDER BY wake FETCH FIRST ($4) ROWS WITH TIES) r
			ORDER BY r.wake FETCH FIRST ($4) ROWS WITH TIES`, []any{partitions, after, until, atMost(limit)}, func(r pgx.Rows) error {
			var w store.Wake
			err := r.Scan(&w.Partition, &w.Run, &w.Time)
			due = append(due, w)
			return err
		})
	})
	return due, err
}

// atMost is the number of rows of a LIMIT clause: all for 0.
func atMost(limit int) int64 {
	if limit <= 0 {
		return math.MaxInt64
	}
	return int64(limit)
}

func (h *handle) Inbox(ctx context.Context, partitions []int, after int64, limit int) ([]store.Message, error) {
	partitions, err := h.ordered(partitions)
	if err != nil || len(partitions) == 0 {
		return nil, err
	}
	var messages []store.Message
	err = h.hold(ctx, "Inbox", func(c *conn) error {
		messages = nil
		return c.query(ctx, `SELECT m.* FROM unnest($1::bigint[]) AS p (id), LATERAL (
				SELECT partition, sequence, workflow_id, run, key, kind, posted, data FROM perdure.inbox
				WHERE partition = p.id AND sequence > $2 ORDER BY sequence LIMIT $3) m
			ORDER BY m.sequence LIMIT $3`, []any{partitions, after, atMost(limit)}, func(r pgx.Rows) error {
			var m store.Message
			err := r.Scan(&m.Partition, &m.Sequence, &m.WorkflowID, &m.Run, &m.Key, &m.Kind, &m.Posted, (*opaque)(&m.Data))
			messages = append(messages, m)
			return err
		})
	})
	return messages, err
}

func (h *handle) Load(ctx context.Context, partition int, run string) (*store.Record, error) {
	if err := h.info.Check(partition); err != nil {
		return nil, err
	}
	var record *store.Record
	err := h.hold(ctx, "Load", func(c *conn) error {
		record = nil
		err := c.send(ctx, func(b *batch) {
			b.do(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`) // all of it as of one moment
			b.query(`SELECT `+runColumns+` FROM perdure.runs WHERE partition = $1 AND id = $2`, []any{partition, run}, func(r pgx.Rows) error {
				found, err := scanRun(r)
				record = &store.Record{Run: *found}
				return err
			})
			b.query(selectTurns, []any{partition, run, math.MinInt64, math.MaxInt64}, func(r pgx.Rows) (err error) {
				if record != nil {
					record.Turns, err = appendTurn(record.Turns, r)
				}
				return err
			})
			b.query(selectCalls, []any{partition, run}, func(r pgx.Rows) (err error) {
				if record != nil {
					record.Calls, err = appendCall(record.Calls, r)
				}
				return err
			})
			b.do(`COMMIT`)
		})
		if err != nil {
			c.rollback()
		}
		return err
	})
	if err == nil && record == nil {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return record, nil
}
