package postgres

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/store"
)

// listen starts to listen and waits until it does.
func (w *world) listen(h *handle) (heard chan store.News, ended chan error) {
	w.Helper()
	heard, ended = make(chan store.News, 100), make(chan error, 1)
	go func() { ended <- h.Listen(w.Context(), func(n store.News) { heard <- n }) }()
	if n := <-heard; n != store.AllNews {
		w.Fatalf("at first it hears %b", n)
	}
	return heard, ended
}

func TestNewsOfOneKind(t *testing.T) {
	w := newWorld(t)
	run := w.created()
	heard, _ := w.listen(w.another())
	w.must(w.Post(t.Context(), store.Message{Partition: run.Partition, WorkflowID: run.WorkflowID, Key: "k"}))
	if n := <-heard; n != store.NewsMessage {
		t.Errorf("heard %b", n)
	}
	w.must(w.Release(t.Context(), w.node, []int{1}))
	if n := <-heard; n != store.NewsNodes {
		t.Errorf("heard %b", n)
	}
}

// TestE125_SchemasDoNotHearEachOther: the channel of each has its name.
func TestE125_SchemasDoNotHearEachOther(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	heard, _ := w.listen(w.handle)
	other.must(other.Create(t.Context(), other.newRun()))
	w.must(w.Release(t.Context(), w.node, []int{1}))
	if n := <-heard; n != store.NewsNodes {
		t.Errorf("heard %b", n)
	}
}

func TestListenSaysThatItsConnectionIsGone(t *testing.T) {
	w := newWorld(t)
	for range 2 { // it may be called again
		_, ended := w.listen(w.handle)
		w.value(`SELECT count(pg_terminate_backend(pid))::text FROM pg_stat_activity WHERE query = 'LISTEN "' || $1 || '"'`, w.schema)
		if err := <-ended; !store.Unavailable(err) {
			t.Errorf("got %v", err)
		}
	}
}

// TestListenTakesNoConnectionOfThePool opens more ears than the pool has places.
func TestListenTakesNoConnectionOfThePool(t *testing.T) {
	w := newWorldAt(t, pgtest.Shared(t).DSN("postgres")+"&pool_max_conns=1", Schema(freshSchema()))
	for range 3 {
		w.listen(w.handle)
	}
	w.created()
}

// TestPollingWorksInVirtualTime as listening would not: a bubble's time stands
// still while something waits for the network.
func TestPollingWorksInVirtualTime(t *testing.T) {
	dsn, schema := pgtest.Shared(t).DSN("postgres"), Schema(freshSchema())
	synctest.Test(t, func(t *testing.T) {
		s, err := URL(dsn, schema, Poll(time.Second)).Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		heard := make(chan store.News, 100)
		go func() { ended <- s.Listen(ctx, func(n store.News) { heard <- n }) }()
		for quiet := false; !quiet; { // what happened before
			select {
			case <-heard:
			case <-time.After(time.Minute):
				quiet = true
			}
		}
		begun := time.Now()
		w := &world{TB: t}
		w.must(s.Create(t.Context(), w.newRun()))
		if n := <-heard; n != store.NewsMessage|store.NewsTasks || time.Since(begun) > time.Second {
			t.Errorf("heard %b after %s", n, time.Since(begun))
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// TestPollingTellsUntilNobodyIsUnderWay: a sequence rises before the transaction
// is committed that raised it.
func TestPollingTellsUntilNobodyIsUnderWay(t *testing.T) {
	var w watched
	for i, look := range []struct {
		last, oldest, next int64
		news               bool
	}{
		{5, 100, 101, true}, // it rose
		{5, 100, 103, true}, // whoever did it has a number below 103 by now
		{5, 100, 110, true},
		{5, 102, 120, true},
		{5, 104, 121, true}, // they are all done: what they wrote is to be seen
		{5, 104, 122, false},
		{5, 122, 123, false},
		{6, 130, 130, true},
		{7, 130, 131, true},
		{7, 131, 131, true},
		{7, 131, 131, true},
		{7, 131, 131, false},
	} {
		if got := w.news(look.last, look.oldest, look.next); got != look.news {
			t.Errorf("look %d: %v", i, got)
		}
	}
}
