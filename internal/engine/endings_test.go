package engine_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
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
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/workflow"
)

// ending is a way in which a run ends.
type ending struct {
	name   string
	flow   workflow.Workflow[int, int]
	limit  time.Duration                                                // the run's time, 0 for none
	end    func(ctx context.Context, e *engine.Engine, id string) error // what somebody does, nil for nothing
	status core.Status
}

// endings are all ways in which a run can end. The runs have coroutines, a timer that no code
// waits for and an attempt in flight when they end.
func endings(idle activity.Activity[int, int]) []ending {
	entangled := func(wf *workflow.Context) {
		ch := workflow.NewChannel[int](wf, 0)
		workflow.Go(wf, func(wf *workflow.Context) { _, _ = ch.Receive(wf) })
		workflow.NewTimer(wf, time.Hour)
		workflow.Async(wf, idle, 0)
	}
	flow := func(name string, end workflow.Func[int, int]) workflow.Workflow[int, int] {
		return workflow.New(name, func(wf *workflow.Context, n int) (int, error) {
			entangled(wf)
			if _, err := workflow.Do(wf, "step", one); err != nil {
				return 0, err
			}
			return end(wf, n)
		})
	}
	waits := func(wf *workflow.Context, n int) (int, error) {
		_, err := workflow.Receive(wf, poke)
		return n, err
	}
	next := workflow.Declare[int, int]("continued")
	return []ending{
		{name: "completed", flow: flow("completed", func(_ *workflow.Context, n int) (int, error) { return n, nil }), status: core.StatusCompleted},
		{name: "failed", flow: flow("failed", func(*workflow.Context, int) (int, error) { return 0, errRefused }), status: core.StatusFailed},
		{name: "canceled", flow: flow("canceled", waits), status: core.StatusCanceled,
			end: func(ctx context.Context, e *engine.Engine, id string) error {
				return e.Cancel(ctx, id, "", request.By{Why: "enough"})
			}},
		{name: "terminated", flow: flow("terminated", waits), status: core.StatusTerminated,
			end: func(ctx context.Context, e *engine.Engine, id string) error {
				return e.Terminate(ctx, id, "", request.By{Why: "enough"})
			}},
		{name: "continued", flow: next.Impl(func(wf *workflow.Context, n int) (int, error) {
			entangled(wf)
			if n == 0 {
				return 0, nil
			}
			return workflow.ContinueAsNew(wf, next, 0)
		}), status: core.StatusCompleted},
		{name: "timed out", flow: flow("timed out", waits), limit: time.Millisecond, status: core.StatusTimedOut},
		{name: "parked", flow: flow("parked", func(*workflow.Context, int) (int, error) { panic("a mistake") }), status: core.StatusParked},
	}
}

var runsOfEach = flag.Int("endings", extent.AtNight(500, 10_000), "how many runs end in each of the ways in which a run can")

// TestI10_EveryEndingLeavesNothing: when hundreds of runs have ended, in each way in
// which a run can, the process has as many goroutines as before. At night it is
// ten thousand runs of each.
func TestI10_EveryEndingLeavesNothing(t *testing.T) {
	runs, resident := *runsOfEach, 100
	if testing.Short() {
		runs, resident = min(runs, 20), 20
	}
	idle := activity.New("idle", func(ctx context.Context, n int) (int, error) { <-ctx.Done(); return n, ctx.Err() })
	for _, how := range endings(idle) {
		t.Run(how.name, func(t *testing.T) {
			w := newWorld(t)
			w.maxResident = resident
			config := w.config(how.flow, idle)
			config.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
			e := w.startWith(config)
			playEndings(t, e, how, "warm up", resident)
			before := len(quiet(0))
			playEndings(t, e, how, "run", runs)
			if now := quiet(before); len(now) > before {
				t.Errorf("after %d runs there are %d goroutines, before there were %d\n%s", runs, len(now), before, strings.Join(now[:min(len(now), 20)], "\n\n"))
			}
			if err := e.Health(); err != nil {
				t.Errorf("Health: %v", err)
			}
		})
	}
}

// TestE45_WhoWaitsIsToldOfEachTimeout: a run that ends when its time is up leaves a
// wake behind, for which it is looked up once more. Who asks for its result at that
// moment must not wait for ever.
func TestE45_WhoWaitsIsToldOfEachTimeout(t *testing.T) {
	runs := extent.AtNight(1000, 5000)
	if testing.Short() {
		runs = 500
	}
	idle := activity.New("idle", func(ctx context.Context, n int) (int, error) { <-ctx.Done(); return n, ctx.Err() })
	for _, how := range endings(idle) {
		if how.status != core.StatusTimedOut {
			continue
		}
		w := newWorld(t)
		config := w.config(how.flow, idle)
		config.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
		playEndings(t, w.startWith(config), how, "run", runs)
	}
}

// playEndings takes so many runs to their end, thirty at a time.
func playEndings(t *testing.T, e *engine.Engine, how ending, name string, n int) {
	t.Helper()
	var next atomic.Int64
	var workers sync.WaitGroup
	for range 30 {
		workers.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				if err := playEnding(t.Context(), e, how, fmt.Sprint(name, " ", i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	workers.Wait()
}

// playEnding takes a run to its end and looks how it ended.
func playEnding(ctx context.Context, e *engine.Engine, how ending, id string) error {
	input, err := history.Encode(1)
	if err == nil {
		_, _, err = e.StartRun(ctx, request.Start{WorkflowID: id, Type: how.flow.Name(), Input: input, Settings: history.Settings{RunTimeout: how.limit}})
	}
	if err == nil && how.end != nil {
		err = how.end(ctx, e, id)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", id, err)
	}
	if how.status == core.StatusParked {
		return awaitParked(ctx, e, id)
	}
	_, s, err := e.Result(ctx, id, "")
	if err == nil && s.Status != how.status {
		err = fmt.Errorf("it is %s", s.Status)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", id, err)
	}
	return nil
}

// awaitParked waits until a run is parked, which nobody is told of.
func awaitParked(ctx context.Context, e *engine.Engine, id string) error {
	for {
		d, err := e.Describe(ctx, id, "")
		if err != nil {
			return err
		}
		if d.Status == string(core.StatusParked) {
			// Its attempt in flight goes on, and ends with the run.
			return errors.Join(e.Terminate(ctx, id, "", request.By{Why: "enough"}), ended(ctx, e, id))
		}
		time.Sleep(time.Millisecond)
	}
}

func ended(ctx context.Context, e *engine.Engine, id string) error {
	_, _, err := e.Result(ctx, id, "")
	return err
}

// quiet returns the stacks of all goroutines when there are at most so many, or when
// their number does not change any more.
func quiet(enough int) (last []string) {
	for same := 0; same < 100; {
		time.Sleep(5 * time.Millisecond) // nothing tells when a goroutine is gone
		switch now := goroutines(); {
		case len(now) <= enough:
			return now
		case len(now) == len(last):
			same++
		default:
			last, same = now, 0
		}
	}
	return last
}

// goroutines are the stacks of all goroutines but the workers that the engine keeps
// for what is to come, of which there are more or fewer by chance.
func goroutines() []string {
	for size := 1 << 20; ; size *= 2 {
		stacks := make([]byte, size)
		if n := runtime.Stack(stacks, true); n < size {
			return slices.DeleteFunc(strings.Split(string(stacks[:n]), "\n\n"), func(stack string) bool {
				_, top, _ := strings.Cut(stack, "\n")
				return strings.HasPrefix(top, "github.com/perdure/perdure/internal/workers.(*Pool).work(")
			})
		}
	}
}
