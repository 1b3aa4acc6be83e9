package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/faulty"
	"github.com/perdure/perdure/retry"
)

// TestE98_WhatIsKnownOfALostWorker: the ledger says that a process has ended only if that is
// known, otherwise that it was not heard of, and whether it was heard of again.
func TestE98_WhatIsKnownOfALostWorker(t *testing.T) {
	const alive = "its worker was heard of again: it had stood still or was cut off"
	type nodes struct {
		*world
		owner *engine.Engine
		start func(name string) *engine.Engine
	}
	for name, test := range map[string]struct {
		lose    func(n nodes) *engine.Engine // returns a node that serves the run then
		reason  retry.Reason
		message string
	}{
		"another process came under its name": {func(n nodes) *engine.Engine {
			n.kill(n.owner)
			return n.start("a")
		}, retry.ReasonWorkerLost, ""},
		"it died and nobody has its name": {func(n nodes) *engine.Engine {
			b := n.start("b")
			n.kill(n.owner)
			pass(20 * time.Second)
			return b
		}, retry.ReasonLeaseExpired, ""},
		"it stood still and goes on": {func(n nodes) *engine.Engine {
			b := n.start("b")
			n.plans[n.owner].Outage(true)
			pass(20 * time.Second)
			n.plans[n.owner].Outage(false)
			pass(20 * time.Second)
			return b
		}, retry.ReasonLeaseExpired, alive},
		"it lived on before its work was looked at": {func(n nodes) *engine.Engine {
			b := n.start("b")
			plan := n.plans[b]
			claim := plan.Writes() + 1
			plan.At(claim, faulty.FailAfter)
			n.plans[n.owner].Outage(true)
			for plan.Writes() < claim {
				pass(100 * time.Millisecond)
			}
			plan.Outage(true) // before it learns that it took the work over
			n.plans[n.owner].Outage(false)
			pass(5 * time.Second)
			plan.Outage(false)
			pass(5 * time.Second)
			return b
		}, retry.ReasonLeaseLost, ""},
		"it left": {func(n nodes) *engine.Engine {
			b := n.start("b")
			stop(n.t, n.owner)
			pass(time.Second)
			return b
		}, retry.ReasonDrained, ""},
	} {
		t.Run(name, func(t *testing.T) {
			needsFencing.inAGroupOf(t, 1, func(t *testing.T, w *world) {
				took := time.Hour
				work := activity.New("work", func(ctx context.Context, n int) (int, error) { return n, busy(ctx, took) })
				flow := calls(work)
				n := nodes{w, nil, func(name string) *engine.Engine { return w.node(name, flow, work) }}
				n.owner = n.start("a")
				begin(t, n.owner, flow, "run", 1)
				pass(time.Second)
				took = time.Second
				e := test.lose(n)
				if got, err := finish[int](t, e, "run"); got != 1 || err != nil {
					t.Errorf("got %d, %v", got, err)
				}
				at := attemptsOf(t, e, "run")
				if len(at) != 2 || at[0].Reason != string(test.reason) || at[0].Message != test.message {
					t.Errorf("the attempts are %+v, want the first for %s: %q", at, test.reason, test.message)
				}
			})
		})
	}
}
