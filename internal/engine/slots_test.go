package engine_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// hold keeps a slot for as long as it is told; holding is a run that does.
var (
	hold    = activity.New("hold", func(ctx context.Context, d time.Duration) (int, error) { return 0, busy(ctx, d) })
	holding = workflow.New("holding", func(wf *workflow.Context, d time.Duration) (int, error) {
		return workflow.Call(wf, hold, d)
	})
)

// demandSlots asks for more slots than there are and counts those that are given
// at once: one that leaked is missing, one that was given back twice is too many.
func demandSlots(t *testing.T, e *engine.Engine, want int) {
	t.Helper()
	got := 0
	for i := range want + 2 {
		begin(t, e, holding, fmt.Sprint("slot ", i), time.Minute)
	}
	inLine()
	for i := range want + 2 {
		if onlyCall(t, e, fmt.Sprint("slot ", i)).State == "running" {
			got++
		}
	}
	if got != want {
		t.Errorf("%d attempts run at once, want %d", got, want)
	}
	for i := range want + 2 {
		demandEnd(t, e, fmt.Sprint("slot ", i))
		if _, err := finish[int](t, e, fmt.Sprint("slot ", i)); err != nil {
			t.Error(err)
		}
	}
}

// TestI9_GrantToAParkedStepHarmsNobody: an inline step waits for a slot when its
// run is parked. The slot it would get goes to the others, and the step runs when
// its code is mended.
func TestI9_GrantToAParkedStepHarmsNobody(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		steps := 0
		order := func(version string, panics bool) workflow.Workflow[int, int] {
			return workflow.New("order", func(wf *workflow.Context, _ int) (int, error) {
				step := workflow.DoAsync(wf, "step", func(context.Context) (int, error) { steps++; return 7, nil })
				workflow.Receive(wf, proceed)
				if panics {
					panic("bug")
				}
				return step.Get(wf)
			}, workflow.Version(version))
		}
		config := w.config(order("1", true), holding, hold)
		config.Concurrency = 1
		e := w.startWith(config)
		begin(t, e, holding, "holder", time.Minute)
		settle()
		begin(t, e, order("1", true), "order", 0)
		inLine()
		signal(t, e, "order", "proceed", "", "now")
		settle()
		if d := describe(t, e, "order"); d.Status != "parked" || onlyCall(t, e, "order").State != "queued" {
			t.Fatalf("the run is %s (%s), its step %+v", d.Status, d.Reason, d.Pending)
		}
		pass(time.Minute) // the slot is free
		if d := describe(t, e, "holder"); d.Status != "completed" {
			t.Errorf("the run that had the slot is %s", d.Status)
		}
		if d := describe(t, e, "order"); d.Status != "parked" || onlyCall(t, e, "order").State != "queued" || steps != 0 {
			t.Errorf("after the grant the run is %s, its step %+v, which ran %d times", d.Status, d.Pending, steps)
		}
		demandSlots(t, e, 1)
		stop(t, e)
		e = w.start(order("2", false))
		demandEnd(t, e, "order")
		if got, err := finish[int](t, e, "order"); got != 7 || err != nil || steps != 1 {
			t.Errorf("with sound code: %d, %v; the step ran %d times", got, err, steps)
		}
		if got := outcomes(t, e, "order"); got != "1.1 completed succeeded" {
			t.Errorf("the attempts are %s", got)
		}
	})
}

// TestR40_ACallWaitsForASlotOnce: a call that leaves the queue at its QueueTimeout
// and comes back has one place in it, and gets one slot.
func TestR40_ACallWaitsForASlotOnce(t *testing.T) {
	for name, test := range map[string]struct {
		held time.Duration // how long the slots are taken
		ran  int
		want string
	}{
		"served in the end":         {4500 * time.Millisecond, 1, "completed"},
		"served when its time ends": {4 * time.Second, 1, "completed"},
		"never served":              {time.Minute, 0, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				const slots = 4
				ran := 0
				hasty := activity.New("hasty", func(context.Context, int) (int, error) { ran++; return 0, nil },
					activity.Retry(retry.Policy{MaxAttempts: 10, QueueTimeout: time.Second, Backoff: retry.None}))
				once := calls(hasty)
				config := w.config(once, holding, hasty, hold)
				config.Concurrency = slots
				e := w.startWith(config)
				for i := range slots {
					begin(t, e, holding, fmt.Sprint("holder ", i), test.held)
				}
				settle()
				beginWith(t, e, once, "hasty", 0, request.Start{Settings: history.Settings{RunTimeout: 24 * time.Hour}}) // it stands in no line
				pass(time.Hour)
				if d := describe(t, e, "hasty"); d.Status != test.want || ran != test.ran {
					t.Errorf("the run is %s, the activity ran %d times; want %s and %d", d.Status, ran, test.want, test.ran)
				}
				demandSlots(t, e, slots)
			})
		})
	}
}

// longPoll is an activity whose first attempts, when a process dies, are all in
// flight; afterwards one of its calls goes on without end, and the others are
// done at once.
type longPoll struct {
	crashed, taken atomic.Bool
}

func (l *longPoll) activity(opts ...activity.Option) activity.Activity[int, int] {
	return activity.New("poll", func(ctx context.Context, n int) (int, error) {
		if !l.crashed.Load() || l.taken.CompareAndSwap(false, true) {
			<-ctx.Done()
			return 0, ctx.Err()
		}
		return n, nil
	}, opts...)
}

// TestE3_ProbationEndsForAnAttemptThatGoesOn: what was in flight when two processes
// died runs in groups, but an attempt that runs for 30 s makes room for the next group. It
// counts as any other attempt from then on: the limit of slots is as before.
func TestE3_ProbationEndsForAnAttemptThatGoesOn(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		const runs, slots = 5, 6
		var l longPoll
		poll := l.activity()
		once := calls(poll)
		config := w.config(once, holding, poll, hold)
		config.Concurrency = slots
		e := w.startWith(config)
		for i := range runs {
			begin(t, e, once, fmt.Sprint(i), i)
		}
		pass(time.Second)
		w.kill(e)
		e = w.startWith(config)
		pass(time.Second)
		w.kill(e)
		l.crashed.Store(true)
		e = w.startWith(config)
		states := func() map[string]int {
			count := map[string]int{}
			for i := range runs {
				d := describe(t, e, fmt.Sprint(i))
				if d.Status != "running" {
					count[d.Status]++
					continue
				}
				count[onlyCall(t, e, fmt.Sprint(i)).State]++
			}
			return count
		}
		pass(29 * time.Second)
		if got := fmt.Sprint(states()); got != "map[completed:2 queued:2 running:1]" {
			t.Errorf("after 29 s the calls are %s, want a group of three", got)
		}
		pass(time.Second)
		if got := fmt.Sprint(states()); got != "map[completed:4 running:1]" {
			t.Errorf("after 30 s the calls are %s, want the others to be done", got)
		}
		demandSlots(t, e, slots-1) // beside the one that goes on
		for i := range runs {
			if describe(t, e, fmt.Sprint(i)).Status == "running" {
				if err := e.Cancel(t.Context(), fmt.Sprint(i), "", request.By{Why: "enough"}); err != nil {
					t.Fatal(err)
				}
			}
		}
		settle()
		if err := e.Health(); err != nil {
			t.Error(err)
		}
	})
}

// TestE3_ADeathAfterProbationIsNotCounted: an attempt that ran for 30 s in the
// lane is not what kills processes. However many of them die around it later, it
// is not quarantined; its losses are on record.
func TestE3_ADeathAfterProbationIsNotCounted(t *testing.T) {
	for lived, want := range map[time.Duration]string{29 * time.Second: "quarantined", 31 * time.Second: "running"} {
		t.Run(lived.String(), func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				const deaths = 5
				var l longPoll
				poll := l.activity(activity.Retry(retry.Policy{CrashLimit: deaths - 2}))
				once := calls(poll)
				e := w.start(once, poll)
				begin(t, e, once, "run", 0)
				for range deaths {
					pass(lived)
					w.kill(e)
					e = w.start(once, poll)
				}
				settle()
				if p := onlyCall(t, e, "run"); p.State != want || p.LostToCrashes != deaths {
					t.Errorf("after %d deaths, each after %s, the call is %+v, want it %s", deaths, lived, p, want)
				}
			})
		})
	}
}
