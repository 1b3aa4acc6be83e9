package workflow_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// begins are verbs that would lose the deadline of a block.
var begins = []string{"Call", "Async", "Do", "Sleep", "NewTimer", "Receive", "ReceiveAsync", "Go", "Map", "WithCancel", "Timeout", "Retry"}

// TestE43_AnOuterContextInABlockIsTold: code that begins something in a block with a context
// from outside of it panics before anything is on record; with workflow.Outer it may.
func TestE43_AnOuterContextInABlockIsTold(t *testing.T) {
	blocks := map[string]func(wf *workflow.Context, fn func(wf *workflow.Context)){
		"Timeout": func(wf *workflow.Context, fn func(wf *workflow.Context)) {
			_, _ = workflow.Timeout(wf, time.Hour, func(wf *workflow.Context) (int, error) { fn(wf); return 0, nil })
		},
		"Retry": func(wf *workflow.Context, fn func(wf *workflow.Context)) {
			_, _ = workflow.Retry(wf, retry.Never, func(wf *workflow.Context) (int, error) { fn(wf); return 0, nil })
		},
	}
	for block, in := range blocks {
		for name, verb := range verbs {
			t.Run(fmt.Sprint(name, " in ", block), func(t *testing.T) {
				var log []string
				w := newWorld(t, func(wf *workflow.Context, _ logger) (string, error) {
					in(wf, func(*workflow.Context) { verb(wf) })
					return "", nil
				}, &log)
				_, err := w.run.Step(w.now, nil, func(*core.Call) bool { return true })
				<-w.instance.Close()
				if told := err != nil && contains(err.Error(), "from outside of a block was used inside it") && contains(err.Error(), "workflow.Outer(wf)"); told != slices.Contains(begins, name) {
					t.Errorf("got %v", err)
				}
				meant, _ := play(t, func(wf *workflow.Context, log logger) (string, error) {
					in(wf, func(inner *workflow.Context) {
						verb(inner)
						verb(workflow.Outer(wf))
						verb(workflow.Shield(wf))
					})
					verb(wf)
					return "", nil
				}, send(time.Second, "a"), send(time.Second, "b"), send(time.Second, "c"), send(time.Second, "d"))
				if _, err := meant.outcome(); err != nil {
					t.Errorf("meant so: %v", err)
				}
			})
		}
	}
}

// TestE20_CallsInABlockRunOnce unless they, or their activities, name a policy: the block
// retries them. What is on record stays.
func TestE20_CallsInABlockRunOnce(t *testing.T) {
	declared := activity.New("declared", func(_ context.Context, s string) (string, error) { return s, nil }, activity.Retry(retry.Policy{MaxAttempts: 7}))
	plain := func(name string) activity.Activity[string, string] {
		return activity.New(name, func(_ context.Context, s string) (string, error) { return s, nil })
	}
	step := func(context.Context) (string, error) { return "", nil }
	w, _ := play(t, func(wf *workflow.Context, log logger) (string, error) {
		_, err := workflow.Retry(wf, retry.Policy{MaxAttempts: 2}, func(wf *workflow.Context) (string, error) {
			workflow.Async(wf, plain("in the block"), "")
			workflow.Async(workflow.Shield(wf), plain("shielded"), "")
			workflow.DoAsync(wf, "step", step)
			workflow.Go(wf, func(wf *workflow.Context) { workflow.Async(wf, plain("coroutine"), "") })
			workflow.Async(wf, declared, "")
			workflow.Async(wf, plain("by option"), "", activity.Retry(retry.Policy{MaxAttempts: 3}))
			return workflow.Timeout(wf, time.Minute, func(wf *workflow.Context) (string, error) {
				return workflow.Call(wf, plain("deeper"), "")
			})
		})
		if err != nil {
			return "", err
		}
		workflow.Async(wf, plain("behind the block"), "")
		return workflow.Timeout(wf, time.Minute, func(wf *workflow.Context) (string, error) {
			return workflow.Call(wf, plain("deadline only"), "")
		})
	})
	want := map[string]int{
		"in the block": 1, "shielded": 1, "step": 1, "coroutine": 1, "deeper": 1,
		"declared": 7, "by option": 3, "behind the block": 5, "deadline only": 5,
	}
	if got := w.policiesOf(); !maps.Equal(got, want) {
		t.Errorf("the calls have\n%v\nattempts, and should have\n%v", got, want)
	}
}

// TestE43_OneCallByTheOrchestration: RetryCall makes a call of each try, with a deadline of
// its own; the policy of the activity does not hold beside that of the block.
func TestE43_OneCallByTheOrchestration(t *testing.T) {
	policy := retry.Policy{MaxAttempts: 3, AttemptTimeout: 10 * time.Second, Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter}
	w, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		_, err := workflow.RetryCall(wf, policy, stuck, "x")
		log("%v", err)
		s, err := workflow.RetryCall(wf, policy, echo, "y")
		log("%s %v", s, err)
		_, err = workflow.RetryCall(wf, policy, echo, "z", activity.Retry(retry.Standard))
		log("%v %t", err, retry.IsTerminal(err))
		return "", nil
	})
	expect(t, log,
		"stuck: gave up after 3 attempts (max attempts): timeout: the attempt ran longer than 10s",
		"y <nil>",
		`the call of "echo" by workflow.RetryCall has two policies: leave out activity.Retry true`)
	if w.calls["stuck"] != 3 || w.has("TimerStarted timeout") != 4 {
		t.Errorf("%v, %q", w.calls, w.kinds())
	}
}

// policiesOf are the attempts that the calls on record are allowed, by name.
func (w *world) policiesOf() map[string]int {
	all := map[string]int{}
	for _, turn := range w.turns {
		for _, e := range turn.Events {
			if e.Kind == history.ActivityScheduled || e.Kind == history.StepScheduled {
				policy := retry.Policy{}
				if e.Policy != nil {
					policy = *e.Policy
				}
				all[e.Name] = policy.AttemptLimit()
			}
		}
	}
	return all
}
