package perduretest

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// TestU2_TheQuestionIsAskedInATest: a Verify function is asked as in production, whether the answer
// was lost, the attempt failed before it did anything, or its process died; the mock is called
// again only if it found nothing.
func TestU2_TheQuestionIsAskedInATest(t *testing.T) {
	broken := retry.Unknown(errors.New("connection reset"))
	for _, c := range []struct {
		name  string
		fault Fault
		asks  int
	}{
		{"the answer is lost", LoseAnswer(broken), 1},
		{"nothing was done", Fail(broken), 1},
		{"the process dies after it", CrashAfter, 1},
		{"the process dies before it", CrashBefore, 1},
		{"it is refused", Fail(retry.NotDone(errors.New("connection refused"))), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			Test(t, func(t *testing.T, env *Env) {
				paid := map[string]int{} // the provider's books; it takes no keys
				questions := 0
				charge := activity.New("charge", func(context.Context, string) (string, error) { return "", errors.New("is replaced") },
					activity.Retry(retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(time.Minute)}), activity.SettleAfter(time.Minute),
					activity.Verify(func(_ context.Context, order string, d activity.Doubt) (activity.Found[string], error) {
						if questions++; d.Attempt != 1 || d.Question != 1 {
							t.Errorf("question %d is about attempt %d", d.Question, d.Attempt)
						}
						if paid[order] > 0 {
							return retry.Done("receipt of " + order), nil
						}
						return retry.Absent[string](), nil
					}))
				env.Register(workflow.New("buy", func(wf *workflow.Context, order string) (string, error) { return workflow.Call(wf, charge, order) }))
				m := Mock(env, charge, func(_ context.Context, order string) (string, error) {
					paid[order]++
					return "receipt of " + order, nil
				})
				env.Inject(charge, c.fault, Attempts(1))
				got, err := Run(env, workflow.Declare[string, string]("buy"), "order-1", "order-1")
				if err != nil || got != "receipt of order-1" || !maps.Equal(paid, map[string]int{"order-1": 1}) || m.Calls() != 1 {
					t.Errorf("%q, %v; paid is %v, in %d calls", got, err, paid, m.Calls())
				}
				if questions != c.asks {
					t.Errorf("%d questions, want %d", questions, c.asks)
				}
			})
		})
	}
}
