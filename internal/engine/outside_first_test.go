package engine_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/faulty"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// TestE27_TransactionsOfOneMomentWhileAnAttemptOutsideTimesOut: the inbox is read
// before the time-out, and what else had come by then still takes one turn each.
func TestE27_TransactionsOfOneMomentWhileAnAttemptOutsideTimesOut(t *testing.T) {
	needsHooks.inBothModes(t, func(t *testing.T, w *world) {
		s := newShopper(w)
		ask := activity.New("ask", func(context.Context, int) (int, error) { return 0, activity.ErrPending },
			activity.Retry(retry.Policy{MaxAttempts: 1, AttemptTimeout: time.Second}))
		reserve := activity.New("reserve", func(ctx context.Context, n int) (int, error) {
			time.Sleep(time.Second)
			return n, activity.OnCommit(ctx, s.book.effect(fmt.Sprint(n)))
		}, soon(1))
		quick := activity.New("quick", func(context.Context, int) (int, error) {
			time.Sleep(900 * time.Millisecond)
			return 0, nil
		})
		flow := workflow.New("flow", func(wf *workflow.Context, n int) (int, error) {
			outside, slow := workflow.Async(wf, ask, 0), workflow.Async(wf, quick, 0)
			_, err := workflow.Map(wf, []int{0, 1, 2, 3}, func(wf *workflow.Context, n int) (int, error) {
				return workflow.Call(wf, reserve, n)
			})
			_, _ = outside.Get(wf)
			_, _ = slow.Get(wf)
			s.audit(wf)
			return n, err
		})
		e := w.start(flow, ask, reserve, quick)
		begin(t, e, flow, "run", 0)
		pass(850 * time.Millisecond)
		// All the rest comes while the end of the quick one is on its way.
		w.plans[e].At(w.plans[e].Writes()+1, faulty.Slow(300*time.Millisecond))
		if _, err := finish[int](t, e, "run"); err != nil {
			t.Fatal(err)
		}
		slices.Sort(s.seen)
		s.sees("0", "1", "2", "3")
	})
}

// TestE29_WhatCameInTimeCountsInADrain: a node that drains reads no messages, which
// are the next owner's; but before it times an attempt out it looks.
func TestE29_WhatCameInTimeCountsInADrain(t *testing.T) {
	inBothModesShared(t, 1, func(t *testing.T, w *world) {
		p := patient
		p.OnTimeout = retry.StopOnTimeout
		d := newDesk(p)
		x := newErrands(1, 2*time.Hour)
		a := w.start(d.flow, d.activity, x.workflow, x.activity)
		begin(t, a, d.flow, "run", 0)
		begin(t, a, x.workflow, "long", 0)
		settle()
		client := w.open(w.config())
		stopped := make(chan error)
		go func() { stopped <- a.Stop(t.Context()) }()
		pass(30 * time.Minute)
		isError(t, say(t, client, d.token(t, "run", 1), "yes"), nil)
		if err := <-stopped; err != nil {
			t.Fatal(err)
		}
		b := w.start(d.flow, d.activity, x.workflow, x.activity)
		if got, err := finish[string](t, b, "run"); got != "yes" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if got := outcomes(t, b, "run"); got != "1.1 completed succeeded" {
			t.Errorf("the attempts are %s", got)
		}
	})
}
