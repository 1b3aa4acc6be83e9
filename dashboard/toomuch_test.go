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
			code, page := pageAbout(t, &endlessly{db, try.entries, try.answers}, try.path)
			if code != try.status || !strings.Contains(page, try.want) || strings.Contains(page, "does not answer") {
				t.Errorf("%s has status %d and says %s", try.path, code, page)
			}
		})
	}
}

// pageAbout returns a page about a database.
func pageAbout(t *testing.T, db store.Opener, path string) (code int, page string) {
	t.Helper()
	eng, err := perdure.Open(t.Context(), db, perdure.Logger(slog.New(slog.DiscardHandler)))
	must(t, err)
	defer eng.Close()
	pages, err := Handler(eng, access.Rules{Anonymous: access.Identity{Name: "ann", Role: access.Operator}})
	must(t, err)
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil)
	r.RemoteAddr = "127.0.0.1:1"
	pages.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// crowded is a database that has more of everything than is counted.
type crowded struct{ store.Store }

func (d crowded) Open(context.Context) (store.Store, error) { return d, nil }

func (d crowded) Counts(_ context.Context, _ []int, most int) (store.Counts, error) {
	c := store.Counts{
		Runs:  map[store.Status]int{store.Running: 2_000_000, store.Failed: 7, store.Completed: 3},
		Calls: map[store.CallState]int{store.Backoff: 300_000},
	}
	c.Bound(most)
	return c, nil
}

func (d crowded) Errors(_ context.Context, f store.LedgerFilter) ([]store.ErrorGroup, error) {
	return []store.ErrorGroup{{Name: "charge", ErrorType: "Declined", Attempts: f.Limit, Calls: 1, First: 1, Last: 2}}, nil
}

// TestF43_WhatIsNotCountedToItsEndSaysSo: with millions of runs a page counts to a bound, and shows
// that there are more; what it cannot know it leaves out.
func TestF43_WhatIsNotCountedToItsEndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for path, want := range map[string][]string{
			"/":       {"<b>100,000+</b> <span>running", "<b>100,000+</b> <span>calls in backoff", "<b>7</b> <span>failed", "At least 100,000 runs wait", "10,001+"},
			"/runs":   {"running (100,000+)", "failed (7)", "completed</option>", "backoff (100,000+)"},
			"/nodes":  {"<b>100,000+</b> <span>calls retrying"},
			"/ledger": {"More than <strong>10,000 attempts</strong> ended with an error."},
		} {
			db, err := memory.New().Open(t.Context())
			must(t, err)
			code, page := pageAbout(t, crowded{db}, path)
			for _, words := range want {
				if code != http.StatusOK || !strings.Contains(page, words) {
					t.Errorf("%s, status %d, does not say %q: %s", path, code, words, page)
				}
			}
			if strings.Contains(page, "</b> <span>completed</span>") {
				t.Errorf("%s counts completed runs, which nobody has counted", path)
			}
		}
	})
}
