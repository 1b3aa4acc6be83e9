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
	return shared(ctx, h, "Export", func(c *conn) (rows *store.Rows, err error) {
		rows = &store.Rows{Next: after.Part.Follow()}
		switch after.Part {
		case store.CopyFacts:
			rows.Facts, err = c.facts(ctx)
		case store.CopyRuns:
			err = c.exportRuns(ctx, rows, after, limit)
		case store.CopyMessages:
			rows.Messages, err = list(ctx, c, `SELECT `+messageColumns+` FROM perdure.inbox WHERE (partition, sequence) > ($1, $2) ORDER BY partition, sequence LIMIT $3`,
				[]any{after.Partition, after.Number, limit}, messageFields)
			if n := len(rows.Messages); n == limit {
				last := &rows.Messages[n-1]
				rows.Next = store.Cursor{Part: store.CopyMessages, Partition: last.Partition, Number: last.Sequence}
			}
		case store.CopyTallies:
			rows.Tallies, err = list(ctx, c, `SELECT partition, `+tallyKey+`, `+store.TallyCounts+` FROM perdure.tallies
				WHERE (partition, `+tallyKey+`) > ($1, $2, $3, $4, $5) ORDER BY partition, `+tallyKey+` LIMIT $6`,
				[]any{after.Partition, after.Number, after.ID, after.Name, after.More, limit}, tallyFields)
			if n := len(rows.Tallies); n == limit {
				last := &rows.Tallies[n-1]
				rows.Next = store.Cursor{Part: store.CopyTallies, Partition: last.Partition, Number: last.Bucket, ID: last.Type, Name: last.Name, More: last.Took}
			}
		case store.CopySwitches: // people wrote them: there are few
			rows.Switches, err = list(ctx, c, `SELECT `+switchColumns+` FROM perdure.switches ORDER BY node_group, number`, nil, switchFields)
		}
		return rows, err
	})
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
		f.Groups, err = list(ctx, c, `SELECT name, first, $1::bigint FROM perdure.node_groups ORDER BY name`, []any{c.h.info.Partitions},
			func(g *store.Group) []any { return []any{&g.Name, &g.First, &g.Partitions} })
	}
	return f, err
}

// errEnough ends a query whose result is long enough.
var errEnough = errors.New("the export has enough rows: ask for those that follow")

// exportRuns reads runs above a partition and an ID, in the order of both.
func (c *conn) exportRuns(ctx context.Context, rows *store.Rows, after store.Cursor, limit int) error {
	var err error
	rows.Runs, err = list(ctx, c, `SELECT `+runColumns+` FROM perdure.runs WHERE (partition, id) > ($1, $2) ORDER BY partition, id LIMIT $3`,
		[]any{after.Partition, runID(after.ID), limit}, func(w *store.WholeRun) []any { return runFields(&w.Run) })
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
	err := each(callColumns+` FROM perdure.calls c`, `, number`, belongs(callFields, func(k *store.Call) *[]store.Call { return &of(k.Partition, k.Run).Calls }))
	if err == nil {
		err = each(attemptColumns+` FROM perdure.attempts a`, `, call, number`, belongs(attemptFields, func(a *store.Attempt) *[]store.Attempt { return &of(a.Partition, a.Run).Attempts }))
	}
	if err == nil {
		err = each(taskColumns+` FROM perdure.tasks t`, `, number`, belongs(taskFields, func(t *store.Task) *[]store.Task { return &of(t.Partition, t.Run).Tasks }))
	}
	return err
}

// belongs is into for rows that say themselves to which list they belong.
func belongs[T any](fields func(*T) []any, list func(*T) *[]T) func(r pgx.Rows) error {
	return func(r pgx.Rows) error {
		var row T
		err := r.Scan(fields(&row)...)
		if err == nil {
			own := list(&row)
			*own = append(*own, row)
		}
		return err
	}
}
