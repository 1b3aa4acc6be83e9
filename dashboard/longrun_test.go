package dashboard

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// longRun makes a run of 50,000 events in about as many turns as it has calls, and returns its
// database. One call in ten has failed once.
func longRun(b *testing.B) string {
	file := filepath.Join(b.TempDir(), "long.db")
	flaky := activity.New("flaky", func(ctx context.Context, n int) (int, error) {
		if info, _ := activity.FromContext(ctx); n%10 == 0 && info.Attempt == 1 {
			return 0, errors.New("once more")
		}
		return n, nil
	}, activity.Retry(policyOf("[retry: 3, fixed: 1ms, jitter: none]")))
	steps := workflow.New("steps", workflow.NoResult(func(wf *workflow.Context, n int) error {
		for i := range n {
			if _, err := workflow.Call(wf, flaky, i); err != nil {
				return err
			}
		}
		workflow.SetStatus(wf, "done")
		return workflow.Sleep(wf, 1000*time.Hour)
	}))
	eng, err := perdure.Open(b.Context(), sqlite.File(file), perdure.Register(steps, flaky), perdure.MaxHistory(100_000), perdure.Logger(slog.New(slog.DiscardHandler)))
	must(b, err)
	must(b, eng.Start(b.Context()))
	_, err = perdure.Start(b.Context(), eng, steps, "long", 16_660)
	must(b, err)
	for d := new(struct{ says string }); d.says != "done"; time.Sleep(time.Second) {
		runs, err := eng.List(b.Context(), view.Filter{})
		must(b, err)
		d.says = runs[0].CustomStatus
	}
	must(b, eng.Close())
	return file
}

// BenchmarkLongRun is what it takes the server to make the pages of a run of 50,000 events.
func BenchmarkLongRun(b *testing.B) {
	eng, err := perdure.Open(b.Context(), sqlite.File(longRun(b)), perdure.Logger(slog.New(slog.DiscardHandler)))
	must(b, err)
	defer eng.Close()
	pages, err := Handler(eng, access.Rules{Anonymous: access.Identity{Name: "ann", Role: access.Operator}})
	must(b, err)
	srv := httptest.NewServer(pages)
	defer srv.Close()
	for _, path := range []string{"run?id=long", "history?id=long", "history?id=long&form=full", "attempts?id=long", "attempts?id=long&number=9001", "tree?id=long", "operate?op=pause-run&id=long"} {
		b.Run(path, func(b *testing.B) {
			for b.Loop() {
				answer, err := http.Get(srv.URL + "/" + path)
				must(b, err)
				_, err = io.Copy(io.Discard, answer.Body)
				must(b, err)
				answer.Body.Close()
				if answer.StatusCode != http.StatusOK {
					b.Fatal(answer.Status)
				}
			}
		})
	}
	h := eng.Workflow("long")
	for name, read := range map[string]func() error{
		"describe": func() error { _, err := h.Describe(b.Context()); return err },
		"attempts": func() error { _, err := h.Attempts(b.Context()); return err },
		"calls":    func() error { _, err := h.Calls(b.Context()); return err },
		"audit":    func() error { _, err := h.Audit(b.Context()); return err },
		"history":  func() error { _, err := h.History(b.Context()); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				must(b, read())
			}
		})
	}
}
