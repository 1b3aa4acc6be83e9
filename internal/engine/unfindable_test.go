package engine_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// TestI9_AMessageWhoseRunCannotBeFoundStaysAlone: the database says definitely that it cannot
// find the run of one message. The message waits, and what is in the same inbox goes on, also
// a run that needs the whole inbox before it loses an attempt.
func TestI9_AMessageWhoseRunCannotBeFoundStaysAlone(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		took := time.Hour
		work := activity.New("work", func(ctx context.Context, n int) (int, error) { return n, busy(ctx, took) })
		flow := calls(work)
		a := w.start(flow, work)
		begin(t, a, flow, "run", 1)
		begin(t, a, flow, "hidden", 1)
		pass(time.Second)
		client := w.config()
		client.Node = "client"
		other := w.open(client)
		w.kill(a)
		value, _ := history.Encode(1)
		if err := other.Signal(t.Context(), "hidden", "poke", "", value); err != nil {
			t.Fatal(err)
		}
		took = time.Second
		c := w.config(flow, work)
		hidden := &hiding{id: "hidden"}
		c.Store = hider{w.db, hidden}
		b := w.startWith(c)
		pass(time.Minute)
		if n := hidden.asked.Load(); n == 0 || n > 100 {
			t.Errorf("in a minute the run was looked for %d times", n)
		}
		if got, err := finish[int](t, b, "run"); got != 1 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
		if n := w.log.count("a message cannot be delivered and stays in the inbox"); n == 0 {
			t.Error("nothing is said of the message")
		}
	})
}

type hiding struct {
	id    string
	asked atomic.Int64
}

type hider struct {
	store.Opener
	*hiding
}

func (h hider) Open(ctx context.Context) (store.Store, error) {
	s, err := h.Opener.Open(ctx)
	return hiddenStore{s, h.hiding}, err
}

type hiddenStore struct {
	store.Store
	*hiding
}

func (h hiddenStore) Find(ctx context.Context, partition int, workflowID, run string) (*store.Run, error) {
	if workflowID == h.id && run == "" && h.asked.Add(1) < 2000 {
		return nil, errors.New("the row cannot be read")
	}
	return h.Store.Find(ctx, partition, workflowID, run)
}
