package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/api"
	"github.com/perdure/perdure/internal/web/webtest"
	"github.com/perdure/perdure/store/memory"
)

// timed is a connection that keeps until when it may be written to.
type timed struct {
	*httptest.ResponseRecorder
	until   time.Time
	written []time.Time // until, at each write
	flushed func()
}

func (w *timed) SetWriteDeadline(t time.Time) error { w.until = t; return nil }

func (w *timed) Write(b []byte) (int, error) {
	w.written = append(w.written, w.until)
	return w.ResponseRecorder.Write(b)
}

func (w *timed) Flush() { w.flushed() }

// getTimed asks for an address over such a connection, until the first flush.
func getTimed(t *testing.T, path string) *timed {
	t.Helper()
	e, err := perdure.Open(t.Context(), memory.New(), perdure.Register(checkout, charge))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	rules := webtest.Rules()
	rules.Hosts = nil
	h, err := api.Handler(e, rules)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil)
	r.Header.Set("Authorization", "Bearer "+webtest.ViewerSecret)
	w := &timed{ResponseRecorder: httptest.NewRecorder(), flushed: cancel}
	h.ServeHTTP(w, r)
	if len(w.written) == 0 || w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return w
}

// TestF9_AStreamMayBeQuiet: each event must be taken in time. Between them there is no such
// time, after which HTTP/2 resets a stream although nothing is written.
func TestF9_AStreamMayBeQuiet(t *testing.T) {
	w := getTimed(t, "/api/live/runs?every=1m")
	if w.written[0].IsZero() || !w.until.IsZero() {
		t.Errorf("the event could be written until %v, what follows until %v", w.written[0], w.until)
	}
}

// TestF9_AnAnswerIsTakenInTime: whoever may wait as long as he likes may not hold his place
// by taking no answer.
func TestF9_AnAnswerIsTakenInTime(t *testing.T) {
	for _, path := range []string{"/api/doctor", "/api/status"} {
		if w := getTimed(t, path); w.written[0].IsZero() {
			t.Errorf("%s: the answer can be written for ever", path)
		}
	}
}
