package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

// TestE8_E11_StartingTwice: an ID has one run, from whatever process and however
// often it is started, while it runs and after it ended; another workflow or
// another input is refused.
func TestE8_E11_StartingTwice(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
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
				var inUse *engine.IDInUseError
				if !errors.As(err, &inUse) || string(inUse.Status) != status || !strings.Contains(err.Error(), "and its input is another one; use another ID, or the same arguments to attach to that run") {
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
	inBothModes(t, func(t *testing.T, w *world) {
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

// TestResultHasManyWaiters: whoever waits learns the end, in the worker and in
// other processes, before and after it; who gives up waiting leaves no trace.
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
				s, err := from.Result(t.Context(), "run", []string{"", run}[i/2%2])
				if err != nil || s.Status != core.StatusCompleted {
					t.Errorf("waiter %d: %+v, %v", i, s, err)
				}
			})
			waiters.Go(func() {
				if _, err := from.Result(ctx, "run", run); !errors.Is(err, context.Canceled) {
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
			if _, err := from.Result(t.Context(), "nobody", ""); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("of a run that is not there: %v", err)
			}
		}
	})
}

// TestWaitersOutliveAStop: who waits in the worker when it stops is told so.
func TestWaitersOutliveAStop(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		gate := workflow.New("gate", func(wf *workflow.Context, _ int) (string, error) { return workflow.Receive(wf, proceed) })
		e := w.start(gate)
		run := begin(t, e, gate, "run", 0)
		var waiter sync.WaitGroup
		waiter.Go(func() {
			if _, err := e.Result(t.Context(), "run", run); !errors.Is(err, engine.ErrStopped) {
				t.Errorf("got %v", err)
			}
		})
		settle()
		stop(t, e)
		waiter.Wait()
	})
}

// served is when a call got its slot.
type served struct {
	call int
	at   time.Time
}

// TestConcurrencyIsRespectedInOrder: never more attempts at once than slots, all
// slots used, and calls get theirs in the order in which they came.
func TestConcurrencyIsRespectedInOrder(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		const slots, runs = 3, 20
		var mu sync.Mutex
		var order []served
		active, most := 0, 0
		work := activity.New("work", func(ctx context.Context, n int) (int, error) {
			mu.Lock()
			order = append(order, served{n, time.Now()})
			active++
			most = max(most, active)
			mu.Unlock()
			defer func() {
				mu.Lock()
				active--
				mu.Unlock()
			}()
			return n, busy(ctx, time.Duration(1+n%4)*time.Second)
		})
		once := calls(work)
		config := w.config(once, work)
		config.Concurrency = slots
		e := w.startWith(config)
		for i := range runs {
			begin(t, e, once, fmt.Sprint(i), i)
			settle()
		}
		for i := range runs {
			if got, err := finish[int](t, e, fmt.Sprint(i)); got != i || err != nil {
				t.Errorf("run %d: %d, %v", i, got, err)
			}
		}
		if most != slots {
			t.Errorf("at most %d attempts ran at once, want %d", most, slots)
		}
		slices.SortStableFunc(order, func(a, b served) int { return a.at.Compare(b.at) })
		for i := range order {
			for _, later := range order[i:] {
				if later.at.After(order[i].at) && later.call < order[i].call {
					t.Errorf("call %d was served before call %d, which came first", order[i].call, later.call)
				}
			}
		}
		for i := range 2 * slots { // no slot was lost
			complete(t, e, once, fmt.Sprint("again ", i), i)
		}
	})
}

// TestMaxResidentIsRespected: idle runs beyond the limit are replayed when
// something happens to them, those within it are not; the longest idle leave
// first.
func TestMaxResidentIsRespected(t *testing.T) {
	for limit, want := range map[int]string{-1: "4 4 4 4", 2: "2 2 2 2", 4: "1 1 1 1", 0: "1 1 1 1"} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, w *world) {
				begun := make([]int, 4)
				gate := workflow.New("gate", func(wf *workflow.Context, i int) (int, error) {
					begun[i]++
					for range 3 {
						if _, err := workflow.Receive(wf, proceed); err != nil {
							return 0, err
						}
					}
					return i, nil
				})
				w.maxResident = limit
				e := w.start(gate)
				for i := range begun {
					begin(t, e, gate, fmt.Sprint(i), i)
				}
				settle()
				// Of four idle runs the last two stay in memory, if two may. Then the
				// others come, stay, and end; and the last two come back.
				for _, i := range []int{2, 3, 2, 3, 0, 1, 0, 1, 0, 1, 2, 3} {
					signal(t, e, fmt.Sprint(i), proceed.Name(), "", "go")
					settle()
				}
				for i := range begun {
					if got, err := finish[int](t, e, fmt.Sprint(i)); got != i || err != nil {
						t.Errorf("run %d: %d, %v", i, got, err)
					}
				}
				if got := strings.Trim(fmt.Sprint(begun), "[]"); got != want {
					t.Errorf("the code of the four runs was begun %s times, want %s", got, want)
				}
			})
		})
	}
}

// TestE6_WaitingCostsNothing: ten thousand runs that wait for a timer, a signal
// or a retry hold no goroutine, and hardly any memory.
func TestE6_WaitingCostsNothing(t *testing.T) {
	w := newWorld(t)
	w.maxResident = -1
	fails := activity.New("fails", func(context.Context, int) (int, error) { return 0, errors.New("no") },
		activity.Retry(retry.Policy{Backoff: retry.Fixed(24 * time.Hour)}))
	waits := workflow.New("waits", func(wf *workflow.Context, n int) (string, error) {
		switch n % 3 {
		case 0:
			return "timer", workflow.Sleep(wf, 24*time.Hour)
		case 1:
			return workflow.Receive(wf, proceed)
		}
		_, err := workflow.Call(wf, fails, n)
		return "retry", err
	})
	config := w.config(waits, fails)
	config.Store = w.db
	e, err := engine.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	measure := func() (goroutines int, bytes uint64) {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return runtime.NumGoroutine(), m.HeapAlloc
	}
	const runs = 10_000
	goroutines, _ := measure()
	var starters sync.WaitGroup
	for part := range 20 {
		starters.Go(func() {
			for i := part; i < runs; i += 20 {
				if _, _, err := tryBegin(t.Context(), e, waits, fmt.Sprint(i), i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	starters.Wait()
	for counts := (store.Counts{}); counts.Calls[store.Backoff] < runs/3; {
		time.Sleep(10 * time.Millisecond)
		if counts, err = e.Counts(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	afterGoroutines, all := measure()
	if grown := afterGoroutines - goroutines; grown > 1000 {
		t.Errorf("%d waiting runs hold %d goroutines", runs, grown)
	}
	// What is left without the engine is the database, which is in this process.
	stop(t, e)
	e = nil
	_, rest := measure()
	perRun := (int64(all) - int64(rest)) / runs
	t.Logf("%d runs hold %d bytes each besides the database", runs, perRun)
	if perRun > 2000 {
		t.Errorf("each waiting run holds %d bytes besides the database, want at most 2000", perRun)
	}
	runtime.KeepAlive(w)
}

// TestE64_GracefulStop: attempts that end in time are recorded, those that do not
// are given back without charge, and nothing new begins.
func TestE64_GracefulStop(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		work := activity.New("work", func(ctx context.Context, seconds int) (int, error) {
			info, _ := activity.FromContext(ctx)
			if info.Attempt > 1 {
				return -seconds, nil
			}
			if seconds == 100 { // does not listen
				time.Sleep(100 * time.Second)
				return seconds, nil
			}
			return seconds, busy(ctx, time.Duration(seconds)*time.Second)
		})
		once := calls(work)
		twice := workflow.New("twice", func(wf *workflow.Context, n int) (int, error) {
			if _, err := workflow.Call(wf, work, n); err != nil {
				return 0, err
			}
			return workflow.Call(wf, work, n)
		})
		e := w.start(once, twice, work)
		for _, n := range []int{5, 50, 100} {
			begin(t, e, once, fmt.Sprint(n), n)
		}
		begin(t, e, twice, "twice", 5)
		settle()
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		var stops sync.WaitGroup
		for range 3 {
			stops.Go(func() {
				if err := e.Stop(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		settle()
		if _, _, err := tryBegin(t.Context(), e, once, "new", 1); !errors.Is(err, engine.ErrStopped) {
			t.Errorf("a start while stopping: %v", err)
		}
		stops.Wait()
		if took := time.Since(began); took < 20*time.Second || took > 30*time.Second {
			t.Errorf("stopping took %s", took)
		}
		pass(2 * time.Minute) // the one that does not listen returns
		e = w.start(once, twice, work)
		for id, want := range map[string]string{
			"5":     "5: 1.1 completed succeeded",
			"50":    "-50: 1.1 drained drained, 1.2 completed succeeded",
			"100":   "-100: 1.1 drained drained, 1.2 completed succeeded",
			"twice": "5: 1.1 completed succeeded, 2.1 completed succeeded",
		} {
			got, err := finish[int](t, e, id)
			if text := fmt.Sprint(got, ": ", outcomes(t, e, id)); text != want || err != nil {
				t.Errorf("run %s: %s, %v, want %s", id, text, err, want)
			}
		}
	})
}

// TestE64_LifeOfAnEngine: what can be done to an engine twice, or too late.
func TestE64_LifeOfAnEngine(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		e := w.start()
		if err := e.Start(t.Context()); !errors.Is(err, engine.ErrStarted) {
			t.Errorf("a second Start: %v", err)
		}
		second := w.open(w.config())
		var inUse *store.InUseError
		if err := second.Start(t.Context()); !errors.As(err, &inUse) || !strings.Contains(err.Error(), "is served by another engine (node node/") {
			t.Errorf("a second engine: %v", err)
		}
		stop(t, e)
		stop(t, e)
		if err := e.Start(t.Context()); !errors.Is(err, engine.ErrStopped) {
			t.Errorf("Start after Stop: %v", err)
		}
		if err := e.Health(); !errors.Is(err, engine.ErrStopped) {
			t.Errorf("Health after Stop: %v", err)
		}
		if err := second.Start(t.Context()); err != nil {
			t.Errorf("the second engine, when the first is gone: %v", err)
		}
		client := w.open(w.config())
		stop(t, client)
		stop(t, client)
		if err := client.Start(t.Context()); !errors.Is(err, engine.ErrStopped) {
			t.Errorf("Start of a stopped client: %v", err)
		}
		if err := second.Health(); err != nil {
			t.Errorf("Health: %v", err)
		}
	})
}

// TestI10_StartAndStopLeaveNothing starts and stops a busy engine a hundred
// times. No run is lost, and in the end no goroutine is left.
func TestI10_StartAndStopLeaveNothing(t *testing.T) {
	w := newWorld(t)
	work := activity.New("work", func(ctx context.Context, n int) (int, error) {
		return n + 1, busy(ctx, time.Duration(n%3)*time.Millisecond)
	})
	three := workflow.New("three", func(wf *workflow.Context, n int) (int, error) {
		for range 3 {
			var err error
			if n, err = workflow.Call(wf, work, n); err != nil {
				return 0, err
			}
			if err := workflow.Sleep(wf, time.Millisecond); err != nil {
				return 0, err
			}
		}
		return n, nil
	})
	config := w.config(three, work)
	config.Store = w.db
	cycle := func(round int) {
		e, err := engine.Open(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			begin(t, e, three, fmt.Sprint(round, " ", i), i)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(round%4)*time.Millisecond)
		defer cancel()
		if err := e.Stop(ctx); err != nil {
			t.Fatal(err)
		}
	}
	cycle(0)
	before := runtime.NumGoroutine()
	for round := 1; round <= 100; round++ {
		cycle(round)
	}
	for n := 0; runtime.NumGoroutine() > before; n++ { // bodies that were asked to end
		if n == 1000 {
			all := make([]byte, 1<<20)
			t.Fatalf("%d goroutines are left, there were %d\n%s", runtime.NumGoroutine(), before, all[:runtime.Stack(all, true)])
		}
		time.Sleep(time.Millisecond)
	}
	e := w.start(three, work)
	for round := range 101 {
		for i := range 5 {
			if got, err := finish[int](t, e, fmt.Sprint(round, " ", i)); got != i+3 || err != nil {
				t.Errorf("run %d %d: %d, %v", round, i, got, err)
			}
		}
	}
}

// TestE7_TakeoverUnderLoad takes a busy engine's partition away, again and again.
// Whatever it was doing at that moment, the runs come to their right end.
func TestE7_TakeoverUnderLoad(t *testing.T) {
	w := newWorld(t)
	w.maxResident = 5
	work := activity.New("work", func(_ context.Context, n int) (int, error) { return n + 1, nil })
	many := workflow.New("many", func(wf *workflow.Context, n int) (int, error) {
		for range 10 {
			parts, err := workflow.Map(wf, []int{n, n, n}, func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, work, n) })
			if err != nil {
				return 0, err
			}
			n = parts[2]
		}
		return n, nil
	})
	config := w.config(many, work)
	config.Concurrency = 4
	const rounds, runs = 6, 20
	for round := range rounds {
		old := w.startWith(config)
		for i := range runs {
			begin(t, old, many, fmt.Sprint(round, " ", i), i)
		}
		raw := w.raw()
		w.claim(raw, fmt.Sprint("usurper ", round))
		if err := raw.Close(); err != nil {
			t.Fatal(err)
		}
		e := w.startWith(config)
		for i := range runs {
			if got, err := finish[int](t, e, fmt.Sprint(round, " ", i)); got != i+10 || err != nil {
				t.Errorf("run %d %d: %d, %v", round, i, got, err)
			}
		}
		stop(t, old)
		stop(t, e)
	}
}

// TestE45_CancelAndTerminate: asked twice is asked once; a run that ended cannot
// be asked any more; the reason is kept.
func TestE45_CancelAndTerminate(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		gate := workflow.New("gate", func(wf *workflow.Context, _ int) (string, error) {
			_, err := workflow.Receive(wf, proceed)
			if err == nil {
				return "", errors.New("it was not canceled")
			}
			if _, cleanup := workflow.Call(workflow.Shield(wf), reserve, 1); cleanup != nil {
				return "", cleanup
			}
			return "", err
		})
		e := w.start(gate, reserve)
		begin(t, e, gate, "canceled", 0)
		begin(t, e, gate, "terminated", 0)
		for range 3 {
			if err := e.Cancel(t.Context(), "canceled", "", "not needed"); err != nil {
				t.Fatal(err)
			}
		}
		_, err := finish[string](t, e, "canceled")
		if err == nil || !strings.Contains(err.Error(), "canceled: not needed") || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if d := describe(t, e, "canceled"); d.Status != "canceled" {
			t.Errorf("the run is %s", d.Status)
		}
		want := "[SignalAwaited RunCancelRequested CallCancelRequested ActivityScheduled AttemptStarted CallCompleted RunCanceled]"
		if kinds := fmt.Sprint(kindsOf(t, e, "canceled")); kinds != want {
			t.Errorf("the history is %s", kinds)
		}
		if err := e.Terminate(t.Context(), "terminated", "", "enough"); err != nil {
			t.Fatal(err)
		}
		if _, err := finish[string](t, e, "terminated"); err == nil || err.Error() != "terminated: enough" {
			t.Errorf("got %v", err)
		}
		for _, id := range []string{"canceled", "terminated"} {
			for _, err := range []error{
				e.Cancel(t.Context(), id, "", ""), e.Terminate(t.Context(), id, "", ""), e.Signal(t.Context(), id, "proceed", "", history.Payload{}),
			} {
				if !errors.Is(err, store.ErrClosed) {
					t.Errorf("a message to a run that ended: %v", err)
				}
			}
		}
	})
}

// TestR33_PhaseOfACancellation: the error says in which attempt and phase a call
// was canceled, and what it had failed with before; no further attempt runs.
func TestR33_PhaseOfACancellation(t *testing.T) {
	for name, test := range map[string]struct {
		at   time.Duration
		want string
	}{
		"in the queue":            {5 * time.Second, "attempt 1 (queue), last <nil>, ran 0 times"},
		"in execution":            {15 * time.Second, "attempt 1 (execution), last context canceled, ran 1 times"},
		"in backoff":              {30 * time.Second, "attempt 1 (backoff), last failure 1, ran 1 times"},
		"in the second execution": {85 * time.Second, "attempt 2 (execution), last context canceled, ran 2 times"},
		"in the second backoff":   {2 * time.Minute, "attempt 2 (backoff), last failure 2, ran 2 times"},
	} {
		t.Run(name, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				ran := 0
				work := activity.New("work", func(ctx context.Context, _ int) (int, error) {
					ran++
					if err := busy(ctx, 10*time.Second); err != nil {
						return 0, err
					}
					return 0, fmt.Errorf("failure %d", ran)
				}, activity.Retry(retry.Policy{Backoff: retry.Fixed(time.Minute), Jitter: retry.NoJitter}))
				blocker := activity.New("blocker", func(ctx context.Context, _ int) (int, error) { return 0, busy(ctx, 10*time.Second) })
				once, first := calls(work), calls(blocker)
				config := w.config(once, first, work, blocker)
				config.Concurrency = 1
				e := w.startWith(config)
				begin(t, e, first, "first", 0)
				settle()
				began := time.Now()
				begin(t, e, once, "run", 0)
				pass(test.at)
				if err := e.Cancel(t.Context(), "run", "", "enough"); err != nil {
					t.Fatal(err)
				}
				_, err := finish[int](t, e, "run")
				var aborted *retry.AbortedError
				if !errors.As(err, &aborted) {
					t.Fatalf("got %v, want an *AbortedError", err)
				}
				got := fmt.Sprintf("attempt %d (%s), last %v, ran %d times", aborted.Attempt, aborted.Phase, aborted.Last, ran)
				if got != test.want || time.Since(began) != test.at {
					t.Errorf("after %s: %s, want after %s: %s", time.Since(began), got, test.at, test.want)
				}
				pass(time.Hour)
				if describe(t, e, "run").Status != "canceled" || !strings.HasSuffix(test.want, fmt.Sprintf("ran %d times", ran)) {
					t.Errorf("the run is %s, ran %d times", describe(t, e, "run").Status, ran)
				}
			})
		})
	}
}
