package perdure_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

// readings counts the messages that are read of inboxes.
type readings struct {
	store.Opener
	messages *atomic.Int64
}

func (r readings) Open(ctx context.Context) (store.Store, error) {
	s, err := r.Opener.Open(ctx)
	return countedReads{s, r.messages}, err
}

type countedReads struct {
	store.Store
	messages *atomic.Int64
}

func (c countedReads) Inbox(ctx context.Context, partitions []int, read store.InboxRead) ([]store.Message, error) {
	all, err := c.Store.Inbox(ctx, partitions, read)
	c.messages.Add(int64(len(all)))
	return all, err
}

// TestE48_UnreadSignalsAreHeardInOrder: a node that comes back to more signals than it can take at once
// delivers those of each run in the order in which they were sent, and reads each a few times at most.
func TestE48_UnreadSignalsAreHeardInOrder(t *testing.T) {
	ctx := t.Context()
	count := workflow.NewSignal[int]("count")
	listens := workflow.New("listens", func(wf *workflow.Context, _ int) ([]int, error) {
		var heard []int
		for range 3 {
			n, err := workflow.Receive(wf, count)
			if err != nil {
				return nil, err
			}
			heard = append(heard, n)
		}
		return heard, nil
	})
	db := readings{memory.New(), new(atomic.Int64)}
	open := func() *perdure.Engine {
		eng, err := perdure.Open(ctx, db, perdure.Register(listens), perdure.Logger(slog.New(slog.DiscardHandler)))
		ok(t, err)
		return eng
	}
	many := extent.Volume(3000, 20_000)
	client := open()
	var sent sync.WaitGroup
	for c := range 7 {
		sent.Go(func() {
			for i := c; i < many; i += 7 {
				id := fmt.Sprint(i)
				if _, err := perdure.Start(ctx, client, listens, id, 0); err != nil {
					t.Error(err)
				}
				for n := range 3 {
					if err := count.Send(ctx, client.Workflow(id), n); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	sent.Wait()
	ok(t, client.Close())
	eng := open()
	ok(t, eng.Start(ctx))
	defer eng.Close()
	for i := range many {
		heard, err := perdure.Attach[[]int](eng, fmt.Sprint(i)).Result(ctx)
		if err != nil || fmt.Sprint(heard) != "[0 1 2]" {
			t.Fatalf("run %d heard %v, %v", i, heard, err)
		}
	}
	if each := float64(db.messages.Load()) / float64(3*many); each > 10 {
		t.Errorf("each message was read %.1f times", each)
	}
}
