package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

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
		if _, _, err := tryBegin(t.Context(), e, once, "new", 1); !errors.Is(err, request.ErrStopped) {
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
	test := func(t *testing.T, w *world) {
		e := w.start()
		if err := e.Start(t.Context()); !errors.Is(err, engine.ErrStarted) {
			t.Errorf("a second Start: %v", err)
		}
		second := w.open(w.config())
		var inUse *store.InUseError
		if err := second.Start(t.Context()); !errors.As(err, &inUse) || !strings.Contains(err.Error(), "is served by another engine (node: process") {
			t.Errorf("a second engine: %v", err)
		}
		stop(t, e)
		stop(t, e)
		if err := e.Start(t.Context()); !errors.Is(err, request.ErrStopped) {
			t.Errorf("Start after Stop: %v", err)
		}
		if err := e.Health(); !errors.Is(err, request.ErrStopped) {
			t.Errorf("Health after Stop: %v", err)
		}
		if err := second.Start(t.Context()); err != nil {
			t.Errorf("the second engine, when the first is gone: %v", err)
		}
		client := w.open(w.config())
		stop(t, client)
		stop(t, client)
		if err := client.Start(t.Context()); !errors.Is(err, request.ErrStopped) {
			t.Errorf("Start of a stopped client: %v", err)
		}
		if err := second.Health(); err != nil {
			t.Errorf("Health: %v", err)
		}
	}
	for _, in := range everywhere {
		if !in.shared && in.resident && in.plays(needsFencing) { // else the second engine is welcome
			in.run(t, 1, test)
		}
	}
}

// TestI10_StartAndStopLeaveNothing starts and stops a busy engine a hundred
// times. No run is lost, and in the end no goroutine is left.
func TestI10_StartAndStopLeaveNothing(t *testing.T) {
	for _, in := range everywhere {
		if in.resident && in.plays(needsFencing) {
			in.runInRealTime(t, startAndStopLeaveNothing)
		}
	}
}

func startAndStopLeaveNothing(t *testing.T, w *world) {
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
	rounds := 100
	if w.in.onDisk {
		rounds = extent.AtNight(25, rounds)
	}
	for round := range rounds {
		cycle(1 + round)
	}
	for n := 0; runtime.NumGoroutine() > before; n++ { // bodies that were asked to end
		if n == 1000 {
			all := make([]byte, 1<<20)
			t.Fatalf("%d goroutines are left, there were %d\n%s", runtime.NumGoroutine(), before, all[:runtime.Stack(all, true)])
		}
		time.Sleep(time.Millisecond)
	}
	e := w.start(three, work)
	for round := range rounds + 1 {
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
	for _, in := range everywhere {
		if in.shared && in.resident && in.plays(needsFencing) {
			in.runInRealTime(t, takeoverUnderLoad)
		}
	}
}

func takeoverUnderLoad(t *testing.T, w *world) {
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
	const runs = 20
	rounds := 6
	if testing.Short() || w.in.onDisk && !extent.Nightly() {
		rounds = 2
	}
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
