package gate_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/retry"
)

// A breaker that opens with a failure whose retry is due immediately stops the call
// with its own reason, not with that of a budget.
func TestR46_ABreakerIsNotTakenForABudget(t *testing.T) {
	for _, backoff := range []retry.Backoff{retry.None, retry.Fixed(time.Second)} {
		synctest.Test(t, func(t *testing.T) {
			g := gate.New("g", 1, gate.WithBreaker(gate.Breaker{Failures: 2, Cooldown: time.Minute}))
			err := retry.Do(context.Background(), retry.Policy{Backoff: backoff}, func(context.Context) error {
				return errors.New("down")
			}, gate.Through(g))
			var exhausted *retry.ExhaustedError
			var refused *retry.RefusedError
			if !errors.As(err, &exhausted) || exhausted.Reason != retry.ReasonBreaker || exhausted.Attempts != 2 ||
				!errors.As(err, &refused) || refused.Reason != retry.ReasonBreaker {
				t.Errorf("%s: %#v", backoff.Kind, err)
			}
		})
	}
}
