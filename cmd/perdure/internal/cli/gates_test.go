package cli

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
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

func beginAtGates(t *testing.T, e *perdure.Engine) {
	for i := range 3 {
		begin(t, e, queue, fmt.Sprintf("order-%d", i+1), i)
		time.Sleep(time.Second)
	}
	begin(t, e, tell, "report", 1)
}
