package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// absences are ways in which the code of a run is away while its inputs arrive.
var absences = map[string]func(t *testing.T, w *world, e *engine.Engine, program seal.Workflow, others ...any) (back func() *engine.Engine){
	"paused": func(t *testing.T, w *world, e *engine.Engine, _ seal.Workflow, _ ...any) func() *engine.Engine {
		control(t, e, "order", core.Control{ID: "p", Operation: core.PauseTheRun, By: "ann"})
		return func() *engine.Engine {
			control(t, e, "order", core.Control{ID: "r", Operation: core.ResumeTheRun, By: "ann"})
			return e
		}
	},
	"missing": func(t *testing.T, w *world, e *engine.Engine, program seal.Workflow, others ...any) func() *engine.Engine {
		stop(t, e)
		without := w.start(others...)
		return func() *engine.Engine {
			stop(t, without)
			return w.start(append(others, program)...)
		}
	},
}

// TestE88_ADeadlineThatPassedFirstWinsWhenTheCodeWasAway: the success of a call that came
// after the deadline of its block is dropped, as it is if the code is there.
func TestE88_ADeadlineThatPassedFirstWinsWhenTheCodeWasAway(t *testing.T) {
	extent.Unwatched(t, "it varies what a deadline is of")
	// Its second attempt succeeds, half an hour after the deadline.
	late := activity.New("late", func(ctx context.Context, _ int) (string, error) {
		if info, _ := activity.FromContext(ctx); info.Attempt == 1 {
			return "", errors.New("not yet")
		}
		return "done", nil
	}, activity.Retry(retry.Policy{MaxAttempts: 2, Backoff: retry.Fixed(90 * time.Minute), Jitter: retry.NoJitter}))
	call := func(wf *workflow.Context) (string, error) { return workflow.Call(wf, late, 0) }
	sleep := func(wf *workflow.Context) (string, error) { return "slept", workflow.Sleep(wf, 90*time.Minute) }
	in := func(fn func(*workflow.Context) (string, error)) map[string]func(*workflow.Context) (string, error) {
		return map[string]func(*workflow.Context) (string, error){
			"Timeout": func(wf *workflow.Context) (string, error) { return workflow.Timeout(wf, time.Hour, fn) },
			"Retry": func(wf *workflow.Context) (string, error) {
				return workflow.Retry(wf, retry.Policy{MaxAttempts: 1, AttemptTimeout: time.Hour}, fn)
			},
		}
	}
	for what, fn := range map[string]func(*workflow.Context) (string, error){"call": call, "sleep": sleep} {
		for verb, block := range in(fn) {
			for how, leave := range absences {
				t.Run(fmt.Sprint(what, " ", verb, " ", how), func(t *testing.T) {
					inBothModes(t, func(t *testing.T, w *world) {
						order := workflow.New("order", func(wf *workflow.Context, _ int) (string, error) {
							s, err := block(wf)
							if timeout := new(retry.TimeoutError); errors.As(err, &timeout) {
								return "timeout", nil
							}
							return s, err
						})
						e := w.start(order, late)
						begin(t, e, order, "order", 0)
						pass(time.Minute)
						back := leave(t, w, e, order, late)
						pass(3 * time.Hour)
						e = back()
						if got, err := finish[string](t, e, "order"); got != "timeout" || err != nil {
							t.Errorf("%q, %v; want the timeout", got, err)
						}
					})
				})
			}
		}
	}
}

// TestE43_R8_ABlockThatWakesUpTooLateStops: a try of a block does not begin when the time
// for it is over, because no engine was there. It ends with that reason, as a call does.
func TestE43_R8_ABlockThatWakesUpTooLateStops(t *testing.T) {
	policy := retry.Policy{MaxAttempts: 5, Within: 15 * time.Second, Backoff: retry.Fixed(10 * time.Second), Jitter: retry.NoJitter}
	for name, c := range map[string]struct {
		down  time.Duration
		tries int
	}{"in time": {12 * time.Second, 2}, "too late": {time.Hour, 1}} {
		t.Run(name, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				var mu sync.Mutex
				tries := map[string]int{}
				work := activity.New("work", func(_ context.Context, who string) (string, error) {
					mu.Lock()
					defer mu.Unlock()
					tries[who]++
					return "", errors.New("again")
				})
				order := workflow.New("order", func(wf *workflow.Context, byBlock bool) (string, error) {
					if byBlock {
						return workflow.Retry(wf, policy, func(wf *workflow.Context) (string, error) {
							return workflow.Call(wf, work, "block", activity.Retry(retry.Never))
						})
					}
					return workflow.Call(wf, work, "call", activity.Retry(policy))
				})
				e := w.start(order, work)
				begin(t, e, order, "block", true)
				begin(t, e, order, "call", false)
				pass(time.Second)
				stop(t, e)
				pass(c.down)
				e = w.start(order, work)
				for _, id := range []string{"block", "call"} {
					demandEnd(t, e, id)
					_, err := finish[string](t, e, id)
					mu.Lock()
					tried := tries[id]
					mu.Unlock()
					exhausted := new(retry.ExhaustedError)
					if !errors.As(err, &exhausted) || exhausted.Reason != retry.ReasonWithin || exhausted.Attempts != c.tries || exhausted.Within != policy.Within || tried != c.tries {
						t.Errorf("%s: %d tries, %v; want %d and the reason within", id, tried, err, c.tries)
					}
				}
			})
		})
	}
}

// TestE90_ABlockInBackoffIsShownAndOperated: a block that waits for its next try is an open
// call in backoff, with its attempt, its last error, its time and its policy; lists find
// it. A person lets it go on now, or gives it another policy.
func TestE90_ABlockInBackoffIsShownAndOperated(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		failures := 2
		work := activity.New("work", func(context.Context, int) (string, error) {
			if failures--; failures >= 0 {
				return "", fmt.Errorf("no network %d", failures)
			}
			return "done", nil
		})
		policy := retry.Policy{MaxAttempts: 4, Backoff: retry.Fixed(time.Hour), Jitter: retry.NoJitter, Within: 90 * time.Minute}
		order := workflow.New("order", func(wf *workflow.Context, _ int) (string, error) {
			return workflow.Retry(wf, policy, func(wf *workflow.Context) (string, error) { return workflow.Call(wf, work, 0) })
		})
		e := w.start(order, work)
		begin(t, e, order, "order", 0)
		began := time.Now().UTC()
		settle()
		listed := func(want bool) {
			t.Helper()
			runs, err := e.List(t.Context(), view.Filter{Call: view.CallBackoff})
			if err != nil || (len(runs) == 1) != want {
				t.Errorf("runs with calls in backoff: %+v, %v", runs, err)
			}
		}
		shown := func(attempt int, lastError string, next time.Time, policy retry.Policy) view.Call {
			t.Helper()
			c := onlyCall(t, e, "order")
			if c.Kind != "block" || c.Name != "workflow.Retry" || c.State != view.CallBackoff || c.Attempt != attempt || c.Failures != attempt-1 || c.Max != policy.AttemptLimit() ||
				!strings.Contains(c.LastError, lastError) || c.LastErrorType != retry.TypeError || c.Next == nil || !c.Next.Equal(next) ||
				c.Policy != policy.String() || c.Deadline == nil || !c.Deadline.Equal(began.Add(policy.Within)) {
				t.Errorf("the block is shown as %+v", c)
			}
			listed(true)
			return c
		}
		c := shown(2, "no network 1", began.Add(time.Hour), policy)

		pass(10 * time.Minute)
		refused := func(in core.Control, why string) {
			t.Helper()
			if r, err := e.Control(t.Context(), "order", "", in); err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%s: %+v, %v", in.Operation, r, err)
			}
		}
		refused(core.Control{ID: "s", Operation: core.PauseCall, Calls: core.Selection{Call: c.Call}, By: "ann"}, "only retry-now and edit-policy")
		if r, err := e.Control(t.Context(), "order", "", core.Control{ID: "p", Operation: core.PauseCall, By: "ann"}); err == nil && r[0].Outcome != core.NotPending {
			t.Errorf("a pause of all calls: %+v", r)
		}
		for _, calls := range []core.Selection{{}, {States: []string{"backoff"}}} {
			if dry, err := e.Preview(t.Context(), "order", core.Control{Operation: core.PauseCall, Calls: calls}); !errors.Is(err, request.ErrNotPending) {
				t.Errorf("a dry run of a pause of %+v selects %+v, %v", calls, dry, err)
			}
		}
		named := core.Control{Operation: core.PauseCall, Calls: core.Selection{Call: c.Call}}
		if dry, err := e.Preview(t.Context(), "order", named); err != nil || len(dry) != 1 || dry[0].Outcome != core.Refused || dry[0].Note != core.RefusesBlocks {
			t.Errorf("a dry run of a pause of the block says %+v, %v", dry, err)
		}
		now := control(t, e, "order", core.Control{ID: "n", Operation: core.RetryNow, Calls: core.Selection{States: []string{"backoff"}}, By: "ann", Reason: "fixed"})
		if len(now) != 1 || now[0].Outcome != core.Applied || now[0].Call != c.Call || now[0].Name != c.Name {
			t.Errorf("retry now: %+v", now)
		}
		settle()
		shown(3, "no network 0", began.Add(70*time.Minute), policy)

		// The time for tries is over when the next one is due, unless the policy changes.
		other := policy
		other.Within, other.MaxAttempts = 3*time.Hour, 3
		edit := core.Control{ID: "e", Operation: core.EditPolicy, Calls: core.Selection{Call: c.Call}, Policy: &other, By: "ann"}
		if r := control(t, e, "order", edit); r[0].Outcome != core.Applied || r[0].Call != c.Call {
			t.Errorf("edit: %+v", r)
		}
		bad := edit
		bad.ID, bad.Policy = "b", &retry.Policy{HeartbeatTimeout: time.Second}
		refused(bad, "HeartbeatTimeout")
		shown(3, "no network 0", began.Add(70*time.Minute), other)
		stop(t, e)
		e = w.start(order, work) // what a person did is on record
		settle()
		shown(3, "no network 0", began.Add(70*time.Minute), other)
		if got, err := finish[string](t, e, "order"); got != "done" || err != nil || time.Since(began) != 70*time.Minute {
			t.Errorf("after %s: %q, %v", time.Since(began), got, err)
		}
		listed(false)
	})
}

// TestE90_TheLedgerCountsTheTriesOfBlocks under a name of their own, so that the calls in
// them are counted as what they are: failed, or a success at the first attempt.
func TestE90_TheLedgerCountsTheTriesOfBlocks(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		work := activity.New("work", func(_ context.Context, in int) (int, error) {
			if in < 3 {
				return 0, errors.New("again")
			}
			return in, nil
		})
		policy := retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(time.Minute), Jitter: retry.NoJitter}
		order := workflow.New("order", func(wf *workflow.Context, from int) (int, error) {
			try := from
			return workflow.Retry(wf, policy, func(wf *workflow.Context) (int, error) {
				try++
				return workflow.Call(wf, work, try)
			})
		})
		e := w.start(order, work)
		complete(t, e, order, "recovered", 0)
		complete(t, e, order, "first", 2)
		begin(t, e, order, "exhausted", -9)
		demandEnd(t, e, "exhausted")
		begin(t, e, order, "canceled", -9)
		pass(time.Second)
		stop(t, e)
		e = w.start(order, work)
		if err := e.Cancel(t.Context(), "canceled", "", request.By{}); err != nil {
			t.Fatal(err)
		}
		demandEnd(t, e, "canceled")
		begin(t, e, order, "terminated", -9)
		settle()
		if err := e.Terminate(t.Context(), "terminated", "", request.By{}); err != nil {
			t.Fatal(err)
		}
		settle()
		same(t, "attempts", outcomes(t, e, "recovered"),
			"2.1 failed max_attempts Error, 4.1 failed max_attempts Error, 6.1 completed succeeded")
		tries, err := e.Attempts(t.Context(), "recovered", "", view.AttemptRange{Call: 1})
		if err != nil || len(tries) != 3 {
			t.Fatalf("the tries of the block: %+v, %v", tries, err)
		}
		for i, want := range []string{"failed backoff Error 1m0s", "failed backoff Error 1m0s", "completed succeeded  0s"} {
			a := tries[i]
			same(t, "try", fmt.Sprint(a.Number, " ", a.Name, " ", a.Outcome, " ", a.Reason, " ", a.ErrorType, " ", a.Delay), fmt.Sprint(i+1, " workflow.Retry ", want))
		}
		found, _, err := e.FindCalls(t.Context(), view.AttemptFilter{Activity: "workflow.Retry", MoreThan: 1})
		if err != nil || len(found) != 2 || found[0].Attempts+found[1].Attempts != 6 {
			t.Errorf("blocks with several tries: %+v, %v", found, err)
		}
		stats, err := e.ActivityStats(t.Context(), time.Time{}, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		same(t, "names", len(stats), 2)
		for _, s := range stats {
			got := fmt.Sprintf("%d calls: %d first try, %d recovered, %d exhausted, %d canceled, %d attempts", s.Calls, s.FirstTry, s.Recovered, s.Exhausted, s.Canceled, s.Attempts)
			want := map[string]string{
				"workflow.Retry": "5 calls: 1 first try, 1 recovered, 1 exhausted, 2 canceled, 9 attempts",
				"work":           "9 calls: 2 first try, 0 recovered, 7 exhausted, 0 canceled, 9 attempts",
			}[s.Name]
			same(t, s.Name, got, want)
		}
	})
}

// TestE63_ABlockIsNotSaidToGiveUp while it goes on, with a wait or without one; what fails in
// it is not the end either.
func TestE63_ABlockIsNotSaidToGiveUp(t *testing.T) {
	for name, backoff := range map[string]retry.Backoff{"at once": {}, "after a second": retry.Fixed(time.Second)} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, w *world) {
				work := activity.New("work", func(context.Context, int) (string, error) { return "", errors.New("no") })
				flow := workflow.New("flow", func(wf *workflow.Context, n int) (string, error) {
					return workflow.RetryCall(wf, retry.Policy{MaxAttempts: 4, Backoff: backoff, Jitter: retry.NoJitter}, work, n)
				})
				j := &journal{}
				c := w.config(flow, work)
				c.Logger = slog.New(slog.NewJSONHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug}))
				e := w.startWith(c)
				begin(t, e, flow, "flow", 0)
				pass(time.Minute)
				var said []string
				for _, event := range []string{"call_gave_up", "attempt_failed", "call_retries"} {
					for _, r := range j.records(t, "event", event) {
						said = append(said, fmt.Sprint(event, " ", r["activity"], " ", r["attempt"]))
					}
				}
				slices.Sort(said)
				same(t, "said", strings.Join(said, ", "), "attempt_failed work 1, attempt_failed work 1, attempt_failed work 1, "+
					"attempt_failed workflow.Retry 3, call_gave_up work 1, call_gave_up workflow.Retry 4, call_retries workflow.Retry 1, call_retries workflow.Retry 2")
			})
		})
	}
}

// TestE43_RetryCallOfWhatEndsOutside: a call that is retried by the workflow's code may be
// completed from outside, and has the policy's heartbeat timeout.
func TestE43_RetryCallOfWhatEndsOutside(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		tries := 0
		ask := activity.New("ask", func(context.Context, int) (string, error) {
			tries++
			return "", activity.ErrPending
		})
		policy := retry.Policy{MaxAttempts: 3, HeartbeatTimeout: time.Minute}
		flow := workflow.New("flow", func(wf *workflow.Context, n int) (string, error) {
			out, err := workflow.RetryCall(wf, policy, ask, n)
			var silent *retry.TimeoutError
			if !errors.As(err, &silent) || silent.Kind != retry.TimeoutHeartbeat {
				return out, fmt.Errorf("a call that was silent ended with %w", err)
			}
			return "silent", nil
		})
		e := w.start(flow, ask)
		begin(t, e, flow, "flow", 0)
		if got, err := finish[string](t, e, "flow"); got != "silent" || err != nil || tries != 3 {
			t.Errorf("got %q, %v after %d tries", got, err, tries)
		}
	})
}
