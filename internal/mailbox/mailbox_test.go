package mailbox

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/perdure/perdure/store"
)

// TestE5_NoNewsIsLost: a listener is first told of everything, then of what came since, together if
// it was away, and of nothing after the end.
func TestE5_NoNewsIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New()
		var got []store.News
		ctx, cancel := context.WithCancel(t.Context())
		closed, ended := make(chan struct{}), make(chan error, 1)
		listen := func() {
			go func() { ended <- b.Read(ctx, closed, func(n store.News) { got = append(got, n) }) }()
			synctest.Wait()
		}
		told := func(when string, want ...store.News) {
			t.Helper()
			if !slices.Equal(got, want) {
				t.Errorf("%s: told of %v, want %v", when, got, want)
			}
			got = nil
		}
		listen()
		told("at first", store.AllNews)
		b.Put(1)
		synctest.Wait()
		b.Put(2)
		synctest.Wait()
		told("one by one", 1, 2)
		b.Put(1)
		b.Put(2)
		b.Put(2)
		synctest.Wait()
		told("together", 3)
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("canceled: %v", err)
		}
		b.Put(4)
		ctx = t.Context()
		listen()
		told("after it was away", 4)
		close(closed)
		if err := <-ended; !errors.Is(err, store.ErrStoreClosed) {
			t.Errorf("closed: %v", err)
		}
		b.Put(1)
		if err := b.Read(ctx, closed, func(n store.News) { got = append(got, n) }); !errors.Is(err, store.ErrStoreClosed) {
			t.Errorf("read when closed: %v", err)
		}
		told("when closed")
	})
}
