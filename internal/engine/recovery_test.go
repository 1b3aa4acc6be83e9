package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// TestE5_CrashInBackoff: the retry fires at the time first recorded, not before,
// not later, and its jitter is not drawn again.
func TestE5_CrashInBackoff(t *testing.T) {
	needsClocks.inBothModes(t, func(t *testing.T, w *world) {
		var starts []time.Time
		work := activity.New("work", func(ctx context.Context, _ int) (int, error) {
			starts = append(starts, time.Now())
			if len(starts) == 1 {
				return 0, errors.New("no")
			}
			return 1, nil
		}, activity.Retry(retry.Policy{Backoff: retry.Fixed(time.Hour), Jitter: retry.Proportional(0.5)}))
		once := calls(work)
		e := w.start(once, work)
		begin(t, e, once, "run", 0)
		settle()
		due := onlyCall(t, e, "run").Next
		for n := range 5 { // five crashes, and a shutdown
			pass(5 * time.Minute)
			w.kill(e)
			pass(time.Minute)
			config := w.config(once, work)
			config.Draw = func(string, int64, int) float64 { return 0.1 * float64(n) } // would be another time
			e = w.startWith(config)
			settle()
			if p := onlyCall(t, e, "run"); p.State != "backoff" || !p.Next.Equal(*due) || p.Attempt != 2 {
				t.Errorf("after crash %d the call is %+v, want it due at %s", n+1, p, due)
			}
		}
		if _, err := finish[int](t, e, "run"); err != nil {
			t.Fatal(err)
		}
		if len(starts) != 2 || !starts[1].Equal(*due) {
			t.Errorf("the attempts started at %v, the second was due at %s", starts, due)
		}
	})
}

// TestE5_DueWhileDown: timers that became due while no engine was running fire immediately
// when one starts.
func TestE5_DueWhileDown(t *testing.T) {
	needsClocks.inBothModes(t, func(t *testing.T, w *world) {
		work := activity.New("work", func(ctx context.Context, _ int) (int, error) {
			if info, _ := activity.FromContext(ctx); info.Attempt == 1 {
				return 0, errors.New("no")
			}
			return 1, nil
		}, activity.Retry(retry.Policy{Backoff: retry.Fixed(time.Hour), Jitter: retry.NoJitter}))
		once := calls(work)
		nap := workflow.New("nap", func(wf *workflow.Context, _ int) (int, error) { return 1, workflow.Sleep(wf, time.Hour) })
		e := w.start(once, nap, work)
		begin(t, e, once, "retry", 0)
		begin(t, e, nap, "nap", 0)
		settle()
		w.kill(e)
		time.Sleep(3 * time.Hour)
		began := time.Now()
		e = w.start(once, nap, work)
		for _, id := range []string{"retry", "nap"} {
			if got, err := finish[int](t, e, id); got != 1 || err != nil {
				t.Errorf("%s: %d, %v", id, got, err)
			}
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("it took %s more", waited)
		}
	})
}

// TestE3_LossesAndDrainsAreNotCharged: crashes and shutdowns use up nothing of
// MaxAttempts, the numbers go on, and each execution has its record.
func TestE3_LossesAndDrainsAreNotCharged(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		var ids []string
		work := activity.New("work", func(ctx context.Context, _ int) (int, error) {
			info, _ := activity.FromContext(ctx)
			mu.Lock()
			ids = append(ids, info.AttemptID)
			n := len(ids)
			mu.Unlock()
			if n < 6 {
				<-ctx.Done()
				return 0, ctx.Err()
			}
			return 0, fmt.Errorf("failure %d", n)
		}, activity.Retry(retry.Policy{MaxAttempts: 2, Backoff: retry.Fixed(time.Minute), Jitter: retry.NoJitter, CrashLimit: 9}))
		once := calls(work)
		e := w.start(once, work)
		run := begin(t, e, once, "run", 0)
		for n := range 5 {
			pass(time.Second)
			if p := onlyCall(t, e, "run"); p.State != "running" || p.Failures != 0 || p.Attempt != n+1 {
				t.Errorf("before stop %d the call is %+v", n+1, p)
			}
			if n%2 == 0 {
				w.kill(e)
			} else {
				stop(t, e)
			}
			e = w.start(once, work)
		}
		_, err := finish[int](t, e, "run")
		var exhausted *retry.ExhaustedError
		if !errors.As(err, &exhausted) || exhausted.Attempts != 2 || exhausted.Reason != retry.ReasonMaxAttempts {
			t.Errorf("got %v, want it exhausted after two attempts", err)
		}
		want := "1.1 lost worker_lost, 1.2 drained drained, 1.3 lost worker_lost, 1.4 drained drained, 1.5 lost worker_lost, 1.6 failed backoff Error, 1.7 failed max_attempts Error"
		if got := outcomes(t, e, "run"); got != want {
			t.Errorf("the attempts are %s\nwant %s", got, want)
		}
		for i, id := range ids {
			if id != fmt.Sprintf("%s/1.%d", run, i+1) {
				t.Errorf("execution %d was attempt %s", i+1, id)
			}
		}
		for _, ev := range eventsOf(t, e, "run") {
			if ev.Kind == history.CallFailed {
				if s := ev.Retry; s.TotalAttempts != 7 || s.LostToCrashes != 3 || s.Drained != 2 || s.ErrorsTotal != 2 || !s.Exhausted {
					t.Errorf("the summary is %+v", s)
				}
			}
		}
	})
}

// TestE3_QueuedCallsAreNotLost: what waited for a slot at a crash is neither lost
// nor in the probation lane.
func TestE3_QueuedCallsAreNotLost(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		released := make(chan struct{})
		work := activity.New("work", func(ctx context.Context, n int) (int, error) {
			select {
			case <-released:
				return n, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		})
		once := calls(work)
		config := w.config(once, work)
		config.Concurrency = 2
		e := w.startWith(config)
		for i := range 5 {
			begin(t, e, once, fmt.Sprint(i), i)
		}
		settle()
		w.kill(e)
		e = w.startWith(config)
		close(released)
		for i := range 5 {
			if got, err := finish[int](t, e, fmt.Sprint(i)); got != i || err != nil {
				t.Errorf("run %d: %d, %v", i, got, err)
			}
			want := "1.1 completed succeeded"
			if i < 2 {
				want = "1.1 lost worker_lost, 1.2 completed succeeded"
			}
			if got := outcomes(t, e, fmt.Sprint(i)); got != want {
				t.Errorf("run %d: the attempts are %s, want %s", i, got, want)
			}
		}
		counts, err := e.Counts(t.Context(), 0)
		if err != nil || len(counts.Calls) != 0 || counts.Runs[view.StatusCompleted] != 5 {
			t.Errorf("at the end there are %+v, %v", counts, err)
		}
	})
}

// TestE3_TheLostGoFirst: calls that ran when their process died get their slots back
// before others of their priority that had waited for one.
func TestE3_TheLostGoFirst(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		var line finishLine
		pass1 := line.activity()
		once := passing(pass1)
		config := w.config(once, pass1)
		config.Concurrency = 2
		e := w.startWith(config)
		for i, who := range []string{"ran", "ran", "waited", "waited", "waited", "waited", "waited"} {
			begin(t, e, once, fmt.Sprint(i), who)
			settle()
		}
		w.kill(e)
		e = w.startWith(config)
		awaitAll(t, e)
		same(t, "order", line.order(), "ran ran ran ran waited waited waited waited waited")
		stop(t, e)
	})
}
