package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/faulty"
	"github.com/perdure/perdure/retry"
)

// TestE7_NoAttemptBeginsWithoutTheLease: an attempt that was put on record ahead of
// its time, while the lease held, does not begin if it does not hold any more when
// that time comes; it begins when the lease is renewed.
func TestE7_NoAttemptBeginsWithoutTheLease(t *testing.T) {
	inAGroup(t, func(t *testing.T, w *world) {
		var began []time.Time
		work := activity.New("work", func(ctx context.Context, n int) (int, error) {
			if began = append(began, time.Now()); len(began) == 1 {
				return 0, errors.New("once")
			}
			return n, nil
		}, activity.Retry(retry.Policy{Backoff: retry.Fixed(1010 * time.Millisecond), Jitter: retry.NoJitter}))
		flow := calls(work)
		a := w.node("a", flow, work)
		settle()
		start, plan := time.Now(), w.plans[a] // it trusts its lease for 8 s from here
		for k := range 20 {
			plan.AtRenewal(plan.Renewals()+1+k, faulty.FailBefore)
		}
		pass(7 * time.Second)
		begin(t, a, flow, "run", 7)
		pass(990 * time.Millisecond)
		if p := onlyCall(t, a, "run"); p.State != "running" || p.Attempt != 2 {
			t.Fatalf("shortly before its time the second attempt is %+v", p)
		}
		pass(time.Second)
		if len(began) != 1 {
			t.Fatalf("%s after the last renewal an attempt began", began[1].Sub(start))
		}
		if got, err := finish[int](t, a, "run"); got != 7 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
		at := attemptsOf(t, a, "run")
		if len(at) != 2 || at[1].Outcome != "completed" || !at[1].Started.Equal(began[1]) { // the one that did not begin is none
			t.Errorf("the attempts are %+v", at)
		}
	})
}
