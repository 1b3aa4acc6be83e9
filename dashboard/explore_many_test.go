package dashboard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/workflow"
)

var (
	again = activity.New("again", func(context.Context, string) (string, error) { return "", errors.New("again") },
		activity.Retry(retry.Policy{MaxAttempts: 500, Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter}))
	stubborn = workflow.New("stubborn", func(wf *workflow.Context, in string) (string, error) { return workflow.Call(wf, again, in) })
)

// TestF37_TenThousandAttempts: the ledger and the lab count all of them, and the page stays
// one of few rows.
func TestF37_TenThousandAttempts(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves large runs out.")
	}
	b := browse(t)
	now, file := time.Now(), filepath.Join(t.TempDir(), "many.db")
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(now.Add(-time.Hour)))
		eng, err := perdure.Open(t.Context(), sqlite.File(file, sqlite.Exclusive()), perdure.Register(stubborn, again), perdure.Logger(slog.New(slog.DiscardHandler)))
		must(t, err)
		must(t, eng.Start(t.Context()))
		for i := range 20 {
			_, err := perdure.Start(t.Context(), eng, stubborn, fmt.Sprint("run-", i), "x")
			must(t, err)
		}
		time.Sleep(30 * time.Minute)
		must(t, eng.Close())
	})
	srv, _ := served(t, file)
	b.open(srv.URL + "/shop/ledger")
	if got := b.text("#errors + p"); got != "10,000 attempts ended with an error." {
		t.Errorf("the ledger says %q", got)
	}
	if rows := js[int](b, `document.querySelectorAll("tbody tr").length`); rows > 100 {
		t.Errorf("the page has %d rows", rows)
	}
	b.press("Next")
	b.open(srv.URL + "/shop/lab?policy=standard")
	if got := b.text("main"); !strings.Contains(got, "Tried on 20 calls with 10,000 attempts") {
		t.Errorf("the lab says %s", got)
	}
}
