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
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

var (
	bank = gate.New("bank", 50, gate.WithBreaker(gate.Breaker{Failures: 3, Cooldown: 15 * time.Minute, Wait: true}))

	// debit is behind the breaker of a bank that is down.
	debit = activity.New("debit", func(ctx context.Context, n int) (string, error) {
		return "", &unavailable{"dial tcp 10.0.0.7:443: connection refused"}
	}, activity.Retry(retry.Policy{MaxAttempts: 20, Backoff: retry.Fixed(20 * time.Second), Jitter: retry.NoJitter}), activity.Through(bank))

	// render has a poisoned input that uses up its attempts.
	render = activity.New("render", func(ctx context.Context, n int) (string, error) {
		return "", &unavailable{"font table overflow"}
	}, activity.Retry(retry.Policy{MaxAttempts: 2, Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter, OnExhausted: retry.Pause}))

	payment = workflow.New("payment", func(wf *workflow.Context, n int) (string, error) { return workflow.Call(wf, debit, n) }, workflow.Version("1"))
	invoice = workflow.New("invoice", func(wf *workflow.Context, n int) (string, error) { return workflow.Call(wf, render, n) }, workflow.Version("1"))
	tidy    = workflow.New("tidy", func(wf *workflow.Context, _ int) (string, error) {
		return "", workflow.Sleep(wf, 24*time.Hour)
	}, workflow.Version("1"))
	tidyV2 = workflow.New("tidy", func(wf *workflow.Context, n int) (string, error) { return workflow.Call(wf, render, n) }, workflow.Version("2"))
	export = workflow.New("export", func(wf *workflow.Context, _ int) (string, error) {
		return "", workflow.Sleep(wf, 24*time.Hour)
	}, workflow.Version("1"))
)

// workAtNight is the application of the night: its bank is down, one of its workflows is
// poisoned, one has code that changed, and one a colleague has paused.
func workAtNight(t *testing.T, db store.Opener, during func(), tidying seal.Workflow) {
	t.Helper()
	engine, err := perdure.Open(t.Context(), db, perdure.Register(payment, invoice, tidying, export, debit, render),
		perdure.NodeName("node-1"), perdure.Build("v1.2.0"), perdure.Logger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	must := func(_ any, err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := range 40 {
		must(perdure.Start(t.Context(), engine, payment, fmt.Sprintf("payment-%02d", n+1), n))
		time.Sleep(10 * time.Millisecond)
	}
	must(perdure.Start(t.Context(), engine, invoice, "invoice-7", 7))
	time.Sleep(10 * time.Millisecond)
	must(perdure.Start(t.Context(), engine, tidy, "tidy-1", 0))
	time.Sleep(10 * time.Millisecond)
	must(perdure.Start(t.Context(), engine, export, "export-1", 0))
	time.Sleep(time.Second)
	if seal.Of(tidying).Version == "1" {
		_, err := ops.ControlRun(t.Context(), engine, "export-1", ops.PauseRun(), ops.By("carol"), ops.Why("the disk is full"), ops.RequestID("carol-1"))
		must(nil, err)
	}
	if seal.Of(tidying).Version == "2" { // a signal makes it replay
		must(nil, workflow.NewSignal[int]("now").Send(t.Context(), engine.Workflow("tidy-1"), 1))
		time.Sleep(time.Second)
	}
	during()
	if err := engine.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestF11_F12_TheOperatorsNight: status alone names what is wrong and what to type; what it
// says to type works, and the audit tells the night.
func TestF11_F12_TheOperatorsNight(t *testing.T) {
	scripts(t, filepath.Join("testdata", "night", "*.txt"), func(t *testing.T, dir, script string) (got string) {
		synctest.Test(t, func(t *testing.T) {
			db := shopFile()
			workAtNight(t, db, func() { time.Sleep(time.Minute) }, tidy)
			workAtNight(t, db, func() { got = (&player{t: t, dir: dir, db: db, live: true}).play(script) }, tidyV2)
		})
		return got
	})
}
