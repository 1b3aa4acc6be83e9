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
	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// stuckOrder blocks on something that is not of package workflow, once, before or
// after its first call.
func stuckOrder(version string, block func(at string)) workflow.Workflow[int, int] {
	return workflow.New("order", func(wf *workflow.Context, n int) (int, error) {
		block("begin")
		n, err := workflow.Call(wf, reserve, n)
		if err != nil {
			return 0, err
		}
		block("middle")
		return n, nil
	}, workflow.Version(version))
}

// TestE47_BlockedWorkflowParks: a turn that blocks on a real channel is parked
// with its stack when its time is up, in its first turn or a later one, live or
// in a replay. Meanwhile and afterwards the others go on. When the channel
// answers after all, the goroutine is not lost.
func TestE47_BlockedWorkflowParks(t *testing.T) {
	for _, at := range []string{"begin", "middle"} {
		t.Run(at, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				release := make(chan struct{})
				order := stuckOrder("1", func(here string) {
					if here == at {
						<-release
					}
				})
				other := workflow.New("other", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, reserve, n) })
				e := w.start(order, other, reserve)
				go tryBegin(t.Context(), e, order, "order", 1)
				pass(time.Second)
				if got := complete(t, e, other, "other", 5); got != 6 {
					t.Errorf("beside a blocked turn: %d", got)
				}
				pass(10 * time.Second)
				d := describe(t, e, "order")
				want := "the workflow's code ran for 10s without waiting for anything durable: it loops, or blocks on something that is not of package workflow " + see.CodeRules
				if d.Status != "parked" || d.Reason != want {
					t.Errorf("the run is %s: %s", d.Status, d.Reason)
				}
				if !strings.Contains(d.Stack, "stuck_test.go") || !strings.Contains(d.Stack, "chan receive") {
					t.Errorf("the stack does not lead to the code:\n%s", d.Stack)
				}
				if err := e.Health(); err == nil || !strings.Contains(err.Error(), "1 turns of workflow code never ended") {
					t.Errorf("Health says %v", err)
				}
				close(release)
				settle()
				if err := e.Health(); err != nil {
					t.Errorf("when it came back Health says %v", err)
				}
				stop(t, e)
				e = w.start(stuckOrder("2", func(string) {}), reserve)
				if got, err := finish[int](t, e, "order"); got != 2 || err != nil {
					t.Errorf("with sound code: %d, %v", got, err)
				}
			})
		})
	}
}

// TestE47_CodeThatComesBackTooLateTakesNoSlot: what it calls does not begin, and keeps no slot from
// others.
func TestE47_CodeThatComesBackTooLateTakesNoSlot(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		release := make(chan struct{})
		order := stuckOrder("1", func(here string) {
			if here == "begin" {
				<-release
			}
		})
		other := workflow.New("other", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, reserve, n) })
		config := w.config(order, other, reserve)
		config.Concurrency = 1
		e := w.startWith(config)
		go tryBegin(t.Context(), e, order, "order", 1)
		pass(11 * time.Second)
		close(release)
		settle()
		if d := describe(t, e, "order"); d.Status != "parked" {
			t.Errorf("the run is %s", d.Status)
		}
		begin(t, e, other, "other", 5)
		pass(time.Second)
		if d := describe(t, e, "other"); d.Status != "completed" {
			t.Errorf("the other run is %s", d.Status)
		}
	})
}

// TestE47_ReplayThatBlocksParks: the same in a replay.
func TestE47_ReplayThatBlocksParks(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		sound := sleeper("1", func() {})
		e := w.start(sound)
		begin(t, e, sound, "order", 1)
		pass(time.Minute)
		w.kill(e)
		release := make(chan struct{})
		e = w.start(sleeper("2", func() { <-release }))
		pass(2 * time.Hour)
		if d := describe(t, e, "order"); d.Status != "parked" || !strings.Contains(d.Stack, "stuck_test.go") {
			t.Errorf("the run is %s: %s\n%s", d.Status, d.Reason, d.Stack)
		}
		close(release)
		stop(t, e)
		e = w.start(sound)
		if got, err := finish[int](t, e, "order"); got != 2 || err != nil {
			t.Errorf("with sound code: %d, %v", got, err)
		}
	})
}

// sleeper sleeps for an hour and then does something.
func sleeper(version string, then func()) workflow.Workflow[int, int] {
	return workflow.New("order", func(wf *workflow.Context, n int) (int, error) {
		then()
		return n + 1, workflow.Sleep(wf, time.Hour)
	}, workflow.Version(version))
}

// TestE47_SpinningWorkflowParks: the same for code that computes for ever. Time
// must be real here: virtual time waits for it.
func TestE47_SpinningWorkflowParks(t *testing.T) {
	w := newWorld(t)
	var enough atomic.Bool
	order := workflow.New("order", func(wf *workflow.Context, n int) (int, error) {
		for !enough.Load() {
		}
		return n, nil
	})
	other := workflow.New("other", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, reserve, n) })
	config := w.config(order, other, reserve)
	config.TurnTimeout = 100 * time.Millisecond
	e := w.startWith(config)
	begin(t, e, order, "order", 1)
	awaitStatus(t, e, "order", "parked")
	if d := describe(t, e, "order"); !strings.Contains(d.Stack, "stuck_test.go") {
		t.Errorf("the stack does not lead to the code:\n%s", d.Stack)
	}
	if got := complete(t, e, other, "other", 5); got != 6 {
		t.Errorf("beside a spinning turn: %d", got)
	}
	enough.Store(true)
}

// awaitStatus waits, in real time, until a run has a status.
func awaitStatus(t *testing.T, e *engine.Engine, id, status string) {
	t.Helper()
	for describe(t, e, id).Status != status {
		select {
		case <-time.After(time.Millisecond):
		case <-t.Context().Done():
			t.Fatal("the test is over")
		}
	}
}

// TestE47_BodiesThatIgnoreTheirTimeout: their slots come back, so that others
// run, until there are as many of them as slots; then no more are started beside
// them, Health says so, and when they return all is as before.
func TestE47_BodiesThatIgnoreTheirTimeout(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		const slots = 3
		release := make(chan struct{})
		deaf := activity.New("deaf", func(context.Context, int) (int, error) {
			<-release
			return 0, nil
		}, activity.Retry(retry.Policy{MaxAttempts: 1, AttemptTimeout: time.Second}))
		order := workflow.New("order", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, deaf, n) })
		other := workflow.New("other", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, reserve, n) })
		config := w.config(order, other, deaf, reserve)
		config.Concurrency = slots
		e := w.startWith(config)
		for i := range 2 * slots {
			begin(t, e, order, fmt.Sprint(i), i)
		}
		pass(time.Minute)
		// The first three were given up and made room for the other three; those,
		// given up as well, did not.
		begin(t, e, other, "waits", 1)
		pass(time.Hour)
		if p := onlyCall(t, e, "waits"); p.State != "queued" {
			t.Errorf("the call is %+v, want it queued", p)
		}
		if err := e.Health(); err == nil || !strings.Contains(err.Error(), "6 activities ignore their timeout and keep running; further ones keep their slots until they return") {
			t.Errorf("Health says %v", err)
		}
		close(release)
		if got, err := finish[int](t, e, "waits"); got != 2 || err != nil {
			t.Errorf("afterwards: %d, %v", got, err)
		}
		settle()
		if err := e.Health(); err != nil {
			t.Errorf("afterwards Health says %v", err)
		}
		for i := range 2 * slots { // all slots are back
			if got := complete(t, e, other, fmt.Sprint("again ", i), i); got != i+1 {
				t.Errorf("afterwards: %d", got)
			}
		}
	})
}

// TestE64_StopWaitsForNoBlockedCode: code that blocks delays Stop by a second at most, like a
// body that does not listen, whether it blocks in a turn or in a replay. The run is not parked:
// with the next engine it goes on.
func TestE64_StopWaitsForNoBlockedCode(t *testing.T) {
	for _, at := range []string{"begin", "middle"} {
		t.Run(at, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				release := make(chan struct{})
				order := stuckOrder("1", func(here string) {
					if here == at {
						<-release
					}
				})
				e := w.start(order, reserve)
				go tryBegin(t.Context(), e, order, "order", 1)
				pass(time.Second)
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := e.Stop(ctx); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took > 2500*time.Millisecond {
					t.Errorf("Stop took %s", took)
				}
				close(release)
				settle()
				e = w.start(stuckOrder("1", func(string) {}), reserve)
				tryBegin(t.Context(), e, order, "order", 1) // if Stop came before the run was durable
				if got, err := finish[int](t, e, "order"); got != 2 || err != nil {
					t.Errorf("afterwards: %d, %v", got, err)
				}
			})
		})
	}
}
