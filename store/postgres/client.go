package postgres

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/store"
)

func (h *handle) Secret(ctx context.Context) ([]byte, error) {
	text, err := shared(ctx, h, "Secret", func(c *conn) (text string, err error) {
		found, err := c.one(ctx, `SELECT value FROM perdure.meta WHERE key = 'secret'`, nil, &text)
		if err == nil && !found {
			err = errors.New("the database has no secret: its table meta is damaged; restore it from a backup")
		}
		return text, err
	})
	if err != nil {
		return nil, err
	}
	return hex.DecodeString(text)
}

func (h *handle) Create(ctx context.Context, run store.Run) error {
	if err := run.Validate(h.info); err != nil {
		return err
	}
	t := creation(&run)
	return h.patiently(ctx, "Create", func(c *conn) error {
		if err := h.known(ctx, c, run.Partition); err != nil {
			return err
		}
		err := c.create(ctx, plan{turn: t})
		if code(err) == uniqueViolation {
			err = again(createdMeanwhile, func() error { return c.createAfter(ctx, plan{turn: t}) })
		}
		if code(err) == unheardOf { // the history to begin with does not exist
			return store.ErrNotFound
		}
		return err
	})
}

// creation returns a turn that creates a run as Create does, and sends its message. It
// needs no fencing.
func creation(run *store.Run) store.Turn {
	t := store.Turn{Partition: run.Partition, Run: run.ID, Create: run}
	if !store.IsInLine(run.Wake) {
		t.Messages = []store.Message{run.CreatedMessage()}
	}
	return t
}

// create inserts the run that a turn creates and delivers its message.
func (c *conn) create(ctx context.Context, p plan) error {
	return c.transaction(ctx, func(b *batch) {
		b.limitLocks(patience)
		b.create(p)
	}, func(b *batch) { b.notify(store.NewsMessage) })
}

// create adds a creation. A run in line has no message, so create raises the sequence of
// messages for it, which pollers watch.
func (b *batch) create(p plan) {
	b.carryOut([]plan{p})
	if len(p.turn.Messages) == 0 {
		b.do(`SELECT nextval('perdure.messages')`)
	}
}

// createAfter creates a run whose ID or workflow ID is taken, if the existing run is
// another one of its chain and closed.
func (c *conn) createAfter(ctx context.Context, p plan) error {
	sights := make([]sight, 1)
	if err := c.send(ctx, func(b *batch) { b.lookForRuns([]*store.Turn{&p.turn}, sights) }); err != nil {
		return err
	}
	if err := sights[0].place(&p); err != nil || p.turn.Create == nil { // it exists already
		return err
	}
	return c.create(ctx, p)
}

func (h *handle) Post(ctx context.Context, m store.Message) error {
	if err := m.Validate(h.info); err != nil {
		return err
	}
	return h.patiently(ctx, "Post", func(c *conn) error {
		var p posting
		news := func(b *batch) { b.notify(store.NewsMessage) }
		if h.distributed {
			return cmp.Or(c.inTwo(ctx, func(b *batch) {
				b.limitLocks(patience)
				b.seek(&m, &p)
			}, func(b *batch) { b.postSeen(&m, &p) }, news), p.refusal())
		}
		return cmp.Or(c.transaction(ctx, func(b *batch) {
			b.limitLocks(patience)
			b.post(&m, &p)
		}, news), p.refusal())
	})
}

// posting is the result of delivering a message.
type posting struct{ reader store.Status } // status of the run that reads it, "" if there is none

// refusal returns why no run reads the message, or nil.
func (p *posting) refusal() error {
	switch {
	case p.reader == "":
		return store.ErrNotFound
	case p.reader == full:
		return store.ErrFull
	case !p.reader.Open():
		return store.ErrClosed
	}
	return nil
}

// post adds the statement that delivers a message if there is a run that reads it.
func (b *batch) post(m *store.Message, p *posting) {
	reader, key := readerOf(m, "$3", "$9")
	if m.ForOwner {
		reader, key = `SELECT 'running'::text AS status WHERE $2::text IS NOT NULL`, ""
	}
	b.query(`WITH reader AS (`+reader+`),
		posted AS (INSERT INTO perdure.inbox (partition, workflow_id, run, key, kind, data, posted)
			SELECT $1, $3, $4, $5, $6, $7, greatest(perdure.now(), $8) FROM reader WHERE status = ANY ($9::text[]) ON CONFLICT `+unlessPosted(m)+`)
		SELECT status FROM reader`,
		[]any{m.Partition, key, m.WorkflowID, runID(m.Run), m.Key, m.Kind, payload(m.Data), b.h.clock.Load(), open}, func(r pgx.Rows) error {
			return r.Scan(&p.reader)
		})
}

// readerOf returns a query for the status of the run that would read a message, and its
// second parameter. The first parameter is the partition; the other placeholders are
// arguments.
func readerOf(m *store.Message, workflow, open string) (query string, key any) {
	standing := `status` // few columns: a run may hold megabytes
	if m.IfRoom {
		standing = `CASE WHEN is_full AND status = ANY (` + open + `::text[]) THEN '` + full + `' ELSE status END AS status`
	}
	lock := ""
	if m.Ordered {
		lock = ` FOR NO KEY UPDATE` // the next one gets its number when this one is visible
	}
	if m.Run != "" {
		return `SELECT ` + standing + ` FROM perdure.runs WHERE partition = $1 AND id = $2 AND workflow_id = ` + workflow + lock, runID(m.Run)
	}
	return `SELECT ` + standing + ` FROM perdure.runs WHERE partition = $1 AND workflow_id = $2 AND latest` + lock, m.WorkflowID
}

// unlessPosted returns what to do with a message whose key is taken.
func unlessPosted(m *store.Message) string {
	if m.Replace {
		return `(partition, workflow_id, key) DO UPDATE SET sequence = excluded.sequence, run = excluded.run, kind = excluded.kind, data = excluded.data, posted = excluded.posted`
	}
	return `DO NOTHING`
}

// full is the status that Post sees for a run without room for the message.
const full = "full"

// open are the statuses of runs that read messages.
var open = []string{string(store.Running), string(store.OnHold), string(store.WaitingForCode), string(store.Parked), string(store.Standing)}
