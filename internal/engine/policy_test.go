package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/golden"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// TestR17_EngineOnlyFields proves that the fields of a policy which mean nothing
// in process, or something else, have an effect in the engine.
func TestR17_EngineOnlyFields(t *testing.T) {
	witnesses := map[string]func(t *testing.T, w *world){
		"QueueTimeout": queueTimeoutHasAnEffect,
		"CrashLimit":   crashLimitHasAnEffect,
	}
	if got, want := slices.Sorted(maps.Keys(witnesses)), slices.Sorted(slices.Values(slices.Concat(golden.EngineOnly, golden.AtGates))); !slices.Equal(got, want) {
		t.Fatalf("there are witnesses for %v, and the fields are %v", got, want)
	}
	for field, witness := range witnesses {
		t.Run(field, func(t *testing.T) { inBothModes(t, witness) })
	}
}

// queueTimeoutHasAnEffect: an attempt that waits longer for a slot is a failure,
// judged like any other, and its call queues again.
func queueTimeoutHasAnEffect(t *testing.T, w *world) {
	hold := activity.New("hold", func(ctx context.Context, d time.Duration) (int, error) {
		time.Sleep(d)
		return 0, nil
	})
	wait := activity.New("wait", func(context.Context, int) (string, error) { return "ran", nil })
	busy := workflow.New("busy", func(wf *workflow.Context, d time.Duration) (int, error) {
		return workflow.Call(wf, hold, d)
	})
	queued := workflow.New("queued", func(wf *workflow.Context, p retry.Policy) (string, error) {
		return workflow.Call(wf, wait, 0, activity.Retry(p))
	})
	config := w.config(busy, queued, hold, wait)
	config.Concurrency = 1
	e := w.startWith(config)

	begin(t, e, busy, "busy", time.Minute)
	settle()
	policy := retry.Policy{QueueTimeout: 10 * time.Second, MaxAttempts: 2, Backoff: retry.Fixed(5 * time.Second), Jitter: retry.NoJitter}
	begin(t, e, queued, "queued", policy)
	inLine()
	began := onlyCall(t, e, "queued").Scheduled
	_, err := finish[string](t, e, "queued")
	timeout := new(retry.TimeoutError)
	if !errors.As(err, &timeout) || timeout.Kind != retry.TimeoutQueue || timeout.Limit != 10*time.Second {
		t.Errorf("got %v, want a queue timeout of 10s", err)
	}
	// Ten seconds in the queue, five of backoff, ten in the queue again.
	if took := time.Since(began); took != 25*time.Second {
		t.Errorf("it took %s, want 25s", took)
	}
	for i, a := range attemptsOf(t, e, "queued") {
		if a.Number != i+1 || a.Outcome != "timed-out" || a.ErrorType != retry.TypeQueueTimeout || a.Started != nil {
			t.Errorf("attempt %d is %+v, want one that timed out and never started", i+1, a)
		}
	}
	policy.QueueTimeout = 0
	begin(t, e, queued, "patient", policy)
	if got, err := finish[string](t, e, "patient"); got != "ran" || err != nil {
		t.Errorf("without a limit: %q, %v", got, err)
	}
}

// crashLimitHasAnEffect: the limit is the number of process deaths in the
// probation lane that quarantine a call, and 1 means never again after a loss.
func crashLimitHasAnEffect(t *testing.T, w *world) {
	for _, limit := range []int{0, 1, 2, 5} {
		var ran atomic.Int64
		dangerous := activity.New("dangerous", func(ctx context.Context, _ int) (int, error) {
			ran.Add(1)
			<-ctx.Done() // until the process is killed
			return 0, ctx.Err()
		}, activity.Retry(retry.Policy{CrashLimit: limit}))
		crash := workflow.New("crash", func(wf *workflow.Context, _ int) (int, error) {
			return workflow.Call(wf, dangerous, 0)
		})
		w.anew()

		effective := limit
		if limit == 0 {
			effective = retry.Policy{}.WithDefaults().CrashLimit
		}
		deaths := effective + 2 // the first two were not in the lane
		if limit == 1 {
			deaths = 1
		}
		e := w.start(crash, dangerous)
		begin(t, e, crash, "run", 0)
		for n := range deaths {
			settle()
			if p := onlyCall(t, e, "run"); p.State != "running" || p.Attempt != n+1 || p.LostToCrashes != n {
				t.Fatalf("limit %d: before death %d the call is %+v", limit, n+1, p)
			}
			w.kill(e)
			e = w.start(crash, dangerous)
		}
		settle()
		if p := onlyCall(t, e, "run"); p.State != "quarantined" || p.LostToCrashes != deaths {
			t.Errorf("limit %d: after %d deaths the call is %+v, want it quarantined", limit, deaths, p)
		}
		if int(ran.Load()) != deaths {
			t.Errorf("limit %d: it ran %d times, want %d", limit, ran.Load(), deaths)
		}
		for i, a := range attemptsOf(t, e, "run") {
			reason := retry.ReasonWorkerLost
			if i == deaths-1 {
				reason = retry.ReasonCrashLimit
			}
			if a.Outcome != "lost" || a.Reason != string(reason) {
				t.Errorf("limit %d: attempt %d is %s (%s), want lost (%s)", limit, a.Number, a.Outcome, a.Reason, reason)
			}
		}
		stop(t, e)
	}
}

// TestE3_BlameIsSpread: a process that is killed again and again for reasons of
// its own does not blame the same call each time. After a first death all calls start
// together, after the next ones half of them; of those that are tried alone, the one that
// was blamed least often is tried first.
func TestE3_BlameIsSpread(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		const runs = 5
		innocent := activity.New("innocent", func(ctx context.Context, _ int) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		})
		once := calls(innocent)
		e := w.start(once, innocent)
		for i := range runs {
			begin(t, e, once, fmt.Sprint(i), i)
		}
		// The first two deaths charge no call, and each later one at most one call.
		for death := range 2 + runs*(retry.Policy{}.WithDefaults().CrashLimit-1) {
			settle()
			w.kill(e)
			e = w.start(once, innocent)
			settle()
			counts, err := e.Counts(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			if n := counts.Calls[view.CallQuarantined]; n != 0 {
				t.Fatalf("after %d deaths %d calls are quarantined", death+1, n)
			}
			want := []int{runs, 3, 2, 1}[min(death, 3)]
			if n := counts.Calls[view.CallRunning]; n != want && (death < 3 || n > 2) {
				t.Errorf("after %d deaths %d calls are tried at once, want %d", death+1, n, want)
			}
		}
	})
}
