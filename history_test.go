package perdure_test

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// counting counts the turns of histories that are read.
type counting struct {
	store.Store
	opener store.Opener
	turns  atomic.Int64
	most   atomic.Int64 // of one read
}

func (c *counting) Open(ctx context.Context) (store.Store, error) {
	db, err := c.opener.Open(ctx)
	c.Store = db
	return c, err
}

func (c *counting) History(ctx context.Context, partition int, run string, after int64, limit int) ([]store.TurnRow, error) {
	turns, err := c.Store.History(ctx, partition, run, after, limit)
	c.turns.Add(int64(len(turns)))
	c.most.Store(max(c.most.Load(), int64(len(turns))))
	return turns, err
}

// TestF47_HistoryInParts: the parts of a history are the history, with the names of calls that
// began before the part, and a part is read without the rest.
func TestF47_HistoryInParts(t *testing.T) {
	extent.NotInShort(t, "one goroutine reads long histories, cut in every way")
	synctest.Test(t, func(t *testing.T) {
		echo := activity.New("echo", func(ctx context.Context, n int) (int, error) {
			time.Sleep(time.Duration(1+n*7919%1000) * time.Second) // so that they end in another order, one a turn
			return n, nil
		})
		wide := workflow.New("wide", func(wf *workflow.Context, n int) (int, error) {
			var first, calls []workflow.Future[int]
			for i := range n {
				first = append(first, workflow.Async(wf, echo, i))
			}
			for i := range n { // one after the other, while the others are under way
				if err := workflow.Sleep(wf, time.Second/2); err != nil {
					return 0, err
				}
				calls = append(calls, workflow.Async(wf, echo, i))
			}
			for _, f := range append(first, calls...) {
				if _, err := f.Get(wf); err != nil {
					return 0, err
				}
			}
			return n, nil
		})
		db := &counting{opener: memory.New()}
		eng, err := perdure.Open(t.Context(), db, perdure.Register(wide, echo), perdure.Concurrency(1000), perdure.Logger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		defer eng.Close()
		if err := eng.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := perdure.Run(t.Context(), eng, wide, "wide-1", 400); err != nil {
			t.Fatal(err)
		}
		h := eng.Workflow("wide-1")
		whole, err := h.History(t.Context())
		if err != nil || len(whole) < 3000 || whole[len(whole)-1].Turn < 1000 {
			t.Fatalf("%d events, %v", len(whole), err)
		}
		read := func(part view.HistoryRange) []view.Event {
			t.Helper()
			events, err := h.HistoryRange(t.Context(), part)
			if err != nil {
				t.Fatal(err)
			}
			return events
		}
		for _, limit := range []int{1, 7, 600, 5000} {
			var all []view.Event
			for part := (view.HistoryRange{Limit: limit}); ; part.After = all[len(all)-1].Place() {
				events := read(part)
				if all = append(all, events...); len(events) < limit {
					break
				}
			}
			if !reflect.DeepEqual(all, whole) {
				t.Fatalf("by parts of %d there are %d events, all in all %d, or others", limit, len(all), len(whole))
			}
		}
		middle := whole[len(whole)/2]
		of := slices.DeleteFunc(slices.Clone(whole), func(ev view.Event) bool { return ev.Call != middle.Call || ev.Turn <= 1 })
		if events := read(view.HistoryRange{After: view.Place{Turn: 1, Event: view.EndOfTurn}, Call: middle.Call}); !reflect.DeepEqual(events, of) {
			t.Errorf("call %d has %v, want %v", middle.Call, events, of)
		}

		db.turns.Store(0)
		last := whole[len(whole)-10:]
		if events := read(view.HistoryRange{After: whole[len(whole)-11].Place(), Limit: 10}); !reflect.DeepEqual(events, last) {
			t.Errorf("the last events are %v, want %v", events, last)
		}
		if n := db.turns.Load(); n > 300 {
			t.Errorf("for the last 10 events of %d turns %d are read", whole[len(whole)-1].Turn, n)
		}
		for _, part := range []view.HistoryRange{{Limit: -1}, {Call: -1}, {After: view.Place{Turn: -1}}, {After: view.Place{Event: -1}}} {
			if events, err := h.HistoryRange(t.Context(), part); err == nil {
				t.Errorf("%+v: %d events", part, len(events))
			}
		}
	})
}

func TestF47_Places(t *testing.T) {
	for text, want := range map[string]view.Place{
		"": {}, "17.3": {Turn: 17, Event: 3}, "17": {Turn: 17, Event: view.EndOfTurn}, "0.1": {Event: 1},
	} {
		var got view.Place
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want || got.String() != text {
			t.Errorf("%q is %+v, %q, %v", text, got, got, err)
		}
	}
	for _, text := range []string{"x", "1.", ".1", "-1", "1.-1", "1.2.3", "99999999999999999999"} {
		if err := new(view.Place).UnmarshalText([]byte(text)); err == nil || errors.Unwrap(err) != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
