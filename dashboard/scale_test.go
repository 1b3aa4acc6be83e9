package dashboard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/workflow"
)

// manyEvents is more than a page may have elements.
var manyEvents = extent.AtNight(12_000, 50_000)

// large makes a run with ten thousand attempts, one with many events, one with values
// of a megabyte, a gate at which five hundred calls wait, and a schedule with an input of a
// megabyte and with as many runs as it remembers.
func large(t *testing.T) string {
	t.Helper()
	file, now := filepath.Join(t.TempDir(), "large.db"), time.Now()
	fail := activity.New("fail", func(context.Context, int) (string, error) { return "", errors.New(hostile) }, activity.Retry(policyOf("[retry: 499, fixed: 1s, jitter: none]")))
	many := workflow.New("many", workflow.NoResult(func(wf *workflow.Context, calls int) error {
		items := make([]int, calls)
		_, err := workflow.Map(wf, items, func(wf *workflow.Context, i int) (string, error) {
			if _, err := workflow.Call(wf, fail, i); err != nil {
				return "given up", nil
			}
			return "done", nil
		})
		return err
	}))
	long := workflow.New("long", workflow.NoResult(func(wf *workflow.Context, n int) error {
		for range n {
			workflow.SideEffect(wf, "note", func() string { return "noted" })
		}
		return workflow.Sleep(wf, 1000*time.Hour)
	}))
	echo := activity.New("echo", func(_ context.Context, in string) (string, error) { return in, nil })
	big := workflow.New("big", func(wf *workflow.Context, in string) (string, error) { return workflow.Call(wf, echo, in) })
	crowd := activity.New("crowd", func(context.Context, int) (string, error) { return "", activity.ErrPending },
		activity.Retry(policyOf("[timeout: 10d]")), activity.Through(gate.New(worst, 1)))
	crowded := workflow.New("crowded", workflow.NoResult(func(wf *workflow.Context, calls int) error {
		_, err := workflow.Map(wf, make([]int, calls), func(wf *workflow.Context, i int) (string, error) { return workflow.Call(wf, crowd, i) })
		return err
	}))
	brief := workflow.New("brief", func(*workflow.Context, string) (string, error) { return "", errors.New(hostile) })
	megabyte := strings.Repeat(hostile, 1_000_000/len(hostile))
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(now.Add(-time.Hour)))
		eng, err := perdure.Open(t.Context(), sqlite.File(file, sqlite.Exclusive()), perdure.Register(many, long, big, fail, echo, crowded, crowd, brief), perdure.MaxHistory(100_000),
			perdure.Concurrency(50), perdure.Logger(slog.New(slog.DiscardHandler)))
		must(t, err)
		defer eng.Close()
		must(t, eng.Start(t.Context()))
		_, err = perdure.Start(t.Context(), eng, many, "attempts", 20)
		must(t, err)
		_, err = perdure.Start(t.Context(), eng, long, "events", manyEvents)
		must(t, err)
		_, err = perdure.Run(t.Context(), eng, big, "bytes", megabyte)
		must(t, err)
		_, err = perdure.Start(t.Context(), eng, crowded, "crowd", 500)
		must(t, err)
		must(t, perdure.Schedule(t.Context(), eng, worst, brief, megabyte, schedule.Spec{Every: time.Minute}))
		time.Sleep(30 * time.Minute)
	})
	return file
}

var beginsElement = regexp.MustCompile(`<[a-zA-Z]`)

// TestF33_LargeRuns: pages stay small, whatever a run has on record.
func TestF33_LargeRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves large runs out.")
	}
	b := browse(t)
	srv, _ := served(t, large(t))
	last := fmt.Sprintf("1.%d", manyEvents-200)
	paths := []string{
		"", "runs", "run?id=attempts", "compare?id=attempts&with=events", "attempts?id=attempts", "attempts?id=attempts&after=20.299", "attempts?id=attempts&number=7&only=failed",
		"run?id=events", "history?id=events&form=full", "history?id=events&form=full&after=" + last, "history?id=events",
		"run?id=bytes", "history?id=bytes", "attempts?id=bytes", "tree?id=attempts", "tree?id=events",
		"runs?error=boom", "ledger?since=30d", "ledger?since=30d&activity=fail", "lab?policy=%5Bretry:%205%5D", "policy?policy=%5Bretry:%205%5D",
		"operate?op=retry-now&all=yes", "operate?op=pause-run&id=attempts", "operate?op=pause&id=attempts", "nodes?all=yes", "audit?since=30d", "gates", "schedules",
		"history?id=attempts", "history?id=events&after=" + last, "run?id=crowd", "history?id=crowd", "tree?id=crowd",
		string(link("gate", "name", worst)), string(link("schedule", "name", worst)),
		string(link("change", "kind", "gate", "do", "edit", "name", worst)), string(link("change", "kind", "gate", "do", "pause", "name", worst)),
		string(link("change", "kind", "schedule", "do", "trigger", "name", worst)), string(link("change", "kind", "schedule", "do", "set", "name", worst)),
		"workflows", "change?kind=workflow&do=start&name=big&like=bytes",
	}
	for _, p := range pages {
		if p.path != "text" && !slices.ContainsFunc(paths, func(path string) bool { at, _, _ := strings.Cut(path, "?"); return at == p.path }) {
			t.Errorf("the page %q is not looked at: add its address", p.path)
		}
	}
	for _, path := range paths {
		answer, err := srv.Client().Get(srv.URL + "/shop/" + path)
		must(t, err)
		page, err := io.ReadAll(answer.Body)
		must(t, errors.Join(err, answer.Body.Close()))
		nodes := len(beginsElement.FindAll(page, -1))
		if len(page) > 1_000_000 || nodes > 10_000 || answer.StatusCode != http.StatusOK || bytes.Contains(page, []byte("cannot be shown")) {
			t.Errorf("%s, status %d, has %d bytes and %d elements: %.300s", path, answer.StatusCode, len(page), nodes, page)
		}
		t.Logf("%-50s %7d bytes %6d elements %s", path, len(page), nodes, answer.Header.Get("Server-Timing"))
	}
	b.open(srv.URL + "/shop/attempts?id=attempts&after=20.299")
	if text := b.text(".pager"); !strings.Contains(text, "200 attempts, 300 to 499 of call 20") {
		t.Errorf("the last page says %s", text)
	}
	b.open(srv.URL + "/shop/run?id=attempts")
	b.looks("run-large")
	for _, path := range []string{"text?id=bytes&what=input", "text?id=bytes&what=result", "text?id=bytes&what=event&place=1.1"} {
		answer, err := srv.Client().Get(srv.URL + "/shop/" + path)
		must(t, err)
		body, err := io.ReadAll(answer.Body)
		must(t, errors.Join(err, answer.Body.Close()))
		if kind := answer.Header.Get("Content-Type"); answer.StatusCode != 200 || !strings.HasPrefix(kind, "text/plain") || answer.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %s, %d bytes of %s", path, answer.Status, len(body), kind)
		}
	}
	// All of a megabyte is a link away, as plain text.
	b.open(srv.URL + "/shop/run?id=bytes")
	b.do(chromedp.Click(chromedp.CSS("#values ~ dl details summary")), chromedp.Click(chromedp.CSS("#values ~ dl details a")))
	b.wait(`location.pathname.endsWith("/text") && document.readyState === "complete"`)
	if n := js[int](b, "document.body.innerText.length"); n < 900_000 || js[string](b, "document.contentType") != "text/plain" {
		t.Errorf("the whole text has %d characters", n)
	}
}
