package sqlite

import (
	"database/sql/driver"

	"github.com/perdure/perdure/store"
)

// A turn writes a row for each waiting call, and one that fans out has hundreds. Statements
// therefore take many rows, as for turns.
var (
	upsertCalls = chunked(`INSERT INTO calls (partition, run, number, first, state, name, queue, attempt, due, data) VALUES `, `(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		` ON CONFLICT (partition, run, number) DO UPDATE SET first = excluded.first, state = excluded.state, name = excluded.name, queue = excluded.queue,
		attempt = excluded.attempt, due = excluded.due, data = excluded.data`)
	deleteCalls = chunked(`DELETE FROM calls WHERE partition = ? AND run = ? AND number IN (`, `?`, `)`)
)

// writeCalls writes the rows of a turn's calls, the later of two for one call, and then
// deletes those of the closed calls.
func (b *batch) writeCalls(t *store.Turn) error {
	if len(t.Calls)+len(t.Closed) == 0 {
		return nil
	}
	partition := int64(t.Partition)
	calls, closed := t.Calls, t.Closed
	args := make([]driver.Value, 0, max(10*min(len(calls), chunks[0]), 2+min(len(closed), chunks[0])))
	for _, n := range chunks {
		for ; len(calls) >= n; calls = calls[n:] {
			args = args[:0]
			for i := range calls[:n] {
				c := &calls[i]
				args = append(args, partition, t.Run, c.Number, c.First, string(c.State), c.Name, c.Queue, int64(c.Attempt), c.Due, payload(c.Data))
			}
			if _, err := b.c.exec(upsertCalls(n), args...); err != nil {
				return err
			}
		}
	}
	for _, n := range chunks {
		for ; len(closed) >= n; closed = closed[n:] {
			args = append(args[:0], partition, t.Run)
			for _, number := range closed[:n] {
				args = append(args, number)
			}
			if _, err := b.c.exec(deleteCalls(n), args...); err != nil {
				return err
			}
		}
	}
	return nil
}
