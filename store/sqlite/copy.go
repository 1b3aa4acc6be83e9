package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/perdure/perdure/store"
	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// closable are the tables that nobody writes to in a closed database. A trigger on each refuses
// what other processes write, however long they have had the file open and whatever their
// version. A row of the table meta lets the transaction of a copy pass.
var closable = []string{"runs", "attributes", "turns", "calls", "attempts", "tallies", "inbox", "tasks", "nodes", "workers", "owners", "switches"}

func (h *handle) Sealed(ctx context.Context) (store.Seal, error) {
	return result(ctx, h, "Sealed", (*conn).seal)
}

func (c *conn) seal() (seal store.Seal, err error) {
	text := "{}"
	err = c.query(context.Background(), `SELECT value FROM meta WHERE key = 'seal'`, func(r row) error {
		text = r.text(0)
		return nil
	})
	if err == nil {
		err = json.Unmarshal([]byte(text), &seal)
	}
	return seal, err
}

func (h *handle) Seal(ctx context.Context, before, after store.Seal, rows *store.Rows) error {
	if err := store.CheckSeal(before, after, rows); err != nil {
		return err
	}
	if after.Closed() && !before.Closed() {
		if other := h.guard.holder(); other != "" {
			return &store.InUseError{Location: h.info.Location, Holder: other}
		}
		lock, err := acquire(h.path+".lock", h.info.Location, fmt.Sprintf("a copy of the database: process %d", os.Getpid()))
		if err != nil {
			return err
		}
		defer lock.release()
	}
	return h.write(ctx, "Seal", func(c *conn) error {
		known, err := c.seal()
		switch {
		case err != nil || known == after:
			return err
		case known != before:
			return store.ErrStale
		case after.Closed() && !before.Closed():
			if err := h.shut(c, after); err != nil {
				return err
			}
		case before.Closed():
			if _, err := c.exec(`DELETE FROM meta WHERE key = 'closed'`); err != nil {
				return err
			}
		}
		if rows != nil {
			if err := c.insertRows(rows); err != nil {
				return err
			}
		}
		text, _ := json.Marshal(after) // cannot fail
		if _, err := c.exec(`INSERT INTO meta (key, value) VALUES ('seal', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value`, string(text)); err != nil {
			return err
		}
		if after.Closed() {
			_, err := c.exec(`INSERT INTO meta (key, value) VALUES ('closed', '1')`)
			return err
		}
		return c.triggers(`DROP TRIGGER IF EXISTS closed_%s_%s`)
	})
}

// shut makes the triggers that refuse what is written.
func (h *handle) shut(c *conn, seal store.Seal) error {
	var live string
	now := h.clock()
	err := c.query(context.Background(), `SELECT name FROM workers WHERE departed = 0 AND min(seen, ?1) + lease > ?1`, func(r row) error {
		live = "the worker " + r.text(0)
		return nil
	}, now)
	if err != nil {
		return err
	}
	if live != "" {
		return &store.InUseError{Location: h.info.Location, Holder: live}
	}
	text, _ := json.Marshal(store.Seal{State: seal.State, Copy: seal.Copy, Other: seal.Other, Since: seal.Since})
	return c.triggers(`CREATE TRIGGER closed_%[1]s_%[2]s BEFORE %[2]s ON %[1]s WHEN EXISTS (SELECT 1 FROM meta WHERE key = 'closed')
		BEGIN SELECT RAISE(ABORT, '` + strings.ReplaceAll(strings.ReplaceAll(string(text), "'", "''"), "%", "%%") + `'); END`)
}

// triggers runs a statement for each trigger of a closed database.
func (c *conn) triggers(statement string) error {
	for _, table := range closable {
		for _, event := range []string{"INSERT", "UPDATE", "DELETE"} {
			if err := c.script(fmt.Sprintf(statement, table, event)); err != nil {
				return err
			}
		}
	}
	return nil
}

// isClosed reports whether a trigger of a closed database refused a statement.
func isClosed(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code() == lib.SQLITE_CONSTRAINT_TRIGGER
}

// closedError returns the error of a statement that such a trigger refused.
func (h *handle) closedError(err error) error {
	refused := &store.SealedError{Location: h.info.Location}
	text := err.Error()
	if from, to := strings.Index(text, "{"), strings.LastIndex(text, "}"); from >= 0 && to > from {
		_ = json.Unmarshal([]byte(text[from:to+1]), &refused.Seal) // else it says less
	}
	return refused
}

func (c *conn) insertRows(rows *store.Rows) error {
	if f := rows.Facts; f != nil {
		if err := c.writeFacts(f); err != nil {
			return err
		}
	}
	for i := range rows.Runs {
		if err := c.insertWhole(&rows.Runs[i]); err != nil {
			return err
		}
	}
	for i := range rows.Messages {
		m := &rows.Messages[i]
		_, err := c.exec(`INSERT INTO inbox (partition, sequence, workflow_id, run, key, kind, posted, data) SELECT ?1, max(sequence) + 1, ?2, ?3, ?4, ?5, ?6, ?7 FROM partitions`,
			int64(m.Partition), m.WorkflowID, m.Run, m.Key, m.Kind, m.Posted, payload(m.Data))
		if err == nil {
			_, err = c.exec(`UPDATE partitions SET sequence = (SELECT max(sequence) FROM partitions) + 1 WHERE id = ?`, int64(m.Partition))
		}
		if err != nil {
			return err
		}
	}
	for i := range rows.Tallies {
		if err := c.count(&rows.Tallies[i]); err != nil {
			return err
		}
	}
	for _, s := range rows.Switches {
		_, err := c.exec(`INSERT INTO switches (`+switchColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			s.Number, s.Group, s.Kind, s.Name, flag(s.Off), s.Request, s.By, s.Why, s.Time, int64(s.Share), s.Lasts)
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) writeFacts(f *store.Facts) error {
	for key, value := range map[string]string{"secret": hex.EncodeToString(f.Secret), "codecs": f.Codecs} {
		if value == "" {
			continue
		}
		if _, err := c.exec(`INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value`, key, value); err != nil {
			return err
		}
	}
	_, err := c.exec(`UPDATE partitions SET clock = max(clock, ?)`, f.Clock)
	return err
}

func (c *conn) insertWhole(w *store.WholeRun) error {
	r := &w.Run
	partition := int64(r.Partition)
	var number int64
	_, err := c.one(`INSERT INTO runs (partition, id, workflow_id, latest, type, node_group, chain, attempt, created, status, wake, closed, start, detail, priority, is_full, run_key, weight)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq`, []*int64{&number},
		partition, r.ID, r.WorkflowID, flag(r.Latest), r.Type, r.Group, r.Chain, int64(r.Attempt), r.Created,
		string(r.Status), wake(r.Wake), r.Closed, payload(r.Start), payload(r.Detail), int64(r.Priority), flag(r.Full), r.Key, int64(r.Weight))
	if err == nil {
		err = c.insertAttributes(r.Partition, r.ID, r.Attributes)
	}
	each := func(n int, query string, args func(i int) []driver.Value) {
		for i := 0; i < n && err == nil; i++ {
			_, err = c.exec(query, args(i)...)
		}
	}
	each(len(w.Turns), `INSERT INTO turns (run, number, commit_id, epoch, time, events) VALUES (?, ?, ?, ?, ?, ?)`, func(i int) []driver.Value {
		t := &w.Turns[i]
		return []driver.Value{number, t.Number, t.CommitID, t.Epoch, t.Time, payload(t.Events)}
	})
	each(len(w.Calls), `INSERT INTO calls (partition, `+callColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, func(i int) []driver.Value {
		k := &w.Calls[i]
		return []driver.Value{partition, r.ID, k.Number, string(k.State), k.Name, k.Queue, int64(k.Attempt), k.Due, payload(k.Data), k.First}
	})
	each(len(w.Attempts), `INSERT INTO attempts (partition, `+attemptColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, func(i int) []driver.Value {
		a := &w.Attempts[i]
		return []driver.Value{partition, r.ID, a.Call, int64(a.Number), a.Name, a.Outcome, a.ErrorType, a.Reason, a.Started, a.Ended, payload(a.Data)}
	})
	each(len(w.Tasks), `INSERT INTO tasks (`+taskColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, func(i int) []driver.Value {
		t := &w.Tasks[i]
		return []driver.Value{partition, r.ID, t.Number, int64(t.Attempt), t.WorkflowID, t.Queue, t.Name, int64(t.Priority), flag(t.Suspect),
			t.Offered, t.Worker, t.Claimed, flag(t.Settled), payload(t.Data), flag(t.Stopped), t.Latest, t.Key, int64(t.Weight)}
	})
	return err
}

func (h *handle) Export(ctx context.Context, after store.Cursor, limit int) (*store.Rows, error) {
	rows := &store.Rows{Next: after.Part.Follow()}
	limit = max(limit, 1)
	err := h.snapshot(ctx, "Export", func(c *conn) (err error) {
		switch after.Part {
		case store.CopyFacts:
			rows.Facts, err = c.facts(ctx)
		case store.CopyRuns:
			err = c.exportRuns(ctx, rows, after.Number, limit)
		case store.CopyMessages:
			rows.Messages, err = collect(ctx, c, func(r row) store.Message { return r.message(int(r.int(7))) },
				`SELECT `+messageColumns+`, partition FROM inbox WHERE (partition, sequence) > (?, ?) ORDER BY partition, sequence LIMIT ?`,
				int64(after.Partition), after.Number, int64(limit))
			if n := len(rows.Messages); n == limit {
				last := &rows.Messages[n-1]
				rows.Next = store.Cursor{Part: store.CopyMessages, Partition: last.Partition, Number: last.Sequence}
			}
		case store.CopyTallies:
			rows.Tallies, err = collect(ctx, c, scanTally, `SELECT `+tallyColumns+` FROM tallies WHERE (partition, bucket, type, name, took) > (?, ?, ?, ?, ?)
				ORDER BY partition, bucket, type, name, took LIMIT ?`, int64(after.Partition), after.Number, after.ID, after.Name, after.More, int64(limit))
			if n := len(rows.Tallies); n == limit {
				last := &rows.Tallies[n-1]
				rows.Next = store.Cursor{Part: store.CopyTallies, Partition: last.Partition, Number: last.Bucket, ID: last.Type, Name: last.Name, More: last.Took}
			}
		case store.CopySwitches: // people wrote them: there are few
			rows.Switches, err = collect(ctx, c, scanSwitch, `SELECT `+switchColumns+` FROM switches ORDER BY node_group, number`)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

func (c *conn) facts(ctx context.Context) (*store.Facts, error) {
	f := &store.Facts{}
	err := c.query(ctx, `SELECT key, value FROM meta WHERE key IN ('secret', 'codecs')`, func(r row) (err error) {
		if r.text(0) == "codecs" {
			f.Codecs = r.text(1)
			return nil
		}
		f.Secret, err = hex.DecodeString(r.text(1))
		return err
	})
	if err == nil {
		err = c.query(ctx, `SELECT g.name, g.partition, p.clock FROM node_groups g JOIN partitions p ON p.id = g.partition ORDER BY g.name`, func(r row) error {
			f.Groups = append(f.Groups, store.Group{Name: r.text(0), First: int(r.int(1)), Partitions: 1})
			f.Clock = max(f.Clock, r.int(2))
			return nil
		})
	}
	return f, err
}

// errEnough ends a query whose result is long enough.
var errEnough = errors.New("the export has enough rows: ask for those that follow")

// exportRuns reads runs with numbers above after, by number.
func (c *conn) exportRuns(ctx context.Context, rows *store.Rows, after int64, limit int) error {
	var numbers []int64
	err := c.query(ctx, `SELECT `+runColumns+`, seq FROM runs WHERE seq > ? ORDER BY seq LIMIT ?`, func(r row) error {
		run, err := scanRun(r)
		numbers, rows.Runs = append(numbers, r.int(19)), append(rows.Runs, store.WholeRun{Run: run})
		return err
	}, after, int64(limit))
	if err != nil || len(numbers) == 0 {
		return err
	}
	at, size := 0, 0
	of := func(number int64) *store.WholeRun {
		for numbers[at] != number {
			at++
		}
		return &rows.Runs[at]
	}
	err = c.query(ctx, `SELECT run, number, commit_id, epoch, time, events FROM turns WHERE run > ? AND run <= ? ORDER BY run, number`, func(r row) error {
		if size > store.ExportBytes && numbers[at] != r.int(0) {
			numbers, rows.Runs = numbers[:at+1], rows.Runs[:at+1]
			return errEnough
		}
		t := scanTurn(r[1:])
		w := of(r.int(0))
		w.Turns, size = append(w.Turns, t), size+len(t.Events)
		return nil
	}, after, numbers[len(numbers)-1])
	if err != nil && err != errEnough {
		return err
	}
	last := numbers[len(numbers)-1]
	if len(numbers) == limit || err == errEnough {
		rows.Next = store.Cursor{Part: store.CopyRuns, Number: last}
	}
	for _, t := range []struct {
		name, columns, order string
		add                  func(w *store.WholeRun, r row)
	}{
		{"calls", callColumns, ", number", func(w *store.WholeRun, r row) { w.Calls = append(w.Calls, scanCall(w.Run.Partition, r)) }},
		{"attempts", attemptColumns, ", call, number", func(w *store.WholeRun, r row) { w.Attempts = append(w.Attempts, scanAttempt(w.Run.Partition, r)) }},
		{"tasks", taskColumns, ", number", func(w *store.WholeRun, r row) { w.Tasks = append(w.Tasks, scanTask(r)) }},
	} {
		at = 0
		err := c.query(ctx, `SELECT `+t.columns+`, seq FROM (SELECT seq, partition AS p, id FROM runs WHERE seq > ? AND seq <= ?)
			CROSS JOIN `+t.name+` ON partition = p AND run = id ORDER BY seq`+t.order, func(r row) error {
			t.add(of(r.int(len(r)-1)), r)
			return nil
		}, after, last)
		if err != nil {
			return err
		}
	}
	return nil
}
