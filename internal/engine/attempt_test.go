package engine_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// calls is a workflow that calls an activity once, with options of the call.
func calls[Out any](a activity.Activity[int, Out], opts ...activity.Option) workflow.Workflow[int, Out] {
	return workflow.New("calls "+a.Name(), func(wf *workflow.Context, n int) (Out, error) {
		return workflow.Call(wf, a, n, opts...)
	})
}

// TestE8_E25_TimeoutIsEnforcedAndTheLateResultFenced: the body neither heeds its
// context nor returns in time. The attempt ends when its time is up, another one
// follows, and what the first one says in the end changes nothing.
func TestE8_E25_TimeoutIsEnforcedAndTheLateResultFenced(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		var causes []error
		work := activity.New("work", func(ctx context.Context, _ int) (string, error) {
			info, _ := activity.FromContext(ctx)
			if info.Attempt == 1 {
				time.Sleep(10 * time.Second)
				causes = append(causes, context.Cause(ctx))
				return "late", nil
			}
			time.Sleep(20 * time.Second)
			return "in time", nil
		})
		short := calls(work, activity.Retry(retry.Policy{
			AttemptTimeout: time.Second, Backoff: retry.Fixed(2 * time.Second), Jitter: retry.NoJitter, MaxAttempts: 2, Within: time.Hour,
		}))
		e := w.start(short, work)
		began := time.Now()
		begin(t, e, short, "run", 0)
		pass(1500 * time.Millisecond)
		if p := onlyCall(t, e, "run"); p.State != "backoff" || p.LastErrorType != retry.TypeTimeout || p.Attempt != 2 {
			t.Errorf("after its timeout the call is %+v", p)
		}
		_, err := finish[string](t, e, "run")
		var timeout *retry.TimeoutError
		if !errors.As(err, &timeout) || timeout.Limit != time.Second {
			t.Errorf("got %v, want a timeout", err)
		}
		// One second, two of backoff, one second: each attempt has its own time.
		if took := time.Since(began); took != 4*time.Second {
			t.Errorf("it took %s, want 4s", took)
		}
		pass(time.Minute)
		if got := outcomes(t, e, "run"); got != "1.1 timed-out backoff Timeout, 1.2 timed-out max_attempts Timeout" {
			t.Errorf("the attempts are %s", got)
		}
		if len(causes) != 1 || !errors.As(causes[0], &timeout) {
			t.Errorf("the body was told %v", causes)
		}
		if err := e.Health(); err != nil {
			t.Errorf("when all bodies returned Health says %v", err)
		}
	})
}

// TestE8_E25_LateSuccessDoesNotDisturbTheNextAttempt: a result that comes while the
// next attempt runs is dropped.
func TestE8_E25_LateSuccessDoesNotDisturbTheNextAttempt(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		work := activity.New("work", func(ctx context.Context, n int) (string, error) {
			if info, _ := activity.FromContext(ctx); n == 0 && info.Attempt == 1 {
				time.Sleep(10 * time.Second)
				return "late", nil
			}
			return "in time", busy(ctx, 20*time.Second)
		})
		block := workflow.New("block", func(wf *workflow.Context, _ int) (string, error) {
			// The first call times out, and its second attempt loses the race. When
			// the late result comes, a third attempt runs for another call.
			first := workflow.Async(wf, work, 0, activity.Retry(retry.Policy{AttemptTimeout: 5 * time.Second, Backoff: retry.None}))
			workflow.Select(wf, first, workflow.NewTimer(wf, 7*time.Second))
			return workflow.Call(wf, work, 1)
		})
		e := w.start(block, work)
		if got := complete(t, e, block, "run", 0); got != "in time" {
			t.Errorf("got %q", got)
		}
		if got := outcomes(t, e, "run"); got != "1.1 timed-out immediate Timeout, 1.2 canceled canceled, 3.1 completed succeeded" {
			t.Errorf("the attempts are %s", got)
		}
	})
}

// outcomes prints the attempts of a run in short.
func outcomes(t *testing.T, e *engine.Engine, id string) string {
	t.Helper()
	var list []string
	for _, a := range attemptsOf(t, e, id) {
		list = append(list, strings.TrimSpace(fmt.Sprintf("%d.%d %s %s %s", a.Call, a.Number, a.Outcome, a.Reason, a.ErrorType)))
	}
	return strings.Join(list, ", ")
}

// TestE26_InfoAndIdempotencyKey: what a body can know of its attempt.
func TestE26_InfoAndIdempotencyKey(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		var infos []activity.Info
		var keys []string
		work := activity.New("work", func(ctx context.Context, n int) (int, error) {
			info, ok := activity.FromContext(ctx)
			if !ok {
				t.Error("the context has no info")
			}
			infos, keys = append(infos, info), append(keys, activity.IdempotencyKey(ctx))
			time.Sleep(time.Second)
			if info.Attempt < 3 {
				return 0, errors.New("again")
			}
			return n, nil
		}, activity.Retry(retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(time.Minute), Jitter: retry.NoJitter, AttemptTimeout: time.Hour}))
		twice := workflow.New("twice", func(wf *workflow.Context, n int) (int, error) {
			if _, err := workflow.Call(wf, work, n); err != nil {
				return 0, err
			}
			return workflow.Do(wf, "inline", func(ctx context.Context) (int, error) {
				info, _ := activity.FromContext(ctx)
				infos, keys = append(infos, info), append(keys, activity.IdempotencyKey(ctx))
				return n, nil
			})
		})
		e := w.start(twice, work)
		began := time.Now()
		trace := "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		input, _ := history.Encode(1)
		run, _, err := e.StartRun(t.Context(), request.Start{WorkflowID: "run", Type: twice.Name(), Input: input, Trace: trace})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := finish[int](t, e, "run"); err != nil {
			t.Fatal(err)
		}
		if len(infos) != 4 {
			t.Fatalf("there were %d attempts, want 4", len(infos))
		}
		for i, info := range infos {
			want := activity.Info{
				WorkflowID: "run", RunID: run, Workflow: "twice", Activity: "work", Trace: trace,
				CallID: run + "/1", AttemptID: fmt.Sprintf("%s/1.%d", run, i+1),
				Attempt: i + 1, Max: 3, Allowed: 3, Final: i == 2,
				Scheduled: began, Started: began.Add(time.Duration(i) * 61 * time.Second),
			}
			if i == 3 {
				want.Activity, want.CallID, want.AttemptID, want.Attempt, want.Max, want.Allowed, want.Final = "inline", run+"/2", run+"/2.1", 1, 5, 5, false
				want.Scheduled = began.Add(123 * time.Second)
				want.Started = want.Scheduled
			}
			if deadline := want.Started.Add(time.Hour); i < 3 && !info.Deadline.Equal(deadline) || i == 3 && !info.Deadline.IsZero() {
				t.Errorf("attempt %d must end until %s, want %s", i+1, info.Deadline, deadline)
			}
			info.Deadline = want.Deadline
			if !info.Scheduled.Equal(want.Scheduled) || !info.Started.Equal(want.Started) {
				t.Errorf("attempt %d was scheduled %s and started %s, want %s and %s", i+1, info.Scheduled, info.Started, want.Scheduled, want.Started)
			}
			info.Scheduled, info.Started = want.Scheduled, want.Started
			if !reflect.DeepEqual(info, want) {
				t.Errorf("attempt %d:\ngot  %+v\nwant %+v", i+1, info, want)
			}
			if keys[i] != want.CallID {
				t.Errorf("attempt %d has the idempotency key %q, want %q", i+1, keys[i], want.CallID)
			}
		}
	})
}

// TestE20_PolicyResolution: the call's policy, else the activity's, else the
// engine's, else the default; always the whole policy.
func TestE20_PolicyResolution(t *testing.T) {
	fixed := func(attempts int, wait time.Duration) *retry.Policy {
		return &retry.Policy{MaxAttempts: attempts, Backoff: retry.Fixed(wait), Jitter: retry.NoJitter}
	}
	only := &retry.Policy{MaxAttempts: 2, Jitter: retry.NoJitter} // its backoff is the default's
	for _, test := range []struct {
		name                   string
		engine, activity, call *retry.Policy
		want                   string
	}{
		{"nobody", nil, nil, nil, "5 attempts, first wait near 1s"},
		{"engine", fixed(3, 7*time.Second), nil, nil, "3 attempts, first wait 7s"},
		{"activity", fixed(3, 7*time.Second), fixed(4, 5*time.Second), nil, "4 attempts, first wait 5s"},
		{"call", fixed(3, 7*time.Second), fixed(4, 5*time.Second), fixed(2, 2*time.Second), "2 attempts, first wait 2s"},
		{"no field of the engine's is mixed in", fixed(3, 7*time.Second), only, nil, "2 attempts, first wait 1s"},
		{"no field of the activity's is mixed in", nil, fixed(4, 5*time.Second), only, "2 attempts, first wait 1s"},
		{"never at the call", fixed(3, 7*time.Second), fixed(4, 5*time.Second), &retry.Never, "1 attempts"},
		{"never at the activity", fixed(3, 7*time.Second), &retry.Never, nil, "1 attempts"},
		{"never at the engine", &retry.Never, nil, nil, "1 attempts"},
		{"the zero policy at the call is a policy", fixed(3, 7*time.Second), fixed(4, 5*time.Second), &retry.Policy{}, "5 attempts, first wait near 1s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				var options, opts []activity.Option
				if test.activity != nil {
					options = append(options, activity.Retry(*test.activity))
				}
				if test.call != nil {
					opts = append(opts, activity.Retry(*test.call))
				}
				fails := activity.New("fails", func(context.Context, int) (int, error) { return 0, errors.New("no") }, options...)
				once := calls(fails, opts...)
				step := workflow.New("step", func(wf *workflow.Context, _ int) (int, error) {
					return workflow.Do(wf, "inline", func(context.Context) (int, error) { return 0, errors.New("no") }, append(options, opts...)...)
				})
				config := w.config(once, step, fails)
				if test.engine != nil {
					config.Policy = *test.engine
				}
				e := w.startWith(config)
				begin(t, e, once, "activity", 0)
				begin(t, e, step, "step", 0)
				for _, id := range []string{"activity", "step"} {
					if _, err := finish[int](t, e, id); err == nil {
						t.Error("it succeeded")
					}
					if got := schedule(attemptsOf(t, e, id)); got != test.want {
						t.Errorf("%s: %s, want %s", id, got, test.want)
					}
				}
			})
		})
	}
}

// schedule tells policies apart by what they lead to.
func schedule(attempts []view.Attempt) string {
	if len(attempts) == 1 {
		return "1 attempts"
	}
	wait := attempts[0].Delay.String()
	if d := attempts[0].Delay; d != d.Round(time.Second) && d.Round(time.Second/2) == time.Second {
		wait = "near 1s"
	}
	return fmt.Sprintf("%d attempts, first wait %s", len(attempts), wait)
}
