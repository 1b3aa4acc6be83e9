package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/retry"
)

// TestE5_AheadOfItsTime: the attempt after a backoff is durable before its time, but
// begins at it, whenever the process dies: not earlier, and an attempt that was on
// record and had not begun is not lost, it comes when it was to come.
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
				a, err := env.Engine().Attempts(t.Context(), "run")
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
				if a[1].Outcome == "lost" && len(began) == 2 {
					t.Errorf("a retry that did not run is on record as lost: %+v", a)
				}
			})
			if retries == 0 {
				t.Error("no retry was seen")
			}
		})
	}
}
