package cli

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/flow"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

// sweep is what schedules start: it takes ten minutes.
var sweep = workflow.New("sweep", func(wf *workflow.Context, what string) (string, error) {
	if err := workflow.Sleep(wf, 10*time.Minute); err != nil {
		return "", err
	}
	if what == "the roof" {
		return "", errors.New("it is too high")
	}
	return "clean", nil
}, workflow.Version("1"))

// workOnSchedules lets an engine serve schedules.
func workOnSchedules(t *testing.T, db store.Opener, d time.Duration) {
	t.Helper()
	flows, err := flow.New()
	if err != nil {
		t.Fatal(err)
	}
	engine, err := perdure.Open(t.Context(), db, perdure.Register(append(flows.Definitions(), sweep)...), perdure.NodeName("node-1"), perdure.Build("v1.2.0"), perdure.Logger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(d)
	if err := engine.Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// TestE49_ScheduleScripts: schedules are made, looked at and driven from the shell.
func TestE49_ScheduleScripts(t *testing.T) {
	extent.NotInShort(t, "many commands, one after the other")
	scripts(t, filepath.Join("testdata", "schedules", "*.txt"), func(t *testing.T, dir, script string) (got string) {
		synctest.Test(t, func(t *testing.T) {
			got = (&player{t: t, dir: dir, db: shopFile(), work: workOnSchedules}).play(script)
		})
		return got
	})
}
