package cli

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

var (
	till = gate.New("till", 1, gate.WithMode(gate.Hold), gate.WithBudget(gate.Budget{Tokens: 10}))
	fuse = gate.New("fuse", 5, gate.WithBreaker(gate.Breaker{Failures: 2, Cooldown: time.Hour, Wait: true}))

	// pay is behind a gate that it holds in backoff.
	pay = activity.New("pay", func(context.Context, int) (string, error) {
		return "", &unavailable{"the bank is away"}
	}, activity.Retry(slow), activity.Through(till))

	// report is behind a gate whose breaker opens.
	report = activity.New("report", func(context.Context, int) (string, error) {
		return "", &unavailable{"no answer"}
	}, activity.Retry(exact), activity.Through(fuse))

	queue = workflow.New("queue", func(wf *workflow.Context, n int) (string, error) { return workflow.Call(wf, pay, n) }, workflow.Version("1"))
	tell  = workflow.New("tell", func(wf *workflow.Context, n int) (string, error) { return workflow.Call(wf, report, n) }, workflow.Version("1"))
)

// workAtGates lets an engine work that has calls at gates.
func workAtGates(t *testing.T, db store.Opener, d time.Duration) {
	t.Helper()
	engine, err := perdure.Open(t.Context(), db, perdure.Register(queue, tell, pay, report),
		perdure.NodeName("node-1"), perdure.Build("v1.2.0"), perdure.Logger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := perdure.Start(t.Context(), engine, queue, fmt.Sprintf("order-%d", i+1), i); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
	}
	if _, err := perdure.Start(t.Context(), engine, tell, "report", 1); err != nil {
		t.Fatal(err)
	}
	time.Sleep(d)
	if err := engine.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestR45_GateScripts: who waits at gates, for how long, and what keeps them, as the
// command shows it.
func TestR45_GateScripts(t *testing.T) {
	scripts(t, filepath.Join("testdata", "gates", "*.txt"), func(t *testing.T, dir, script string) (got string) {
		synctest.Test(t, func(t *testing.T) {
			got = (&player{t: t, dir: dir, db: shopFile(), work: workAtGates}).play(script)
		})
		return got
	})
}
