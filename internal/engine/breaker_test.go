package engine_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// TestR46_AnOutageCostsNoCallBehindAWaitingBreaker: the probes of a breaker that waits are
// not charged and are taken in turn, so an outage of any length fails no call, in any mode
// and with a budget, and no call is called much more often than another.
func TestR46_AnOutageCostsNoCallBehindAWaitingBreaker(t *testing.T) {
	for _, mode := range []gate.Mode{gate.Rejoin, gate.Release, gate.Hold} {
		t.Run(string(mode), func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				const orders, outage, cooldown = 40, 30 * time.Minute, 30 * time.Second
				w.patient = true
				until := time.Now().Add(outage)
				door := gate.New("bank", 10, gate.WithMode(mode), gate.WithBudget(gate.Budget{Tokens: 20}),
					gate.WithBreaker(gate.Breaker{Failures: 5, Cooldown: cooldown, Wait: true}))
				var failed [orders]atomic.Int32
				charge := activity.New("charge", func(ctx context.Context, n int) (int, error) {
					if err := busy(ctx, 10*time.Millisecond); err != nil {
						return 0, err
					}
					if time.Now().Before(until) {
						failed[n].Add(1)
						return 0, errUnlucky
					}
					return n, nil
				}, activity.Through(door))
				order := workflow.New("order", func(wf *workflow.Context, n int) (int, error) {
					return workflow.Call(wf, charge, n)
				})
				e := w.start(order, charge)
				for n := range orders {
					begin(t, e, order, fmt.Sprint(n), n)
				}
				pass(outage / 2)
				w.kill(e) // what was not charged is not charged after a restart either
				e = w.start(order, charge)
				for n := range orders {
					if got, err := finish[int](t, e, fmt.Sprint(n)); err != nil || got != n {
						t.Errorf("order %d: %d, %v", n, got, err)
					}
				}
				probes, most := 0, int32(0)
				for n := range orders {
					most = max(most, failed[n].Load())
					for _, a := range attemptsOf(t, e, fmt.Sprint(n)) {
						if retry.Reason(a.Reason) == retry.ReasonProbe {
							probes++
						}
					}
				}
				if least := int(outage/cooldown) * 2 / 3; probes < least {
					t.Errorf("%d attempts are on record as probes, want at least %d", probes, least)
				}
				if fair := int32(4); mode != gate.Hold && most > fair {
					t.Errorf("one order was tried %d times during the outage, want at most %d", most, fair)
				}
			})
		})
	}
}
