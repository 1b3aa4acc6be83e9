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

	// front has a breaker and a budget for each run key.
	front = gate.New("front", 5, gate.WithBreaker(gate.Breaker{Failures: 2, Cooldown: time.Hour, Wait: true, PerKey: true}), gate.WithBudget(gate.Budget{Tokens: 9, PerKey: true}))

	// login fails for those whose password is wrong.
	login = activity.New("login", func(_ context.Context, n int) (string, error) {
		if n == 0 {
			return "welcome", nil
		}
		return "", &unavailable{"wrong password"}
	}, activity.Retry(exact), activity.Through(front))

	visit = workflow.New("visit", func(wf *workflow.Context, n int) (string, error) { return workflow.Call(wf, login, n) }, workflow.Version("1"))

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

func beginAtFront(t *testing.T, e *perdure.Engine) {
	for i, key := range []string{"ann", "ann", "bob", "carl"} {
		if _, err := perdure.Start(t.Context(), e, visit, fmt.Sprint(key, "-", i), map[string]int{"ann": 1, "carl": 2}[key], workflow.Key(key)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
	}
}

func beginAtGates(t *testing.T, e *perdure.Engine) {
	for i := range 3 {
		begin(t, e, queue, fmt.Sprintf("order-%d", i+1), i)
		time.Sleep(time.Second)
	}
	begin(t, e, tell, "report", 1)
}
