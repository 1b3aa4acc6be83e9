package api_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/api"
	"github.com/perdure/perdure/internal/web/webtest"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
)

// faint is a database that can be refused, or give no answer at all.
type faint struct {
	store.Store
	refuses, hangs atomic.Bool
	asked          atomic.Int32
}

func (f *faint) Open(ctx context.Context) (_ store.Store, err error) {
	f.Store, err = memory.New().Open(ctx)
	return f, err
}

func (f *faint) List(ctx context.Context, filter store.Filter) ([]store.Run, error) {
	f.asked.Add(1)
	switch {
	case f.hangs.Load():
		<-ctx.Done()
		return nil, ctx.Err()
	case f.refuses.Load():
		return nil, errors.New("the database is gone")
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return f.Store.List(ctx, filter)
}

// TestF8_ReadinessOfAServer: a server that is a client of the database is ready while the
// database answers. It asks it once in two seconds, however many ask the server, waits two
// seconds for it, and is not misled by those who do not wait for its answer.
func TestF8_ReadinessOfAServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &faint{}
		e, err := perdure.Open(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		h, err := api.Handler(e, webtest.Rules())
		if err != nil {
			t.Fatal(err)
		}
		ready := func(ctx context.Context) int {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/readyz", nil))
			return w.Code
		}
		want := func(code int, within time.Duration, what string) {
			t.Helper()
			begun := time.Now()
			if got := ready(t.Context()); got != code || time.Since(begun) > within {
				t.Errorf("%s: %d after %v, want %d within %v", what, got, time.Since(begun), code, within)
			}
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		ready(gone)
		want(http.StatusOK, 0, "after one who asked and left")
		time.Sleep(3 * time.Second)
		f.asked.Store(0)
		for range 100 {
			want(http.StatusOK, 0, "the database answers")
		}
		if n := f.asked.Load(); n != 1 {
			t.Errorf("it was asked %d times", n)
		}
		f.refuses.Store(true)
		time.Sleep(2 * time.Second)
		want(http.StatusServiceUnavailable, 0, "the database refuses")
		f.refuses.Store(false)
		f.hangs.Store(true)
		time.Sleep(2 * time.Second)
		impatient, leave := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer leave()
		ready(impatient)
		want(http.StatusServiceUnavailable, 2*time.Second, "the database does not answer")
		f.hangs.Store(false)
		time.Sleep(2 * time.Second)
		want(http.StatusOK, 0, "it is back")
	})
}
