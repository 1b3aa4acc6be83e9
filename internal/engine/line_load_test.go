package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/store"
)

// loadsCounted counts how often the record of a run is read.
type loadsCounted struct {
	store.Opener
	loads *atomic.Int64
}

func (l loadsCounted) Open(ctx context.Context) (store.Store, error) {
	s, err := l.Opener.Open(ctx)
	return &loadsCountedStore{s, l.loads}, err
}

type loadsCountedStore struct {
	store.Store
	loads *atomic.Int64
}

func (s *loadsCountedStore) Load(ctx context.Context, partition int, run string) (*store.Record, error) {
	s.loads.Add(1)
	return s.Store.Load(ctx, partition, run)
}

// A run that is in line has neither a turn nor a call: to begin it, its row is read and
// nothing else. One that has begun is loaded whole, also by the process after a crash.
func TestRunsInLineAreReadAsRows(t *testing.T) {
	const starts = 1200
	needsNumbers.inVirtualTime(t, func(t *testing.T, w *world) {
		work := activity.New("work", func(ctx context.Context, n int) (int, error) { return n, busy(ctx, 10*time.Millisecond) })
		once := calls(work)
		config := w.config(once, work)
		config.Concurrency = 4
		var loads atomic.Int64
		config.Store = loadsCounted{config.Store, &loads}
		e := w.startWith(config)
		startAll(t, e, once, starts, request.Start{})
		time.Sleep(time.Minute)
		demandCompleted(t, e, once.Name(), starts)
		if n := loads.Load(); n > 0 {
			t.Errorf("the records of %d of %d runs were read whole", n, starts)
		}
	})
}
