package postgres

import (
	"context"
	"encoding/hex"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

func (h *handle) Export(ctx context.Context, after store.Cursor, limit int) (*store.Rows, error) {
	limit = max(limit, 1)
	var rows *store.Rows
	err := h.share(ctx, "Export", func(c *conn) (err error) {
		rows = &store.Rows{Next: after.Part.Follow()}
		switch after.Part {
		case store.CopyFacts:
			rows.Facts, err = c.facts(ctx)
			return err
		case store.CopyRuns:
			return c.exportRuns(ctx, rows, after, limit)
		case store.CopyMessages:
			return c.query(ctx, `SELECT `+messageColumns+`, partition FROM perdure.inbox WHERE (partition, sequence) > ($1, $2) ORDER BY partition, sequence LIMIT $3`,
				[]any{after.Partition, after.Number, limit}, func(r pgx.Rows) error {
					var m store.Message
					err := r.Scan(&m.Sequence, &m.WorkflowID, (*runID)(&m.Run), &m.Key, &m.Kind, &m.Posted, (*opaque)(&m.Data), &m.Partition)
					if rows.Messages = append(rows.Messages, m); len(rows.Messages) == limit {
						rows.Next = store.Cursor{Part: store.CopyMessages, Partition: m.Partition, Number: m.Sequence}
					}
					return err
				})
		case store.CopyTallies:
			return c.query(ctx, `SELECT partition, `+tallyKey+`, `+store.TallyCounts+` FROM perdure.tallies
				WHERE (partition, `+tallyKey+`) > ($1, $2, $3, $4, $5) ORDER BY partition, `+tallyKey+` LIMIT $6`,
				[]any{after.Partition, after.Number, after.ID, after.Name, after.More, limit}, func(r pgx.Rows) error {
					t, err := scanTally(r)
					if rows.Tallies = append(rows.Tallies, t); len(rows.Tallies) == limit {
						rows.Next = store.Cursor{Part: store.CopyTallies, Partition: t.Partition, Number: t.Bucket, ID: t.Type, Name: t.Name, More: t.Took}
					}
					return err
				})
		case store.CopySwitches: // people wrote them: there are few
			rows.Switches, err = c.switches(ctx, `SELECT `+switchColumns+` FROM perdure.switches ORDER BY node_group, number`)
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

func (c *conn) facts(ctx context.Context) (*store.Facts, error) {
	f := &store.Facts{}
	var secret string
	_, err := c.one(ctx, `SELECT (SELECT value FROM perdure.meta WHERE key = 'secret'), coalesce((SELECT value FROM perdure.meta WHERE key = 'codecs'), ''),
		(SELECT max(clock) FROM perdure.partitions)`, nil, &secret, &f.Codecs, &f.Clock)
	if err == nil {
		f.Secret, err = hex.DecodeString(secret)
	}
	if err == nil {
		err = c.query(ctx, `SELECT name, first FROM perdure.node_groups ORDER BY name`, nil, func(r pgx.Rows) error {
			g := store.Group{Partitions: c.h.info.Partitions}
			err := r.Scan(&g.Name, &g.First)
			f.Groups = append(f.Groups, g)
			return err
		})
	}
	return f, err
}

// errEnough ends a query whose result is long enough.
var errEnough = errors.New("the export has enough rows: ask for those that follow")

// exportRuns reads runs above a partition and an ID, in the order of both.
func (c *conn) exportRuns(ctx context.Context, rows *store.Rows, after store.Cursor, limit int) error {
	err := c.query(ctx, `SELECT `+runColumns+` FROM perdure.runs WHERE (partition, id) > ($1, $2) ORDER BY partition, id LIMIT $3`,
		[]any{after.Partition, runID(after.ID), limit}, func(r pgx.Rows) error {
			run, err := scanRun(r)
			if err == nil {
				rows.Runs = append(rows.Runs, store.WholeRun{Run: *run})
			}
			return err
		})
	if err != nil || len(rows.Runs) == 0 {
		return err
	}
	at, size, full := 0, 0, len(rows.Runs) == limit
	is := func(partition int, run string) bool {
		return rows.Runs[at].Run.Partition == partition && rows.Runs[at].Run.ID == run
	}
	// each reads the rows of a table that belong to the runs.
	each := func(columns, order string, read func(r pgx.Rows) error) error {
		at = 0
		last := &rows.Runs[len(rows.Runs)-1].Run
		return c.query(ctx, `SELECT `+columns+` WHERE (partition, run) > ($1, $2) AND (partition, run) <= ($3, $4) ORDER BY partition, run`+order,
			[]any{after.Partition, runID(after.ID), last.Partition, runID(last.ID)}, read)
	}
	of := func(partition int, run string) *store.WholeRun {
		for !is(partition, run) {
			at++
		}
		return &rows.Runs[at]
	}
	err = each(`partition, run, number, commit_id, epoch, time, events FROM perdure.turns`, `, number`, func(r pgx.Rows) error {
		var t store.TurnRow
		var partition int
		var run string
		if err := r.Scan(&partition, (*runID)(&run), &t.Number, &t.CommitID, &t.Epoch, &t.Time, (*opaque)(&t.Events)); err != nil {
			return err
		}
		if size > store.ExportBytes && !is(partition, run) {
			rows.Runs, full = rows.Runs[:at+1], true
			return errEnough
		}
		w := of(partition, run)
		w.Turns, size = append(w.Turns, t), size+len(t.Events)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	if full {
		last := &rows.Runs[len(rows.Runs)-1].Run
		rows.Next = store.Cursor{Part: store.CopyRuns, Partition: last.Partition, ID: last.ID}
	}
	return exportBelongings(each, of)
}

// exportBelongings reads what belongs to runs besides their histories.
func exportBelongings(each func(columns, order string, read func(r pgx.Rows) error) error, of func(partition int, run string) *store.WholeRun) error {
	err := each(callColumns+` FROM perdure.calls c`, `, number`, func(r pgx.Rows) error {
		var k store.Call
		if err := r.Scan(callFields(&k)...); err != nil {
			return err
		}
		w := of(k.Partition, k.Run)
		w.Calls = append(w.Calls, k)
		return nil
	})
	if err == nil {
		err = each(attemptColumns+` FROM perdure.attempts a`, `, call, number`, func(r pgx.Rows) error {
			var a store.Attempt
			if err := r.Scan(attemptFields(&a)...); err != nil {
				return err
			}
			w := of(a.Partition, a.Run)
			w.Attempts = append(w.Attempts, a)
			return nil
		})
	}
	if err == nil {
		err = each(taskColumns+` FROM perdure.tasks t`, `, number`, func(r pgx.Rows) error {
			t, err := scanTask(r)
			if err != nil {
				return err
			}
			w := of(t.Partition, t.Run)
			w.Tasks = append(w.Tasks, t)
			return nil
		})
	}
	return err
}
