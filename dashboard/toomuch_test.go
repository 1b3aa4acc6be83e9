package dashboard

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
)

// endlessly is a database in which reading all errors, or all entries of the ledger, takes longer
// than anybody waits.
type endlessly struct {
	store.Store
	entries bool
	answers int // so many questions for errors are answered
}

func (d *endlessly) Open(context.Context) (store.Store, error) { return d, nil }

func (d *endlessly) Errors(ctx context.Context, _ store.LedgerFilter) ([]store.ErrorGroup, error) {
	if d.answers--; d.answers >= 0 {
		return []store.ErrorGroup{{Name: "charge", ErrorType: "Declined", Attempts: 7, Calls: 7}}, nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (d *endlessly) Ledger(ctx context.Context, f store.LedgerFilter) ([]store.LedgerEntry, error) {
	if !d.entries {
		return d.Store.Ledger(ctx, f)
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestF43_TooMuchIsNoDeadDatabase: where a database has more on record than can be read in time,
// the page has the rest and says so. It does not say that the database does not answer.
func TestF43_TooMuchIsNoDeadDatabase(t *testing.T) {
	for _, try := range []struct {
		path    string
		entries bool
		answers int
		status  int
		want    string
	}{
		{"/ledger", false, 0, http.StatusOK, "There are too many attempts on record to sum up their errors in 6s."},
		{"/ledger", false, 1, http.StatusOK, "There are too many attempts on record to count them over time."},
		{"/ledger", true, 0, http.StatusServiceUnavailable, "The command has no such limit: perdure stats errors."},
		{"/policy", false, 0, http.StatusOK, "There is too much on record to suggest policies from it."},
	} {
		synctest.Test(t, func(t *testing.T) {
			db, err := memory.New().Open(t.Context())
			must(t, err)
			eng, err := perdure.Open(t.Context(), &endlessly{db, try.entries, try.answers}, perdure.Logger(slog.New(slog.DiscardHandler)))
			must(t, err)
			defer eng.Close()
			pages, err := Handler(eng, access.Rules{Anonymous: access.Identity{Name: "ann", Role: access.Operator}})
			must(t, err)
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+try.path, nil)
			r.RemoteAddr = "127.0.0.1:1"
			pages.ServeHTTP(w, r)
			page := w.Body.String()
			if w.Code != try.status || !strings.Contains(page, try.want) || strings.Contains(page, "does not answer") {
				t.Errorf("%s has status %d and says %s", try.path, w.Code, page)
			}
		})
	}
}
