package engine_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

// ownersBook is a database that counts how often the owners of a partition are read.
type ownersBook struct {
	store.Opener
	read *atomic.Int64
}

func (b ownersBook) Open(ctx context.Context) (store.Store, error) {
	s, err := b.Opener.Open(ctx)
	return countedOwners{s, b.read}, err
}

type countedOwners struct {
	store.Store
	read *atomic.Int64
}

func (c countedOwners) Owners(ctx context.Context, partition int) ([]store.Ownership, error) {
	c.read.Add(1)
	return c.Store.Owners(ctx, partition)
}

// TestE117_OwnersAreReadAgainForRunsThatCome, even if they have no turn that names another
// owner: whether their code is suspected depends on how owners ended since.
func TestE117_OwnersAreReadAgainForRunsThatCome(t *testing.T) {
	inAGroup(t, func(t *testing.T, w *world) {
		flow := workflow.New("flow", func(wf *workflow.Context, n int) (string, error) { return workflow.Receive(wf, proceed) })
		var read atomic.Int64
		plain := w.db
		w.db = ownersBook{plain, &read}
		a := w.versionNode("a", "1", flow)
		w.db = plain
		b := w.versionNode("b", "2", workflow.New("nothing", func(*workflow.Context, int) (int, error) { return 0, nil }))
		pass(time.Minute)
		comes := func(first, n int) (away int64) {
			for i := first; i < first+n; i++ {
				id := fmt.Sprint(i)
				begin(t, a, flow, id, i)
				pass(2 * time.Second)
				if describe(t, b, id).Away == "a" {
					away++
				}
			}
			return away
		}
		comes(0, 60) // to all partitions of the other node
		before := read.Load()
		if away, again := comes(60, 12), read.Load()-before; away == 0 || again < away {
			t.Errorf("%d runs came, and %d times owners were read", away, again)
		}
	})
}
