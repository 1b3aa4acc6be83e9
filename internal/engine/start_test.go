package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

// TestE8_E11_StartingTwice: an ID has one run, from whatever process and however
// often it is started, while it runs and after it ended; another workflow or
// another input is refused.
func TestE8_E11_StartingTwice(t *testing.T) {
	needsTransactions.inBothModes(t, func(t *testing.T, w *world) {
		var ran atomic.Int64
		work := activity.New("work", func(ctx context.Context, n int) (int, error) {
			ran.Add(1)
			return n + 1, busy(ctx, time.Minute)
		})
		once := calls(work)
		other := workflow.New("other", func(*workflow.Context, int) (int, error) { return 0, nil })
		e, client := w.start(once, other, work), w.open(w.config())

		var mu sync.Mutex
		runs := map[string]int{}
		var starters sync.WaitGroup
		for i := range 20 {
			from := []*engine.Engine{e, client}[i%2]
			starters.Go(func() {
				run, attached, err := tryBegin(t.Context(), from, once, "run", 1)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				runs[run]++
				if !attached {
					runs["made"]++
				}
			})
		}
		starters.Wait()
		if len(runs) != 2 || runs["made"] != 1 {
			t.Errorf("20 starts gave %v, want one run, made once", runs)
		}
		refusals := func(status string) {
			t.Helper()
			for _, from := range []*engine.Engine{e, client} {
				_, _, err := tryBegin(t.Context(), from, once, "run", 2)
				var inUse *request.IDInUseError
				if !errors.As(err, &inUse) || string(inUse.Status) != status || !strings.Contains(err.Error(), "and its input differs; use another ID, or the same arguments to attach to that run") {
					t.Errorf("another input: %v", err)
				}
				_, _, err = tryBegin(t.Context(), from, other, "run", 1)
				if !errors.As(err, &inUse) || !strings.Contains(err.Error(), `it is of workflow "calls work", not "other"`) {
					t.Errorf("another workflow: %v", err)
				}
			}
		}
		refusals("running")
		if got, err := finish[int](t, client, "run"); got != 2 || err != nil {
			t.Errorf("%d, %v", got, err)
		}
		refusals("completed")
		if _, attached, err := tryBegin(t.Context(), e, once, "run", 1); !attached || err != nil {
			t.Errorf("after the end: attached %t, %v", attached, err)
		}
		if ran.Load() != 1 {
			t.Errorf("the activity ran %d times, want once", ran.Load())
		}
	})
}

// TestE8_E11_SignalsWithAnID: sent again, before or after it was read, through a
// crash or an eviction, a signal with an ID is one; without an ID each is its own.
func TestE8_E11_SignalsWithAnID(t *testing.T) {
	needsTransactions.inBothModes(t, func(t *testing.T, w *world) {
		collect := workflow.New("collect", func(wf *workflow.Context, n int) ([]string, error) {
			var got []string
			for range n {
				s, err := workflow.Receive(wf, proceed)
				if err != nil {
					return nil, err
				}
				got = append(got, s)
			}
			return got, nil
		})
		e, client := w.start(collect), w.open(w.config())
		begin(t, e, collect, "run", 5)
		send := func(from *engine.Engine, id, value string) {
			t.Helper()
			signal(t, from, "run", proceed.Name(), id, value)
		}
		send(e, "a", "first")
		send(client, "a", "first again")
		settle()
		send(e, "a", "first, after it was read")
		send(e, "", "second")
		send(client, "", "third")
		pass(time.Hour)
		w.kill(e)
		send(client, "a", "first, while nobody serves")
		send(client, "b", "fourth")
		send(client, "b", "fourth again")
		e = w.start(collect)
		pass(time.Hour)
		send(e, "b", "fourth, after it was read")
		send(e, "c", "fifth")
		got, err := finish[[]string](t, client, "run")
		if want := []string{"first", "second", "third", "fourth", "fifth"}; !slices.Equal(got, want) || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	})
}

// TestE40_SignalsWaitForTheRun: signals that arrive before the run reads them are
// kept, in order, by name.
func TestE40_SignalsWaitForTheRun(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		left, right := workflow.NewSignal[int]("left"), workflow.NewSignal[int]("right")
		late := workflow.New("late", func(wf *workflow.Context, _ int) (string, error) {
			if err := workflow.Sleep(wf, time.Hour); err != nil {
				return "", err
			}
			text := ""
			for _, s := range []workflow.Signal[int]{right, left, right, left} {
				n, err := workflow.Receive(wf, s)
				if err != nil {
					return "", err
				}
				text += fmt.Sprint(s.Name(), n, " ")
			}
			return text, nil
		})
		e := w.start(late)
		begin(t, e, late, "run", 0)
		for i := range 2 {
			signal(t, e, "run", "left", "", i)
			signal(t, e, "run", "right", "", i)
		}
		if got, err := finish[string](t, e, "run"); got != "right0 left0 right1 left1 " || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// TestResultHasManyWaiters: all callers learn the result, in the worker and in other
// processes, before and after the end. Callers that give up leave no trace.
func TestResultHasManyWaiters(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		gate := workflow.New("gate", func(wf *workflow.Context, _ int) (string, error) { return workflow.Receive(wf, proceed) })
		e, client := w.start(gate), w.open(w.config())
		run := begin(t, e, gate, "run", 0)
		ctx, cancel := context.WithCancel(t.Context())
		var waiters sync.WaitGroup
		for i := range 10 {
			from := []*engine.Engine{e, client}[i%2]
			waiters.Go(func() {
				_, s, err := from.Result(t.Context(), "run", []string{"", run}[i/2%2])
				if err != nil || s.Status != core.StatusCompleted {
					t.Errorf("waiter %d: %+v, %v", i, s, err)
				}
			})
			waiters.Go(func() {
				if _, _, err := from.Result(ctx, "run", run); !errors.Is(err, context.Canceled) {
					t.Errorf("the one that gives up: %v", err)
				}
			})
		}
		pass(time.Minute)
		cancel()
		settle()
		signal(t, client, "run", proceed.Name(), "", "go")
		waiters.Wait()
		for _, from := range []*engine.Engine{e, client} {
			if got, err := finish[string](t, from, "run"); got != "go" || err != nil {
				t.Errorf("afterwards: %q, %v", got, err)
			}
			if _, _, err := from.Result(t.Context(), "nobody", ""); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("of a run that is not there: %v", err)
			}
		}
	})
}

// TestAResultHereIsNotLookedFor: a caller in the process that serves the run is told of
// its end.
func TestAResultHereIsNotLookedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		sleeps := workflow.New("sleeps", func(wf *workflow.Context, n int) (int, error) { return n, workflow.Sleep(wf, time.Second) })
		var looked atomic.Int64
		c := w.config(sleeps)
		c.Store = finds{w.db, &looked}
		e := w.startWith(c)
		run := begin(t, e, sleeps, "run", 0)
		if _, _, err := e.Result(t.Context(), "run", run); err != nil {
			t.Error(err)
		}
		if n := looked.Load(); n != 0 {
			t.Errorf("it was looked for %d times", n)
		}
	})
}

// TestWaitersOutliveAStop: callers that wait in the worker when it stops get an error.
func TestWaitersOutliveAStop(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		gate := workflow.New("gate", func(wf *workflow.Context, _ int) (string, error) { return workflow.Receive(wf, proceed) })
		e := w.start(gate)
		run := begin(t, e, gate, "run", 0)
		var waiter sync.WaitGroup
		waiter.Go(func() {
			if _, _, err := e.Result(t.Context(), "run", run); !errors.Is(err, request.ErrStopped) {
				t.Errorf("got %v", err)
			}
		})
		settle()
		stop(t, e)
		waiter.Wait()
	})
}
