package postgres

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/store"
)

// TestOrderedMessagesAreVisibleInTheirOrder: one that is posted while another to the same run is not yet
// durable waits for it, and comes after it. Other messages do not wait.
func TestOrderedMessagesAreVisibleInTheirOrder(t *testing.T) {
	w := newWorld(t)
	w.claim()
	run := w.newRun()
	w.must(w.Create(t.Context(), run))
	message := func(key string, ordered bool) store.Message {
		return store.Message{Partition: run.Partition, WorkflowID: run.WorkflowID, Run: run.ID, Key: key, Kind: "k", Ordered: ordered}
	}
	second := make(chan error, 1)
	w.must(w.hold(t.Context(), "a test", func(c *conn) error {
		return c.transact(t.Context(), func(pgx.Tx) error {
			var p posting
			m := message("first", true)
			if err := c.send(t.Context(), func(b *batch) { b.post(&m, &p) }); err != nil {
				return err
			}
			go func() { second <- w.Post(context.WithoutCancel(t.Context()), message("second", true)) }()
			if err := w.Post(t.Context(), message("other", false)); err != nil {
				return err
			}
			w.eventually("the second waits", func() bool {
				return w.value(`SELECT (count(*) > 0)::text FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%FOR NO KEY UPDATE%'`, w.schema) == "true"
			})
			return nil
		})
	}))
	w.must(<-second)
	all, err := w.Posted(t.Context(), run.Partition, run.WorkflowID)
	w.must(err)
	var keys []string
	for _, m := range all {
		if m.Key == "first" || m.Key == "second" || m.Key == "other" {
			keys = append(keys, m.Key)
		}
	}
	if len(keys) != 3 || keys[0] != "first" || keys[2] != "second" {
		t.Errorf("they are read as %v", keys)
	}
}
