package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/retry"
)

// TestE5_AheadOfItsTime: the attempt after a backoff is durable before its time, but
// begins at it, whenever the process dies: not earlier, and if the process that was
// to begin it died before, the one after it comes when it was to come.
func TestE5_AheadOfItsTime(t *testing.T) {
	for _, fault := range []perduretest.Fault{perduretest.CrashBefore, perduretest.CrashAfter, perduretest.FailBefore, perduretest.FailAfter} {
		t.Run(fault.String(), func(t *testing.T) {
			retries := 0
			perduretest.EveryWrite(t, fault, func(t *testing.T, env *perduretest.Env) {
				var began []time.Time
				flaky := activity.New("flaky", func(ctx context.Context, _ int) (int, error) {
					began = append(began, time.Now())
					if len(began) == 1 {
						return 0, errors.New("not yet")
					}
					return len(began), nil
				}, activity.Retry(retry.Policy{Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter}))
				flow := calls(flaky)
				env.Register(flow, flaky)
				if _, err := perduretest.Run(env, flow, "run", 0); err != nil {
					t.Fatal(err)
				}
				a, err := env.Engine().Workflow("run").Attempts(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if a[0].Outcome != "failed" { // it died before the failure was on record
					return
				}
				retries++
				due := *a[0].Next
				if !began[1].Equal(due) {
					t.Errorf("the retry was due at %s and began at %s", due, began[1])
				}
				if a[1].Started == nil || !a[1].Started.Equal(due) {
					t.Errorf("the retry was due at %s and is on record as %+v", due, a[1])
				}
				if a[1].Outcome == "lost" && len(began) == 2 && !a[2].Started.Equal(due) {
					t.Errorf("a retry that was due at %s and lost before it is on record as %+v", due, a)
				}
			})
			if retries == 0 {
				t.Error("no retry was seen")
			}
		})
	}
}

// TestI3_AnAttemptAheadOfItsTimeRunsOnce: a node that put an attempt on record
// ahead of its time is superseded, and does not hear of it, before that time
// comes. No attempt runs under an ID that another one ran under.
func TestI3_AnAttemptAheadOfItsTimeRunsOnce(t *testing.T) {
	needsFencing.inAGroup(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		ran := map[string]int{} // by attempt ID
		work := activity.New("work", func(ctx context.Context, n int) (int, error) {
			info, _ := activity.FromContext(ctx)
			mu.Lock()
			defer mu.Unlock()
			ran[info.AttemptID]++
			if info.Attempt == 1 {
				return 0, errors.New("once")
			}
			return n, nil
		}, activity.Retry(retry.Policy{Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter}))
		flow := calls(work)
		old := w.node("same", flow, work)
		begin(t, old, flow, "run", 7)
		pass(990 * time.Millisecond) // the second attempt is on record, and due in 10 ms
		w.plans[old].Outage(true)
		next := w.node("same", flow, work)
		pass(5 * time.Second)
		if got, err := finish[int](t, next, "run"); got != 7 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
		for id, n := range ran {
			if n != 1 {
				t.Errorf("attempt %s ran %d times", id, n)
			}
		}
		for _, at := range attemptsOf(t, next, "run") {
			t.Logf("%d %s %s", at.Number, at.Outcome, at.Reason)
			delete(ran, at.ID)
		}
		if len(ran) > 0 {
			t.Errorf("the attempts %v are not on record", ran)
		}
	})
}
