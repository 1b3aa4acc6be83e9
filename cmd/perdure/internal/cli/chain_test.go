package cli

import (
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

// watch continues as new, and in its third run fails until nothing is left to try.
var watch = workflow.Declare[int, string]("watch", workflow.Version("1"), workflow.RetryPolicy(slow))

func watching(wf *workflow.Context, n int) (string, error) {
	if err := workflow.Sleep(wf, time.Minute); err != nil {
		return "", err
	}
	if n < 3 {
		return workflow.ContinueAsNew(wf, watch, n+1)
	}
	return "", &unavailable{"the source is away"}
}

func workOnChains(t *testing.T, db store.Opener, d time.Duration) {
	t.Helper()
	engine, err := perdure.Open(t.Context(), db, perdure.Register(watch.Impl(watching)),
		perdure.NodeName("node-1"), perdure.Build("v1.2.0"), perdure.Logger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := perdure.Start(t.Context(), engine, watch, "source", 1, workflow.RunTimeout(time.Hour), workflow.ChainTimeout(24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(d)
	if err := engine.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestE44_ChainScripts: a chain as the command shows it: which runs it has, why
// each of them began, and what became of it.
func TestE44_ChainScripts(t *testing.T) {
	scripts(t, filepath.Join("testdata", "chain", "*.txt"), func(t *testing.T, dir, script string) (got string) {
		synctest.Test(t, func(t *testing.T) {
			got = (&player{t: t, dir: dir, db: shopFile(), work: workOnChains}).play(script)
		})
		return got
	})
}
