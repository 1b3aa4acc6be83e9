package engine_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// unbegun is a run whose call has failed once. Its retry is due a second after the run began
// and on record before that. Another run keeps the only slot from half a second on, if at
// all.
type unbegun struct {
	engine      *engine.Engine
	definitions []any

	mu    sync.Mutex
	began []time.Time // of the attempts
}

// startUnbegun begins the run with a policy that has a backoff of a second, and lets another
// one keep the slot for as long as keeps says.
func startUnbegun(t *testing.T, w *world, policy retry.Policy, keeps time.Duration) *unbegun {
	u := &unbegun{}
	policy.Backoff, policy.Jitter = retry.Fixed(time.Second), retry.NoJitter
	work := activity.New("work", func(ctx context.Context, n int) (int, error) {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.began = append(u.began, time.Now()); len(u.began) == 1 {
			return 0, errors.New("not yet")
		}
		return n, nil
	}, activity.Retry(policy))
	other := activity.New("other", func(ctx context.Context, n int) (int, error) { return n, busy(ctx, keeps) })
	flow, beside := calls(work), workflow.New("beside", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, other, n) })
	w.anew()
	u.definitions = []any{flow, beside, work, other}
	config := w.config(u.definitions...)
	config.Concurrency = 1
	u.engine = w.startWith(config)
	begin(t, u.engine, flow, "run", 1)
	pass(500 * time.Millisecond)
	if keeps > 0 {
		begin(t, u.engine, beside, "other", 1)
	}
	return u
}

// count is how many attempts began.
func (u *unbegun) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.began)
}

// wantTwice lets the run end and says that two attempts began, the second when the ledger says.
func (u *unbegun) wantTwice(t *testing.T, name string) {
	t.Helper()
	if _, err := finish[int](t, u.engine, "run"); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if all := attemptsOf(t, u.engine, "run"); len(all) != 2 || u.count() != 2 || !all[1].Started.Equal(u.began[1]) {
		t.Errorf("%s: attempts began at %v, and on record is %+v", name, u.began, all)
	}
}

// TestE145_WhoIsPausedDoesNotBegin: an attempt that is on record ahead of its time, and one
// that waits for its slot, do not begin once their call or run is paused. They are in no
// ledger, and begin under their number when the pause is over.
func TestE145_WhoIsPausedDoesNotBegin(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		for name, c := range map[string]struct {
			pause, resume core.Operation
			keeps, when   time.Duration
		}{
			"call, early":   {core.PauseCall, core.ResumeCall, 0, 400 * time.Millisecond},
			"call, waiting": {core.PauseCall, core.ResumeCall, 600 * time.Millisecond, 550 * time.Millisecond},
			"run, early":    {core.PauseTheRun, core.ResumeTheRun, 0, 400 * time.Millisecond},
			"run, waiting":  {core.PauseTheRun, core.ResumeTheRun, 600 * time.Millisecond, 550 * time.Millisecond},
		} {
			u := startUnbegun(t, w, retry.Policy{MaxAttempts: 2}, c.keeps)
			e := u.engine
			pass(c.when)
			control(t, e, "run", core.Control{Operation: c.pause})
			pass(10 * time.Second)
			if n := u.count(); n != 1 {
				t.Errorf("%s: %d attempts began", name, n)
			}
			if all := attemptsOf(t, e, "run"); len(all) != 1 {
				t.Errorf("%s: on record is %+v", name, all)
			}
			same(t, name, onlyCall(t, e, "run").State, "paused")
			control(t, e, "run", core.Control{Operation: c.resume})
			u.wantTwice(t, name)
			stop(t, e)
		}
	})
}

// TestE145_WhoGoesOnSoonBeginsInTime: a retry that was halted before its time still has that time
// when the pause is over before.
func TestE145_WhoGoesOnSoonBeginsInTime(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		u := startUnbegun(t, w, retry.Policy{MaxAttempts: 2}, 0)
		pass(400 * time.Millisecond)
		control(t, u.engine, "run", core.Control{Operation: core.PauseCall})
		control(t, u.engine, "run", core.Control{Operation: core.ResumeCall})
		if _, err := finish[int](t, u.engine, "run"); err != nil {
			t.Error(err)
		}
		if u.count() != 2 || u.began[1].Sub(u.began[0]) != time.Second {
			t.Errorf("attempts began at %v", u.began)
		}
	})
}

// TestE145_WhoseTimeIsOverDoesNotBegin: a retry whose slot comes too late, by its QueueTimeout or
// by Within, does not begin, although it is on record.
func TestE145_WhoseTimeIsOverDoesNotBegin(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		for name, c := range map[string]struct {
			policy retry.Policy
			reason string
		}{
			"queue":  {retry.Policy{MaxAttempts: 2, QueueTimeout: 50 * time.Millisecond}, "max_attempts"},
			"within": {retry.Policy{Within: 1050 * time.Millisecond}, "within"},
		} {
			u := startUnbegun(t, w, c.policy, 600*time.Millisecond) // a slot comes 100 ms after its time
			_, err := finish[int](t, u.engine, "run")
			exhausted, is := errors.AsType[*retry.ExhaustedError](err)
			if !is || string(exhausted.Reason) != c.reason || u.count() != 1 {
				t.Errorf("%s: %d attempts began, at %v; the run ends with %v", name, u.count(), u.began, err)
			}
			stop(t, u.engine)
		}
	})
}

// TestE145_WhoWaitsWhenTheEngineStopsDoesNotBegin: nothing begins once an engine is asked to
// stop, whatever time its attempts have.
func TestE145_WhoWaitsWhenTheEngineStopsDoesNotBegin(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		for name, c := range map[string]struct{ keeps, when time.Duration }{
			"early": {0, 400 * time.Millisecond}, "waiting": {600 * time.Millisecond, 550 * time.Millisecond},
		} {
			u := startUnbegun(t, w, retry.Policy{MaxAttempts: 2}, c.keeps)
			pass(c.when)
			if err := u.engine.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			if n := u.count(); n != 1 {
				t.Errorf("%s: %d attempts began", name, n)
			}
		}
	})
}

// TestNothingBeginsAfterACommitOfAnEngineThatStops: an attempt that was admitted begins only if
// the engine still works when its turn is durable. Another one runs it.
func TestNothingBeginsAfterACommitOfAnEngineThatStops(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		quick := w.db
		w.db = slowCommits{w.db, time.Second}
		var ran atomic.Int64
		work := activity.New("work", func(_ context.Context, n int) (int, error) { ran.Add(1); return n, nil })
		flow := calls(work)
		e := w.start(flow, work)
		go tryBegin(t.Context(), e, flow, "run", 1)
		pass(500 * time.Millisecond)
		if err := e.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if n := ran.Load(); n != 0 {
			t.Errorf("%d attempts began", n)
		}
		w.db = quick
		if got, err := finish[int](t, w.start(flow, work), "run"); got != 1 || err != nil || ran.Load() != 1 {
			t.Errorf("%d, %v, and %d attempts began", got, err, ran.Load())
		}
	})
}
