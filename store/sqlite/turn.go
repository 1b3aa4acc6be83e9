package sqlite

import (
	"database/sql/driver"
	"strings"
	"sync"

	"github.com/perdure/perdure/store"
)

// chunks are the row counts for which there are statements. Many rows of turns per
// statement cost a third less than one row each; beyond 128 nothing is gained.
var chunks = []int{128, 32, 8, 1}

// chunked returns a function that returns the statement for n rows, where n is one of the
// chunks: the head, n tuples, and the tail.
func chunked(head, tuple, tail string) func(n int) string {
	texts := map[int]string{}
	once := sync.OnceFunc(func() {
		for _, n := range chunks {
			texts[n] = head + strings.TrimSuffix(strings.Repeat(tuple+", ", n), ", ") + tail
		}
	})
	return func(n int) string {
		once()
		return texts[n]
	}
}

// insertTurns returns the statement that inserts n turns. It skips turns that exist, or
// whose run does not.
var insertTurns = chunked(`WITH t (partition, run, number, commit_id, epoch, time, events) AS (VALUES `, `(?, ?, ?, ?, ?, ?, ?)`, `)
	INSERT INTO turns (run, number, commit_id, epoch, time, events) SELECT seq, number, commit_id, t.epoch, time, events
	FROM t CROSS JOIN runs r ON r.partition = t.partition AND r.id = t.run WHERE true ON CONFLICT DO NOTHING`)

// insertTurns writes the history rows of plain turns. It returns errUnusual if a row
// already exists or its run does not.
func (b *batch) insertTurns(plain []int) error {
	var rows []int
	for _, i := range plain {
		if b.turns[i].Number > 0 {
			rows = append(rows, i)
		}
	}
	args := make([]driver.Value, 0, 7*min(len(rows), chunks[0]))
	for _, n := range chunks {
		for len(rows) >= n {
			args = args[:0]
			for _, i := range rows[:n] {
				t := &b.turns[i]
				args = append(args, int64(t.Partition), t.Run, t.Number, t.CommitID, t.Epoch, t.Time, payload(t.Events))
			}
			inserted, err := b.c.exec(insertTurns(n), args...)
			if err != nil {
				return err
			}
			if inserted < int64(n) {
				return errUnusual
			}
			rows = rows[n:]
		}
	}
	return nil
}

// applyState writes the new state of the turn's run and reports whether the run was found.
func (b *batch) applyState(t *store.Turn) (found bool, err error) {
	if t.State == nil {
		return true, nil
	}
	changed, err := b.c.exec(`UPDATE runs SET status = ?, wake = ?, closed = ?, detail = ?, is_full = ? WHERE partition = ? AND id = ?`,
		string(t.State.Status), wake(t.State.Wake), t.State.Closed, payload(t.State.Detail), flag(t.State.Full), int64(t.Partition), t.Run)
	return changed > 0, err
}

// wake returns the stored form of a wake time.
func wake(w int64) driver.Value {
	if w == store.Never {
		return nil
	}
	return w
}

// applyRows writes everything of a turn except its run, its history and its counters. It
// violates a constraint only if the run does not exist.
func (b *batch) applyRows(t *store.Turn) error {
	partition := int64(t.Partition)
	if t.Attributes != nil {
		if err := b.c.changeAttributes(t.Partition, t.Run, *t.Attributes); err != nil {
			return err
		}
	}
	if err := b.writeCalls(t); err != nil {
		return err
	}
	if t.HasTasks() {
		if err := b.applyTasks(t); err != nil {
			return err
		}
	}
	if t.Remove {
		if err := b.c.remove(partition, t.Run); err != nil {
			return err
		}
	}
	for i := range t.Attempts {
		if err := b.applyAttempt(partition, t.Run, &t.Attempts[i]); err != nil {
			return err
		}
	}
	for _, sequence := range t.Consumed {
		if _, err := b.c.exec(`DELETE FROM inbox WHERE partition = ? AND sequence = ?`, partition, sequence); err != nil {
			return err
		}
	}
	for i := range t.Messages {
		if err := b.send(t, &t.Messages[i]); err != nil {
			return err
		}
		b.posted = true
	}
	return nil
}

// remove deletes the row of a gate or schedule, and those of its calls.
func (c *conn) remove(partition int64, run string) error {
	for _, statement := range []string{
		`DELETE FROM calls WHERE partition = ? AND run = ? AND EXISTS (SELECT 1 FROM runs r WHERE r.partition = calls.partition AND r.id = calls.run AND r.status = ?)`,
		`DELETE FROM runs WHERE partition = ? AND id = ? AND status = ?`,
	} {
		if _, err := c.exec(statement, partition, run, string(store.Standing)); err != nil {
			return err
		}
	}
	return nil
}

// send delivers a message of a turn, to the turn's own partition or another.
func (b *batch) send(t *store.Turn, m *store.Message) error {
	clock := b.admits(t).clock
	if m.Partition == t.Partition {
		return b.c.deliver(m, clock)
	}
	return b.c.post(m, b.marks.clock(m.Partition, clock))
}

// deliver adds a message to the inbox, under the partition's clock: now, unless a turn of another
// partition was ahead when it sent to this one. If a message with its key waits there, deliver
// either skips the new one or, with Replace, puts it in that one's place.
func (c *conn) deliver(m *store.Message, now int64) error {
	if m.Replace {
		if _, err := c.exec(`DELETE FROM inbox WHERE partition = ? AND workflow_id = ? AND key = ?`, int64(m.Partition), m.WorkflowID, m.Key); err != nil {
			return err
		}
	}
	inserted, err := c.exec(`INSERT INTO inbox (partition, sequence, workflow_id, run, key, kind, posted, data)
		SELECT ?1, max(sequence) + 1, ?2, ?3, ?4, ?5, max(?6, max(CASE WHEN id = ?1 THEN clock ELSE 0 END)), ?7 FROM partitions WHERE true ON CONFLICT (partition, workflow_id, key) DO NOTHING`,
		int64(m.Partition), m.WorkflowID, m.Run, m.Key, m.Kind, now, payload(m.Data))
	if err != nil || inserted == 0 {
		return err
	}
	_, err = c.exec(`UPDATE partitions SET sequence = (SELECT max(sequence) FROM partitions) + 1 WHERE id = ?`, int64(m.Partition))
	return err
}
