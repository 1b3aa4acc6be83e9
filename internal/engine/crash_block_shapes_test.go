package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// deadlineWhileAway is a block whose deadline passes, and whose signal comes later, while
// its run is paused: the code that sees both together goes by their order.
var deadlineWhileAway = shape{
	name: "deadline-of-a-block-while-away",
	flow: func(*book) workflow.Func[string, string] {
		return func(wf *workflow.Context, in string) (string, error) {
			policy := retry.Policy{MaxAttempts: 2, AttemptTimeout: time.Hour, Backoff: retry.Fixed(10 * time.Minute), Jitter: retry.NoJitter}
			try := 0
			out, err := workflow.Retry(wf, policy, func(wf *workflow.Context) (string, error) {
				try++
				v, err := workflow.Receive(wf, poke)
				return fmt.Sprintf("%s%d%s", in, try, v), err
			})
			if err != nil {
				return "", err
			}
			return workflow.Call(wf, more, out)
		}
	},
	bodies: func(*book) bodies { return bodies{"more": after(time.Second)} },
	meddle: func(t *testing.T, env *perduretest.Env) {
		time.Sleep(10 * time.Minute)
		doToRun(t, env, "hold", ops.PauseRun())
		time.Sleep(2 * time.Hour)
		if err := poke.SendOnce(t.Context(), env.Workflow(theID), "it", "!"); err != nil {
			t.Error(err)
		}
		doToRun(t, env, "go on", ops.ResumeRun())
	},
}

// blockByHand is a block in backoff that a person lets go on, after its first try, and
// gives a policy with a shorter wait, which holds after the third.
var blockByHand = shape{
	name: "block-operated-by-hand",
	flow: func(*book) workflow.Func[string, string] {
		return func(wf *workflow.Context, in string) (string, error) {
			policy := retry.Policy{MaxAttempts: 5, Backoff: retry.Fixed(time.Hour), Jitter: retry.NoJitter}
			try := 0
			return workflow.Retry(wf, policy, func(wf *workflow.Context) (string, error) {
				try++
				return workflow.Call(wf, work, fmt.Sprintf("%s%d", in, try))
			})
		}
	},
	bodies: func(*book) bodies {
		return bodies{"work": func(ctx context.Context, in string) (string, error) {
			if !strings.HasSuffix(in, "4") {
				return "", errRefused
			}
			return after(time.Second)(ctx, in)
		}}
	},
	meddle: func(t *testing.T, env *perduretest.Env) {
		onceItIs(env, "workflow.Retry", "backoff", 1)
		do(t, env, "now", ops.RetryNow())
		onceItIs(env, "workflow.Retry", "backoff", 2)
		do(t, env, "edit", ops.EditPolicy(retry.Policy{MaxAttempts: 4, Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter}))
	},
}
