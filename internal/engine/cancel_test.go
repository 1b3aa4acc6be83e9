package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

// TestE45_CancelAndTerminate: asked twice is asked once; a run that ended cannot
// be asked any more; the reason is kept.
func TestE45_CancelAndTerminate(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		tidy := activity.New("tidy", func(ctx context.Context, n int) (int, error) { return n, busy(ctx, time.Second) })
		gate := workflow.New("gate", func(wf *workflow.Context, _ int) (string, error) {
			_, err := workflow.Receive(wf, proceed)
			if err == nil {
				return "", errors.New("it was not canceled")
			}
			if _, cleanup := workflow.Call(workflow.Shield(wf), tidy, 1); cleanup != nil {
				return "", cleanup
			}
			return "", err
		})
		e := w.start(gate, tidy)
		begin(t, e, gate, "canceled", 0)
		begin(t, e, gate, "terminated", 0)
		for range 3 {
			if err := e.Cancel(t.Context(), "canceled", "", request.By{Why: "not needed"}); err != nil {
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
		if err := e.Terminate(t.Context(), "terminated", "", request.By{Why: "enough"}); err != nil {
			t.Fatal(err)
		}
		if _, err := finish[string](t, e, "terminated"); err == nil || err.Error() != "terminated: enough" {
			t.Errorf("got %v", err)
		}
		for _, id := range []string{"canceled", "terminated"} {
			for _, err := range []error{
				e.Cancel(t.Context(), id, "", request.By{}), e.Terminate(t.Context(), id, "", request.By{}), e.Signal(t.Context(), id, "proceed", "", history.Payload{}),
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
				begin(t, e, once, "run", 0)
				inLine()
				began := time.Now()
				pass(test.at)
				if err := e.Cancel(t.Context(), "run", "", request.By{Why: "enough"}); err != nil {
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
