package cli

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/retry"
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

// startNight starts an application whose bank is down; one of its workflows is poisoned.
func startNight(t *testing.T, e *perdure.Engine) {
	for n := range 40 {
		begin(t, e, payment, fmt.Sprintf("payment-%02d", n+1), n)
		time.Sleep(10 * time.Millisecond)
	}
	begin(t, e, invoice, "invoice-7", 7)
	time.Sleep(10 * time.Millisecond)
	begin(t, e, tidy, "tidy-1", 0)
	time.Sleep(10 * time.Millisecond)
	begin(t, e, export, "export-1", 0)
	time.Sleep(time.Second)
}

// beginNight has a colleague pause a run, too.
func beginNight(t *testing.T, e *perdure.Engine) {
	startNight(t, e)
	_, err := ops.ControlRun(t.Context(), e, "export-1", ops.PauseRun(), ops.By("carol"), ops.Why("the disk is full"), ops.RequestID("carol-1"))
	must(t, err)
}

// beginNightV2 is the same application after a deployment. A signal makes the changed workflow replay.
func beginNightV2(t *testing.T, e *perdure.Engine) {
	startNight(t, e)
	must(t, workflow.NewSignal[int]("now").Send(t.Context(), e.Workflow("tidy-1"), 1))
	time.Sleep(time.Second)
}
