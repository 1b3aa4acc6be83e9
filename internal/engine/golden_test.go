package engine_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/golden"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// TestR16_GoldenEngine plays the golden table with the durable engine in virtual
// time: the schedules are those of Decide and of Do, to the nanosecond, and what
// is played is the same after every step was a replay.
func TestR16_GoldenEngine(t *testing.T) {
	extent.Unwatched(t, "it varies policies")
	table, err := golden.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range table.Cases {
		if needsGate(c) {
			continue // see TestR16_GoldenCasesTheEngineRefuses
		}
		t.Run(c.Name, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				if got := playEngine(t, w, c); got.String() != c.Want.String() {
					t.Errorf("the engine does\n%swant\n%s", got, c.Want)
				}
			})
		})
	}
}

// playEngine plays a case as the only activity of a workflow.
func playEngine(t *testing.T, w *world, c *golden.Case) golden.Trace {
	var trace golden.Trace
	var mu sync.Mutex // a body that is late has no other order with what follows
	play := activity.New("play", func(ctx context.Context, _ int) (int, error) {
		info, _ := activity.FromContext(ctx)
		mu.Lock()
		trace.Starts = append(trace.Starts, time.Since(info.Scheduled))
		mu.Unlock()
		return 0, c.Run(ctx, info.Attempt, info.Scheduled, func() { _ = activity.Heartbeat(ctx, info.Attempt) })
	}, activity.Retry(c.Policy))
	once := workflow.New("once", func(wf *workflow.Context, _ int) (int, error) {
		if c.CancelAt == 0 {
			var cancel func()
			wf, cancel = workflow.WithCancel(wf)
			cancel()
		}
		return workflow.Call(wf, play, 0)
	})
	config := w.config(once, play)
	config.Draw = func(_ string, _ int64, attempt int) float64 { return c.Attempts[attempt-1].U }
	paused := make(chan view.PausedCall, 1)
	config.OnPaused = func(p view.PausedCall) { paused <- p }
	e := w.startWith(config)
	begin(t, e, once, "case", 0)
	over := make(chan struct{})
	defer close(over)
	go func() { // nobody will decide
		select {
		case p := <-paused:
			trace.End = fmt.Sprintf("paused %s %d", p.Reason, p.Failures)
			_ = e.Terminate(context.Background(), "case", "", request.By{Why: "paused"})
		case <-over:
		}
	}()
	if c.CancelAt > 0 {
		time.Sleep(c.CancelAt)
		if err := e.Cancel(t.Context(), "case", "", request.By{Why: "the case says so"}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := finish[int](t, e, "case")
	mu.Lock()
	defer mu.Unlock()
	if trace.End == "" {
		trace.End = golden.End(err)
	}
	for _, a := range attemptsOf(t, e, "case") {
		reason := retry.Reason(a.Reason)
		if reason == retry.ReasonSucceeded {
			continue
		}
		j := golden.Judgment{Action: golden.Stop, Delay: a.Delay, Reason: reason, Rule: a.Rule - 1}
		if reason.Retries() {
			j.Action = golden.Retry
		}
		if c.Policy.OnExhausted == retry.Pause && reason.Exhausts() {
			j.Action = golden.Pause
		}
		trace.Judgments = append(trace.Judgments, j)
	}
	return trace
}

// TestR16_GoldenCasesTheEngineRefuses keeps account of the cases of the table
// that the engine does not play. Their number may only fall.
func TestR16_GoldenCasesTheEngineRefuses(t *testing.T) {
	table, err := golden.Load()
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, c := range table.Cases {
		switch {
		case needsGate(c):
			count["needs a budget or a breaker"]++
		default:
			count["played"]++
		}
	}
	want := "map[needs a budget or a breaker:9 played:" + fmt.Sprint(len(table.Cases)-9) + "]"
	if got := fmt.Sprint(count); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func needsGate(c *golden.Case) bool {
	return slices.ContainsFunc(c.Attempts, func(a golden.Attempt) bool { return a.Denied || a.Probe })
}
