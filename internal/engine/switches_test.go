package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// pauseActivity pauses an activity in the group, or resumes it.
func pauseActivity(t *testing.T, e *engine.Engine, name string, off bool, id string) view.SwitchRecord {
	t.Helper()
	r, err := e.SwitchActivity(t.Context(), name, off, 0, id, request.By{Who: "ann", Why: "the bank is down"})
	if err != nil {
		t.Fatal(err)
	}
	settle()
	return r
}

// TestE60_PauseOfAnActivity: calls stay where they are, attempts in flight end,
// steps and other activities go on; their time in the queue does not count; it
// outlives the process, and the same request again does nothing.
func TestE60_PauseOfAnActivity(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		var ran atomic.Int64
		charge := activity.New("charge", func(ctx context.Context, n int) (int, error) {
			ran.Add(1)
			return n, busy(ctx, time.Minute)
		}, activity.Retry(retry.Policy{QueueTimeout: time.Hour}))
		other := activity.New("other", func(context.Context, int) (int, error) { return 0, nil })
		flow := workflow.New("flow", func(wf *workflow.Context, n int) (int, error) {
			if _, err := workflow.Do(wf, "charge", func(context.Context) (int, error) { return 0, nil }); err != nil {
				return 0, err
			}
			if _, err := workflow.Call(wf, other, n); err != nil {
				return 0, err
			}
			return workflow.Call(wf, charge, n)
		})
		config := w.config(flow, charge, other)
		config.Concurrency = 2
		e := w.startWith(config)
		begin(t, e, flow, "in-flight", 1)
		pass(time.Second)
		first := pauseActivity(t, e, "charge", true, "p1")
		for n := range 5 {
			begin(t, e, flow, fmt.Sprint(n), n)
		}
		if _, err := finish[int](t, e, "in-flight"); err != nil {
			t.Error(err)
		}
		pass(10 * time.Hour)
		same(t, "ran", ran.Load(), 1)
		c := onlyCall(t, e, "3")
		if c.State != "queued" || c.Failures != 0 || c.ActivityPaused == nil || c.ActivityPaused.By != "ann" || c.ActivityPaused.Why != "the bank is down" {
			t.Errorf("%+v", c)
		}
		same(t, "the same request", pauseActivity(t, e, "charge", false, "p1"), first)
		w.kill(e)
		client := w.open(w.config())
		if c := describe(t, client, "3").Pending[0]; c.ActivityPaused == nil {
			t.Errorf("a client sees %+v", c)
		}
		stop(t, client)
		e = w.startWith(config)
		pass(10 * time.Hour)
		same(t, "after a crash", ran.Load(), 1)
		current, err := e.Switches(t.Context(), true)
		if err != nil || len(current) != 1 || current[0].Name != "charge" || !current[0].Paused {
			t.Errorf("%+v, %v", current, err)
		}
		pauseActivity(t, e, "charge", false, "")
		for n := range 5 {
			if out, err := finish[int](t, e, fmt.Sprint(n)); out != n || err != nil {
				t.Errorf("%d: %d, %v", n, out, err)
			}
		}
		current, err = e.Switches(t.Context(), true)
		if err != nil || len(current) != 0 {
			t.Errorf("%+v, %v", current, err)
		}
		log, err := e.Switches(t.Context(), false)
		if err != nil || len(log) != 2 {
			t.Errorf("%+v, %v", log, err)
		}
	})
}

// TestE60_APauseOfAnActivityEndsByItself: at its time calls start, also if the process that was told
// has died; a later pause of the same activity counts instead.
func TestE60_APauseOfAnActivityEndsByItself(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		var ran atomic.Int64
		charge := activity.New("charge", func(context.Context, int) (int, error) { return int(ran.Add(1)), nil })
		flow := workflow.New("flow", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, charge, n) })
		config := w.config(flow, charge)
		e := w.startWith(config)
		pause := func(lasts time.Duration) view.SwitchRecord {
			t.Helper()
			r, err := e.SwitchActivity(t.Context(), "charge", true, lasts, "", request.By{Who: "ann"})
			if err != nil {
				t.Fatal(err)
			}
			settle()
			return r
		}
		paused := pause(2 * time.Hour)
		if paused.Until == nil || paused.Until.Sub(paused.Time) != 2*time.Hour {
			t.Errorf("%+v", paused)
		}
		begin(t, e, flow, "a", 0)
		pass(time.Hour)
		w.kill(e)
		e = w.startWith(config)
		pass(59 * time.Minute)
		same(t, "ran before the end", ran.Load(), 0)
		if c := onlyCall(t, e, "a"); c.ActivityPaused == nil || c.ActivityPaused.Until == nil || !c.ActivityPaused.Until.Equal(*paused.Until) {
			t.Errorf("%+v", c)
		}
		client := w.open(w.config())
		if v, err := client.Why(t.Context(), "a", ""); err != nil || !strings.Contains(v, "is paused by ann until ") {
			t.Errorf("%s, %v", v, err)
		}
		pass(time.Minute + time.Second)
		same(t, "ran at the end", ran.Load(), 1)
		for _, who := range []*engine.Engine{e, client} {
			if current, err := who.Switches(t.Context(), true); err != nil || len(current) != 0 {
				t.Errorf("%+v, %v", current, err)
			}
		}
		stop(t, client)

		pause(time.Minute)
		pause(time.Hour) // instead
		begin(t, e, flow, "b", 0)
		pass(59 * time.Minute)
		same(t, "ran in the longer pause", ran.Load(), 1)
		pause(0)
		pass(10 * time.Hour)
		same(t, "ran in the one without an end", ran.Load(), 1)
		pause(time.Second)
		pass(2 * time.Second)
		same(t, "ran", ran.Load(), 2)

		if _, err := e.SwitchActivity(t.Context(), "charge", true, -1, "", request.By{}); err == nil || !strings.Contains(err.Error(), "must be more than zero") {
			t.Errorf("a pause that has ended: %v", err)
		}
	})
}

// TestE60_PauseOfAnActivityWithAQueue: those that wait for a slot give it to others
// when their activity is paused.
func TestE60_PauseOfAnActivityWithAQueue(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		slow := activity.New("slow", func(ctx context.Context, n int) (int, error) { return n, busy(ctx, time.Minute) })
		quick := activity.New("quick", func(context.Context, int) (int, error) { return 0, nil })
		slows := workflow.New("slows", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, slow, n) })
		quicks := workflow.New("quicks", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, quick, n) })
		config := w.config(slows, quicks, slow, quick)
		config.Concurrency = 1
		e := w.startWith(config)
		for n := range 4 {
			begin(t, e, slows, fmt.Sprint("slow-", n), n)
		}
		begin(t, e, quicks, "quick", 1)
		pass(time.Second)
		pauseActivity(t, e, "slow", true, "")
		began := time.Now()
		if _, err := finish[int](t, e, "quick"); err != nil || time.Since(began) > 2*time.Minute {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		pass(time.Hour)
		pauseActivity(t, e, "slow", false, "")
		for n := range 4 {
			if out, err := finish[int](t, e, fmt.Sprint("slow-", n)); out != n || err != nil {
				t.Errorf("%d, %v", out, err)
			}
		}
	})
}

// TestE60_PauseOfAnActivityOnAllNodes: what one node is told, all of the group do;
// another group does not.
func TestE60_PauseOfAnActivityOnAllNodes(t *testing.T) {
	inAGroup(t, func(t *testing.T, w *world) {
		var ran atomic.Int64
		charge := activity.New("charge", func(context.Context, int) (int, error) { return 0, nil })
		flow := workflow.New("flow", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, charge, n) })
		start := func(name, group string) *engine.Engine {
			config := w.config(flow, charge.Impl(func(context.Context, int) (int, error) { ran.Add(1); return 0, nil }))
			config.Node, config.Group = name, group
			return w.startWith(config)
		}
		a := start("a", "")
		b := start("b", "")
		elsewhere := start("c", "elsewhere")
		pass(time.Minute) // each has its share
		pauseActivity(t, a, "charge", true, "")
		pass(time.Second)
		for n := range 20 {
			begin(t, b, flow, fmt.Sprint(n), n)
		}
		pass(time.Minute)
		same(t, "ran", ran.Load(), 0)
		complete(t, elsewhere, flow, "x", 1)
		pauseActivity(t, b, "charge", false, "")
		for n := range 20 {
			if _, err := finish[int](t, a, fmt.Sprint(n)); err != nil {
				t.Error(err)
			}
		}
		same(t, "ran", ran.Load(), 21)
	})
}
