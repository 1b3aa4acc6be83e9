package postgres

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/perdure/perdure/store"
)

// closedState is the SQLSTATE of a trigger of a closed database.
const closedState = "PD007"

// closable are the tables that nobody writes to in a closed database. Making a trigger waits
// for the transactions that write to its table, those of users included, and refuses later
// ones, whatever wrote them. A setting of the transaction lets that of a copy pass.
var closable = []string{"runs", "attributes", "turns", "calls", "attempts", "tallies", "inbox", "tasks", "nodes", "workers", "owners", "switches"}

const (
	makeClosed = `CREATE OR REPLACE FUNCTION perdure.closed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF coalesce(current_setting('perdure_copy.writes', true), '') <> 'on' THEN
			RAISE EXCEPTION '%', (SELECT value FROM perdure.meta WHERE key = 'seal') USING ERRCODE = '` + closedState + `';
		END IF;
		RETURN NULL;
	END $$`
	makeTrigger = `CREATE TRIGGER closed BEFORE INSERT OR UPDATE OR DELETE ON perdure.%s FOR EACH STATEMENT EXECUTE FUNCTION perdure.closed()`
	dropTrigger = `DROP TRIGGER IF EXISTS closed ON perdure.%s`
	passClosed  = `SET LOCAL perdure_copy.writes = 'on'`
)

// errDistributed refuses a copy where no trigger can close the tables.
var errDistributed = errors.New("its tables are distributed by Citus, which has no triggers for them: such a database cannot be closed, so it cannot be copied")

func (h *handle) Sealed(ctx context.Context) (store.Seal, error) {
	return shared(ctx, h, "Sealed", func(c *conn) (store.Seal, error) { return c.seal(ctx) })
}

func (c *conn) seal(ctx context.Context) (seal store.Seal, err error) {
	text := "{}"
	if _, err := c.one(ctx, `SELECT value FROM perdure.meta WHERE key = 'seal'`, nil, &text); err != nil {
		return seal, err
	}
	return seal, json.Unmarshal([]byte(text), &seal)
}

func (h *handle) Seal(ctx context.Context, before, after store.Seal, rows *store.Rows) error {
	if err := store.CheckSeal(before, after, rows); err != nil {
		return err
	}
	if h.distributed {
		return fmt.Errorf("%s: %w", h.info.Location, errDistributed)
	}
	return h.share(ctx, "Seal", func(c *conn) error {
		return c.transact(ctx, func(tx pgx.Tx) error {
			// Nodes lock this row when they join.
			if _, err := c.exec(ctx, `SELECT FROM perdure.meta WHERE key = 'secret' FOR UPDATE`); err != nil {
				return err
			}
			known, err := c.seal(ctx)
			switch {
			case err != nil || known == after:
				return err
			case known != before:
				return store.ErrStale
			case before.Closed():
				if err := c.script(ctx, passClosed); err != nil {
					return err
				}
			case after.Closed():
				if err := c.shut(ctx); err != nil {
					return err
				}
			}
			if rows != nil {
				if err := c.insertRows(ctx, tx, rows); err != nil {
					return err
				}
			}
			if before.Closed() && !after.Closed() {
				if err := c.triggers(ctx, dropTrigger); err != nil {
					return err
				}
			}
			text, _ := json.Marshal(after) // cannot fail
			_, err = c.exec(ctx, `INSERT INTO perdure.meta (key, value) VALUES ('seal', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value`, string(text))
			return err
		})
	})
}

// shut makes the triggers that refuse what is written, unless a node or worker is live. It
// looks for these before it waits for any table.
func (c *conn) shut(ctx context.Context) error {
	for range 2 {
		var live string
		_, err := c.one(ctx, `SELECT coalesce((SELECT name FROM perdure.nodes WHERE departed IS NULL AND expires > perdure.now() LIMIT 1),
			(SELECT 'the worker ' || name FROM perdure.workers WHERE NOT departed AND seen + lease > perdure.now() LIMIT 1), '')`, nil, &live)
		if err != nil {
			return err
		}
		if live != "" {
			return &store.InUseError{Location: c.h.info.Location, Holder: live}
		}
		if err := c.script(ctx, c.h.sql(makeClosed)); err != nil {
			return err
		}
		if err := c.triggers(ctx, dropTrigger); err != nil { // locks the tables, so the second look is final
			return err
		}
	}
	return c.triggers(ctx, makeTrigger)
}

// triggers runs a statement for each trigger of a closed database.
func (c *conn) triggers(ctx context.Context, statement string) error {
	for _, table := range closable {
		if err := c.script(ctx, fmt.Sprintf(statement, table)); err != nil {
			return err
		}
	}
	return nil
}

// closedError returns the error of a statement that a trigger refused.
func (h *handle) closedError(err error) error {
	refused := &store.SealedError{Location: h.info.Location}
	if m, ok := errors.AsType[*pgconn.PgError](err); ok {
		_ = json.Unmarshal([]byte(m.Message), &refused.Seal) // else it says less
	}
	return refused
}

// put writes rows into a table, the first column of which is the partition.
func put(ctx context.Context, tx pgx.Tx, h *handle, table string, columns []string, n int, row func(i int) []any) error {
	if n == 0 {
		return nil
	}
	_, err := tx.CopyFrom(ctx, pgx.Identifier{h.schema, table}, columns, pgx.CopyFromSlice(n, func(i int) ([]any, error) { return row(i), nil }))
	return foreign(err)
}

// belonging is a row that belongs to a run.
type belonging[T any] struct {
	partition int
	run       runID
	row       *T
}

// belongings lists the rows that belong to runs.
func belongings[T any](runs []store.WholeRun, parts func(w *store.WholeRun) []T) (all []belonging[T]) {
	for i := range runs {
		w := &runs[i]
		own := parts(w)
		for k := range own {
			all = append(all, belonging[T]{w.Run.Partition, runID(w.Run.ID), &own[k]})
		}
	}
	return all
}

func (c *conn) insertRows(ctx context.Context, tx pgx.Tx, rows *store.Rows) error {
	if rows.Facts != nil {
		if err := c.writeFacts(ctx, rows.Facts); err != nil {
			return err
		}
	}
	runs, messages, switches := rows.Runs, rows.Messages, rows.Switches
	turns := belongings(runs, func(w *store.WholeRun) []store.TurnRow { return w.Turns })
	calls := belongings(runs, func(w *store.WholeRun) []store.Call { return w.Calls })
	attempts := belongings(runs, func(w *store.WholeRun) []store.Attempt { return w.Attempts })
	tasks := belongings(runs, func(w *store.WholeRun) []store.Task { return w.Tasks })
	attributes := belongings(runs, func(w *store.WholeRun) []store.Attribute { return w.Run.Attributes })
	for _, t := range []struct {
		table   string
		columns []string
		n       int
		row     func(i int) []any
	}{
		{"runs", []string{"partition", "id", "workflow_id", "latest", "type", "node_group", "chain", "attempt", "created", "priority", "run_key", "weight", "status", "wake", "closed", "is_full", "start", "detail"}, len(runs), func(i int) []any {
			r := &runs[i].Run
			return []any{r.Partition, runID(r.ID), r.WorkflowID, r.Latest, r.Type, r.Group, runID(r.Chain), r.Attempt, r.Created, r.Priority, r.Key, r.Weight, string(r.Status), orNull(r.Wake), r.Closed, r.Full, payload(r.Start), payload(r.Detail)}
		}},
		{"attributes", []string{"partition", "run", "name", "value"}, len(attributes), func(i int) []any {
			a := attributes[i]
			return []any{a.partition, a.run, a.row.Name, a.row.Value}
		}},
		{"turns", []string{"partition", "run", "number", "commit_id", "epoch", "time", "events"}, len(turns), func(i int) []any {
			t := turns[i]
			return []any{t.partition, t.run, t.row.Number, t.row.CommitID, t.row.Epoch, t.row.Time, payload(t.row.Events)}
		}},
		{"calls", []string{"partition", "run", "number", "first", "state", "name", "queue", "attempt", "due", "data"}, len(calls), func(i int) []any {
			k := calls[i]
			return []any{k.partition, k.run, k.row.Number, k.row.First, string(k.row.State), k.row.Name, k.row.Queue, k.row.Attempt, k.row.Due, payload(k.row.Data)}
		}},
		{"attempts", []string{"partition", "run", "call", "number", "name", "outcome", "error_type", "reason", "started", "ended", "data"}, len(attempts), func(i int) []any {
			a := attempts[i]
			return []any{a.partition, a.run, a.row.Call, a.row.Number, a.row.Name, a.row.Outcome, a.row.ErrorType, a.row.Reason, a.row.Started, a.row.Ended, payload(a.row.Data)}
		}},
		{"tasks", []string{"partition", "run", "number", "attempt", "workflow_id", "queue", "name", "run_key", "weight", "priority", "suspect", "offered", "latest", "worker", "claimed", "settled", "stopped", "data"}, len(tasks), func(i int) []any {
			t := tasks[i]
			return []any{t.partition, t.run, t.row.Number, t.row.Attempt, t.row.WorkflowID, t.row.Queue, t.row.Name, t.row.Key, t.row.Weight, t.row.Priority, t.row.Suspect, t.row.Offered, t.row.Latest, t.row.Worker, t.row.Claimed, t.row.Settled, t.row.Stopped, payload(t.row.Data)}
		}},
		{"inbox", []string{"partition", "workflow_id", "run", "key", "kind", "posted", "data"}, len(messages), func(i int) []any {
			m := &messages[i]
			return []any{m.Partition, m.WorkflowID, runID(m.Run), m.Key, m.Kind, m.Posted, payload(m.Data)}
		}},
		{"switches", []string{"number", "node_group", "kind", "name", "off", "request", "by", "why", "time", "share", "lasts"}, len(switches), func(i int) []any {
			s := &switches[i]
			return []any{s.Number, s.Group, s.Kind, s.Name, s.Off, s.Request, s.By, s.Why, s.Time, s.Share, s.Lasts}
		}},
	} {
		if err := put(ctx, tx, c.h, t.table, t.columns, t.n, t.row); err != nil {
			return err
		}
	}
	return c.send(ctx, func(b *batch) {
		b.addTallies(rows.Tallies)
	})
}

func (c *conn) writeFacts(ctx context.Context, f *store.Facts) error {
	return c.send(ctx, func(b *batch) {
		for key, value := range map[string]string{"secret": hex.EncodeToString(f.Secret), "codecs": f.Codecs} {
			if value != "" {
				b.do(`INSERT INTO perdure.meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value`, key, value)
			}
		}
		b.do(`UPDATE perdure.partitions SET clock = greatest(clock, $1)`, f.Clock)
	})
}
