package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// fragile is an activity that fails as long as it is told to, and a workflow that
// calls it once.
type fragile struct {
	activity activity.Activity[int, string]
	flow     workflow.Workflow[int, string]
	broken   atomic.Bool
	ran      atomic.Int64
}

func newFragile(policy retry.Policy) *fragile {
	f := &fragile{}
	f.broken.Store(true)
	f.activity = activity.New("fragile", func(context.Context, int) (string, error) {
		f.ran.Add(1)
		if f.broken.Load() {
			return "", errRefused
		}
		return "done", nil
	}, activity.Retry(policy))
	f.flow = workflow.New("flow", func(wf *workflow.Context, n int) (string, error) {
		return workflow.Call(wf, f.activity, n)
	})
	return f
}

// control asks for an operation and demands that something came of it.
func control(t *testing.T, e *engine.Engine, id string, in core.Control) []view.ControlRecord {
	t.Helper()
	records, err := e.Control(t.Context(), id, "", in)
	if err != nil {
		t.Fatalf("%s of %q: %v", in.Operation, id, err)
	}
	return records
}

// skipWith is the operation that completes calls with a value.
func skipWith(t *testing.T, v any) core.Control {
	t.Helper()
	payload, err := history.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return core.Control{Operation: core.Skip, Result: payload, By: "ann", Reason: "paid by hand"}
}

func failWith(err error) core.Control {
	return core.Control{Operation: core.FailNow, Failure: history.FromError(err), By: "ann", Reason: "it will not work"}
}

func verdicts(records []view.ControlRecord) (all []string) {
	for _, r := range records {
		all = append(all, r.Operation+" "+r.Outcome)
	}
	return all
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

var (
	slowRetry = retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(time.Hour), Jitter: retry.NoJitter}
	pausing   = retry.Policy{MaxAttempts: 2, Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter, OnExhausted: retry.Pause}
)

// TestE60_OnExhaustedPause: an exhausted call waits for a person. The hook is called once, the
// reason is on record, and resume gives the call another attempt.
func TestE60_OnExhaustedPause(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		f := newFragile(pausing)
		told := make(chan view.PausedCall, 10)
		config := w.config(f.flow, f.activity)
		config.OnPaused = func(p view.PausedCall) {
			told <- p
			panic("a hook may panic")
		}
		e := w.startWith(config)
		begin(t, e, f.flow, "x", 1)
		pass(24 * time.Hour)
		c := onlyCall(t, e, "x")
		same(t, "state", c.State, "paused")
		same(t, "reason", c.Paused.Why, retry.ReasonMaxAttempts)
		same(t, "attempt", c.Attempt, 3)
		same(t, "ran", f.ran.Load(), 2)
		if p := <-told; p.WorkflowID != "x" || p.Call != 1 || p.Name != "fragile" || p.State != "paused" || p.Reason != "max_attempts" || !errors.Is(p.Err, errRefused) {
			t.Errorf("the hook was told %+v", p)
		}
		counts, err := e.Counts(t.Context(), 0)
		if err != nil || counts.Calls[view.CallPaused] != 1 {
			t.Errorf("counts: %+v, %v", counts, err)
		}
		audit, err := e.Audit(t.Context(), "x", "")
		if err != nil || len(audit) != 1 || audit[0].By != "" || audit[0].Operation != "pause" || audit[0].Why != "max_attempts" {
			t.Errorf("audit: %+v, %v", audit, err)
		}
		attempts := attemptsOf(t, e, "x")
		same(t, "ledger", attempts[len(attempts)-1].Reason, "max_attempts")

		control(t, e, "x", core.Control{Operation: core.ResumeCall}) // it fails, and waits again
		pass(time.Minute)
		same(t, "state", onlyCall(t, e, "x").State, "paused")
		same(t, "told again", (<-told).Failures, 3)
		f.broken.Store(false)
		control(t, e, "x", core.Control{Operation: core.RetryNow})
		if out, err := finish[string](t, e, "x"); out != "done" || err != nil {
			t.Errorf("got %q, %v", out, err)
		}
		if len(told) > 0 {
			t.Errorf("the hook was told too often: %+v", <-told)
		}
		same(t, "attempts", len(attemptsOf(t, e, "x")), 4)
	})
}

// TestE60_RetryNow: the wait ends, nothing is charged for it; a second time says
// that there is nothing to do; a deadline does not keep what a person wants.
func TestE60_RetryNow(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		f := newFragile(retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(time.Hour), Jitter: retry.NoJitter, Within: 90 * time.Minute, OnExhausted: retry.Pause})
		e := w.start(f.flow, f.activity)
		begin(t, e, f.flow, "x", 1)
		pass(time.Minute)
		records := control(t, e, "x", core.Control{ID: "r1", Operation: core.RetryNow, By: "ann", Reason: "the gateway is back"})
		same(t, "outcomes", verdicts(records), "[retry-now applied]")
		if r := records[0]; r.By != "ann" || r.Why != "the gateway is back" || r.Request != "r1" || r.Call != 1 || r.Name != "fragile" || r.Time.IsZero() {
			t.Errorf("the record is %+v", r)
		}
		pass(time.Minute)
		c := onlyCall(t, e, "x")
		same(t, "charged", c.Failures, 2)
		again := control(t, e, "x", core.Control{ID: "r1", Operation: core.RetryNow, By: "bob"})
		same(t, "the same request", fmt.Sprint(again), fmt.Sprint(records))
		same(t, "ran", f.ran.Load(), 2)

		pass(3 * time.Hour) // the third attempt would come after the deadline
		c = onlyCall(t, e, "x")
		same(t, "state", c.State, "paused")
		f.broken.Store(false)
		control(t, e, "x", core.Control{Operation: core.RetryNow})
		if out, err := finish[string](t, e, "x"); out != "done" || err != nil {
			t.Errorf("got %q, %v", out, err)
		}
	})
}

// TestE60_SkipAndFail: a call ends as a person wants it, whatever it was doing;
// replay sees the same, and it never runs again.
func TestE60_SkipAndFail(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		hangs := activity.New("hangs", func(ctx context.Context, _ int) (string, error) { return "", busy(ctx, 1000*time.Hour) })
		fails := activity.New("fails", func(context.Context, int) (string, error) { return "", errRefused }, activity.Retry(slowRetry))
		flow := workflow.New("flow", func(wf *workflow.Context, _ int) (string, error) {
			first, err := workflow.Call(wf, hangs, 1)
			if err != nil {
				return "", err
			}
			second, err := workflow.Do(wf, "step", func(context.Context) (string, error) { return "", errRefused }, activity.Retry(slowRetry))
			if err != nil {
				return "", err
			}
			_, err = workflow.Call(wf, fails, 2)
			if err := workflow.Sleep(wf, time.Hour); err != nil { // what follows is a replay where runs are evicted
				return "", err
			}
			return fmt.Sprintf("%s %s %v", first, second, errors.Is(err, errRefused)), nil
		})
		e := w.start(flow, hangs, fails)
		begin(t, e, flow, "x", 1)
		pass(time.Minute)
		control(t, e, "x", skipWith(t, "one"))
		pass(time.Minute)
		control(t, e, "x", core.Control{Operation: core.PauseCall, Calls: core.Selection{Name: "step"}})
		if _, err := e.Control(t.Context(), "x", "", skipWith(t, 2)); err == nil || !strings.Contains(err.Error(), "does not fit") {
			t.Errorf("a result that the code cannot read: %v", err)
		}
		control(t, e, "x", skipWith(t, "two"))
		pass(time.Minute)
		control(t, e, "x", failWith(errRefused))
		out, err := finish[string](t, e, "x")
		if err != nil || out != "one two true" {
			t.Errorf("got %q, %v", out, err)
		}
		for _, ev := range eventsOf(t, e, "x") {
			if ev.Kind == history.CallCompleted || ev.Kind == history.CallFailed {
				if ev.By != "ann" || ev.Reason == "" || ev.Operation == "" {
					t.Errorf("%s of call %d does not say who and why: %+v", ev.Kind, ev.Call, ev)
				}
			}
		}
		for _, a := range attemptsOf(t, e, "x") {
			if a.Name == "hangs" && a.Outcome != "canceled" {
				t.Errorf("the attempt in flight is on record as %+v", a)
			}
		}
	})
}

// TestE60_PauseAndResume: in backoff, in flight and in the queue; what is left of
// a backoff is waited for; what was begun may end.
func TestE60_PauseAndResume(t *testing.T) {
	extent.NotInShort(t, "many days")
	inBothModes(t, func(t *testing.T, w *world) {
		f := newFragile(slowRetry)
		e := w.start(f.flow, f.activity)
		begin(t, e, f.flow, "x", 1)
		pass(10 * time.Minute)
		due := *onlyCall(t, e, "x").Next
		control(t, e, "x", core.Control{Operation: core.PauseCall, By: "ann", Reason: "wait for the bank"})
		if c := onlyCall(t, e, "x"); c.State != "paused" || c.Paused.By != "ann" || c.Paused.Why != "wait for the bank" || c.Next != nil {
			t.Errorf("paused: %+v", c)
		}
		same(t, "twice", verdicts(control(t, e, "x", core.Control{Operation: core.PauseCall})), "[pause unchanged]")
		pass(10 * time.Minute)
		control(t, e, "x", core.Control{Operation: core.ResumeCall})
		if c := onlyCall(t, e, "x"); c.State != "backoff" || !c.Next.Equal(due) || c.Paused != nil {
			t.Errorf("resumed: %+v, due %s", c, due)
		}
		same(t, "twice", verdicts(control(t, e, "x", core.Control{Operation: core.ResumeCall})), "[resume unchanged]")
		control(t, e, "x", core.Control{Operation: core.PauseCall})
		pass(100 * time.Hour)
		same(t, "ran", f.ran.Load(), 1)
		f.broken.Store(false)
		control(t, e, "x", core.Control{Operation: core.ResumeCall})
		if out, err := finish[string](t, e, "x"); out != "done" || err != nil {
			t.Errorf("got %q, %v", out, err)
		}
	})
}

// TestE60_PauseOfARunningCall: the attempt may end; a success completes the call,
// a failure is followed by nothing, and neither is a lost attempt.
func TestE60_PauseOfARunningCall(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		var ran atomic.Int32
		slow := activity.New("slow", func(ctx context.Context, n int) (int, error) {
			if err := busy(ctx, time.Hour); err != nil {
				return 0, err
			}
			if ran.Add(1) < 3 && n == 2 {
				return 0, errRefused
			}
			return n, nil
		}, activity.Retry(slowRetry))
		flow := workflow.New("flow", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, slow, n) })
		e := w.start(flow, slow)
		for n := 1; n <= 2; n++ {
			id := fmt.Sprint(n)
			begin(t, e, flow, id, n)
			pass(time.Minute)
			control(t, e, id, core.Control{Operation: core.PauseCall})
			if c := onlyCall(t, e, id); c.State != "running" || c.Paused == nil {
				t.Errorf("%+v", c)
			}
		}
		if out, err := finish[int](t, e, "1"); out != 1 || err != nil {
			t.Errorf("got %d, %v", out, err)
		}
		pass(10 * time.Hour)
		same(t, "state", onlyCall(t, e, "2").State, "paused")
		control(t, e, "2", core.Control{Operation: core.RetryNow})
		pass(time.Minute)
		control(t, e, "2", core.Control{Operation: core.PauseCall})
		w.kill(e)
		e = w.start(flow, slow)
		pass(10 * time.Hour)
		c := onlyCall(t, e, "2")
		same(t, "after a crash", c.State, "paused")
		same(t, "lost", c.LostToCrashes, 1)
		control(t, e, "2", core.Control{Operation: core.ResumeCall})
		if out, err := finish[int](t, e, "2"); out != 2 || err != nil {
			t.Errorf("got %d, %v", out, err)
		}
	})
}

// TestE60_AnEditOfSeveralCalls: an edit changes the field that it names in the policy of each call, and
// what else the policies say stays that of each.
func TestE60_AnEditOfSeveralCalls(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		fails := func(context.Context, int) (int, error) { return 0, errors.New("down") }
		few := activity.New("few", fails, activity.Retry(retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(time.Hour)}))
		many := activity.New("many", fails, activity.Retry(retry.Policy{MaxAttempts: 90, AttemptTimeout: time.Minute, Backoff: retry.Fixed(time.Hour)}))
		flow := workflow.New("flow", func(wf *workflow.Context, n int) (int, error) {
			a, b := workflow.Async(wf, many, n), workflow.Async(wf, few, n)
			_, errA := a.Get(wf)
			_, errB := b.Get(wf)
			return 0, errors.Join(errA, errB)
		})
		e := w.start(flow, few, many)
		begin(t, e, flow, "x", 1)
		pass(time.Minute)
		same(t, "outcomes", verdicts(control(t, e, "x", core.Control{Operation: core.EditPolicy, Change: "[backoff: 2h]"})), "[edit-policy applied edit-policy applied]")
		for _, c := range describe(t, e, "x").Pending {
			if want := map[string]string{"few": "[retry: 2, backoff: 2h] [on-timeout: retry]", "many": "[retry: 89, backoff: 2h] [timeout: 1m, on-timeout: retry]"}[c.Name]; c.Policy != want {
				t.Errorf("%s has %s, want %s", c.Name, c.Policy, want)
			}
		}
	})
}

// TestE60_EditPolicy: the next decision is by the new policy, what was decided
// stays; the same after a replay.
func TestE60_EditPolicy(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		f := newFragile(slowRetry)
		e := w.start(f.flow, f.activity)
		begin(t, e, f.flow, "x", 1)
		pass(time.Minute)
		due := *onlyCall(t, e, "x").Next
		edited := retry.Policy{MaxAttempts: 5, Backoff: retry.Fixed(time.Minute), Jitter: retry.NoJitter}
		in := core.Control{Operation: core.EditPolicy, Policy: &edited, By: "ann", Reason: "the outage is long"}
		if r := control(t, e, "x", in); r[0].Outcome != core.Applied || !strings.Contains(string(r[0].Policy), `"1m"`) {
			t.Errorf("%+v", r)
		}
		same(t, "twice", verdicts(control(t, e, "x", in)), "[edit-policy unchanged]")
		c := onlyCall(t, e, "x")
		same(t, "max", c.Max, 5)
		same(t, "next", c.Next, due)
		w.kill(e)
		e = w.start(f.flow, f.activity)
		pass(time.Until(due) + 2*time.Minute + time.Second)
		same(t, "ran", f.ran.Load(), 4)
		_, err := finish[string](t, e, "x")
		if x, ok := errors.AsType[*retry.ExhaustedError](err); !ok || x.Attempts != 5 || x.Max != 5 {
			t.Errorf("got %v", err)
		}
		bad := retry.Policy{MaxAttempts: -1}
		if _, err := e.Control(t.Context(), "x", "", core.Control{Operation: core.EditPolicy, Policy: &bad}); err == nil || !strings.Contains(err.Error(), "MaxAttempts") {
			t.Errorf("a policy that is not valid: %v", err)
		}
	})
}

// TestE60_Quarantined: resume is refused, retry now runs the call again in the
// probation lane.
func TestE60_Quarantined(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		var told atomic.Int64
		slow := activity.New("slow", func(ctx context.Context, n int) (int, error) { return n, busy(ctx, time.Hour) },
			activity.Retry(retry.Policy{CrashLimit: 1}))
		flow := workflow.New("flow", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, slow, n) })
		config := w.config(flow, slow)
		config.OnPaused = func(p view.PausedCall) {
			if p.State == "quarantined" && p.Reason == "crash_limit" && p.Err == nil {
				told.Add(1)
			}
		}
		e := w.startWith(config)
		begin(t, e, flow, "x", 7)
		pass(time.Minute)
		w.kill(e)
		e = w.startWith(config)
		pass(time.Minute)
		same(t, "state", onlyCall(t, e, "x").State, "quarantined")
		same(t, "told", told.Load(), 1)
		_, err := e.Control(t.Context(), "x", "", core.Control{Operation: core.ResumeCall})
		if refused, ok := errors.AsType[*request.RefusedError](err); !ok || refused.Record.Outcome != core.Refused || !strings.Contains(err.Error(), "retry-now") {
			t.Errorf("resume: %v", err)
		}
		control(t, e, "x", core.Control{Operation: core.RetryNow})
		if out, err := finish[int](t, e, "x"); out != 7 || err != nil {
			t.Errorf("got %d, %v", out, err)
		}
	})
}

// TestE60_NobodyServes: the wait ends with the caller's patience; the request
// stands, and the next owner carries it out, once.
func TestE60_NobodyServes(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		f := newFragile(slowRetry)
		e := w.start(f.flow, f.activity)
		begin(t, e, f.flow, "x", 1)
		pass(time.Minute)
		w.kill(e)
		client := w.open(w.config())
		in := core.Control{ID: "r1", Operation: core.RetryNow}
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := client.Control(ctx, "x", "", in)
			cancel()
			if !errors.Is(err, request.ErrNoAnswer) || !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("got %v", err)
			}
		}
		stop(t, client)
		f.broken.Store(false)
		e = w.start(f.flow, f.activity)
		if out, err := finish[string](t, e, "x"); out != "done" || err != nil {
			t.Errorf("got %q, %v", out, err)
		}
		same(t, "ran", f.ran.Load(), 2)
		records, err := e.Control(t.Context(), "x", "", in) // the answer is kept, the run has ended
		if err != nil || len(records) != 1 || records[0].Outcome != core.Applied {
			t.Errorf("asked later: %+v, %v", records, err)
		}
	})
}
