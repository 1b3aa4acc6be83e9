package postgres

import (
	"context"
	"encoding/hex"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

func (h *handle) Secret(ctx context.Context) ([]byte, error) {
	var text string
	err := h.share(ctx, "Secret", func(c *conn) error {
		found, err := c.one(ctx, `SELECT value FROM perdure.meta WHERE key = 'secret'`, nil, &text)
		if err == nil && !found {
			err = errors.New("the database has no secret: its table meta is damaged")
		}
		return err
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
	// A run is created as a turn would create it, and the message as a turn
	// would send it. Nobody's epoch is asked for.
	t := store.Turn{Partition: run.Partition, Run: run.ID, Create: &run, Messages: []store.Message{{
		Partition:  run.Partition,
		WorkflowID: run.WorkflowID,
		Run:        run.ID,
		Key:        store.CreatedKey(run.ID),
		Kind:       store.KindCreated,
	}}}
	return h.share(ctx, "Create", func(c *conn) error {
		if exists, err := h.exists(ctx, c, run.Partition); err != nil || !exists {
			return firstError(err, unknown(run.Partition))
		}
		err := c.create(ctx, plan{turn: t})
		if code(err) != uniqueViolation {
			return err
		}
		return again(createdMeanwhile, func() error { return c.createAfter(ctx, plan{turn: t}) })
	})
}

// create inserts the run that a turn creates and delivers its message.
func (c *conn) create(ctx context.Context, p plan) error {
	return c.transaction(ctx, func(b *batch) { b.carryOut([]plan{p}) }, func(b *batch) { b.tell(store.NewsMessage) })
}

// createAfter creates a run whose ID or workflow ID is taken, if that run is
// another of its chain and closed.
func (c *conn) createAfter(ctx context.Context, p plan) error {
	sights := make([]sight, 1)
	if err := c.send(ctx, func(b *batch) { b.lookForRuns([]*store.Turn{&p.turn}, sights) }); err != nil {
		return err
	}
	if err := sights[0].place(&p); err != nil || p.turn.Create == nil { // it exists
		return err
	}
	return c.create(ctx, p)
}

func (h *handle) Post(ctx context.Context, m store.Message) error {
	if err := m.Validate(h.info); err != nil {
		return err
	}
	// The columns are few: a run may carry megabytes.
	reader, key := `SELECT status FROM perdure.runs WHERE partition = $1 AND workflow_id = $2 AND latest`, m.WorkflowID
	if m.Run != "" {
		reader, key = `SELECT status FROM perdure.runs WHERE partition = $1 AND id = $2 AND workflow_id = $3`, m.Run
	}
	if m.ForOwner {
		reader, key = `SELECT 'running'::text AS status WHERE $2::text IS NOT NULL`, ""
	}
	return h.share(ctx, "Post", func(c *conn) error {
		err := store.ErrNotFound
		failed := c.transaction(ctx, func(b *batch) {
			b.query(`WITH reader AS (`+reader+`),
				posted AS (INSERT INTO perdure.inbox (partition, workflow_id, run, key, kind, data, posted)
					SELECT $1, $3, $4, $5, $6, $7, greatest(perdure.now(), $8) FROM reader WHERE status = ANY ($9::text[]) ON CONFLICT DO NOTHING)
				SELECT status FROM reader`,
				[]any{m.Partition, key, m.WorkflowID, m.Run, m.Key, m.Kind, payload(m.Data), h.clock.Load(), open}, func(r pgx.Rows) error {
					var status store.Status
					if err := r.Scan(&status); err != nil {
						return err
					}
					err = store.ErrClosed
					if status.Open() {
						err = nil
					}
					return nil
				})
		}, func(b *batch) { b.tell(store.NewsMessage) })
		return firstError(failed, err)
	})
}

// open are the statuses of runs that read messages.
var open = []store.Status{store.Running, store.OnHold, store.WaitingForCode, store.Parked, store.Standing}
