package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

// calls is a workflow that calls an activity once, with options of the call.
func calls[Out any](a activity.Activity[int, Out], opts ...activity.Option) workflow.Workflow[int, Out] {
	return workflow.New("calls "+a.Name(), func(wf *workflow.Context, n int) (Out, error) {
		return workflow.Call(wf, a, n, opts...)
	})
}

// TestE25_TimeoutIsEnforcedAndTheLateResultFenced: the body neither heeds its
// context nor returns in time. The attempt ends when its time is up, another one
// follows, and what the first one says in the end changes nothing.
func TestE25_TimeoutIsEnforcedAndTheLateResultFenced(t *testing.T) {
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

// TestE25_LateSuccessDoesNotDisturbTheNextAttempt: a result that comes while the
// next attempt runs is dropped.
func TestE25_LateSuccessDoesNotDisturbTheNextAttempt(t *testing.T) {
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
		}, activity.Retry(retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(time.Minute), Jitter: retry.NoJitter}))
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
		run, _, err := e.StartRun(t.Context(), engine.StartRequest{WorkflowID: "run", Type: twice.Name(), Input: input, Trace: trace})
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
				Attempt: i + 1, Max: 3, Final: i == 2,
				Scheduled: began, Started: began.Add(time.Duration(i) * 61 * time.Second),
			}
			if i == 3 {
				want.Activity, want.CallID, want.AttemptID, want.Attempt, want.Max, want.Final = "inline", run+"/2", run+"/2.1", 1, 5, false
				want.Scheduled = began.Add(123 * time.Second)
				want.Started = want.Scheduled
			}
			if !info.Scheduled.Equal(want.Scheduled) || !info.Started.Equal(want.Started) {
				t.Errorf("attempt %d was scheduled %s and started %s, want %s and %s", i+1, info.Scheduled, info.Started, want.Scheduled, want.Started)
			}
			info.Scheduled, info.Started = want.Scheduled, want.Started
			if info != want {
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
func schedule(attempts []engine.Attempt) string {
	if len(attempts) == 1 {
		return "1 attempts"
	}
	wait := attempts[0].Delay.String()
	if d := attempts[0].Delay; d != d.Round(time.Second) && d.Round(time.Second/2) == time.Second {
		wait = "near 1s"
	}
	return fmt.Sprintf("%d attempts, first wait %s", len(attempts), wait)
}

// TestE21_HistoryOfAttempts: attempts that lead to another one leave nothing in
// history; the close event has the summary, except where the first attempt
// succeeded.
func TestE21_HistoryOfAttempts(t *testing.T) {
	policy := retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(10 * time.Second), Jitter: retry.NoJitter}
	for _, test := range []struct {
		fails   int
		want    string
		summary string
	}{
		{0, "ActivityScheduled 1, AttemptStarted 1 (1), CallCompleted 1, RunCompleted 0", "none"},
		{2, "ActivityScheduled 1, AttemptStarted 1 (3), CallCompleted 1, RunCompleted 0",
			"3 attempts in 23000 ms, exhausted false, last failure 2, errors 2: [1 failure 1 @1000 2 failure 2 @12000]"},
		{3, "ActivityScheduled 1, AttemptStarted 1 (3), CallFailed 1, RunFailed 0",
			"3 attempts in 23000 ms, exhausted true, last failure 3, errors 3: [1 failure 1 @1000 2 failure 2 @12000 3 failure 3 @23000]"},
	} {
		t.Run(fmt.Sprint(test.fails, " failures"), func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				work := activity.New("work", func(ctx context.Context, _ int) (int, error) {
					info, _ := activity.FromContext(ctx)
					time.Sleep(time.Second)
					if info.Attempt <= test.fails {
						return 0, fmt.Errorf("failure %d", info.Attempt)
					}
					return 1, nil
				}, activity.Retry(policy))
				once := calls(work)
				e := w.start(once, work)
				began := time.Now()
				begin(t, e, once, "run", 0)
				pass(5 * time.Second) // in backoff, or over
				if n := len(eventsOf(t, e, "run")); test.fails > 0 && n != 1 {
					t.Errorf("while the call is retried the history has %d events, want 1", n)
				}
				finish[int](t, e, "run")
				var got []string
				summary := "none"
				for _, ev := range eventsOf(t, e, "run") {
					line := fmt.Sprintf("%s %d", ev.Kind, ev.Call)
					if ev.Attempt > 0 {
						line += fmt.Sprintf(" (%d)", ev.Attempt)
					}
					got = append(got, line)
					if ev.Retry != nil {
						summary = printSummary(ev.Retry, began)
					}
				}
				if got := strings.Join(got, ", "); got != test.want {
					t.Errorf("the history is %s\nwant %s", got, test.want)
				}
				if summary != test.summary {
					t.Errorf("the summary is %s\nwant %s", summary, test.summary)
				}
			})
		})
	}
}

func printSummary(s *history.Summary, began time.Time) string {
	var errs []string
	for _, e := range s.Errors {
		errs = append(errs, fmt.Sprintf("%d %s @%d", e.Attempt, e.Message, e.At-began.UnixMilli()))
	}
	return fmt.Sprintf("%d attempts in %d ms, exhausted %t, last %s, errors %d: %v",
		s.TotalAttempts, s.TotalDurationMS, s.Exhausted, s.LastError, s.ErrorsTotal, errs)
}

// TestE21_E22_VeryManyAttempts: the summary keeps the first and the last errors
// and the exact count, the ledger the first 100 and the last 1,000 attempts.
func TestE21_E22_VeryManyAttempts(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		const attempts = 1300
		fails := activity.New("fails", func(ctx context.Context, _ int) (int, error) {
			info, _ := activity.FromContext(ctx)
			return 0, fmt.Errorf("failure %d", info.Attempt)
		}, activity.Retry(retry.Policy{MaxAttempts: attempts, Backoff: retry.Fixed(10 * time.Second), Jitter: retry.NoJitter}))
		once := calls(fails)
		e := w.start(once, fails)
		begin(t, e, once, "run", 0)
		_, err := finish[int](t, e, "run")
		if err == nil || !strings.Contains(err.Error(), "failed after 1300 attempts") {
			t.Errorf("got %v", err)
		}
		var kept []int
		for _, a := range attemptsOf(t, e, "run") {
			kept = append(kept, a.Number)
		}
		if len(kept) != 1100 || kept[0] != 1 || kept[99] != 100 || kept[100] != 301 || kept[1099] != 1300 {
			t.Errorf("the ledger has %d attempts, %d to %d and %d to %d", len(kept), kept[0], kept[99], kept[100], kept[len(kept)-1])
		}
		for _, ev := range eventsOf(t, e, "run") {
			if ev.Kind != history.CallFailed {
				continue
			}
			var numbers []int
			for _, e := range ev.Retry.Errors {
				numbers = append(numbers, e.Attempt)
			}
			if fmt.Sprint(numbers) != "[1 2 3 4 5 1296 1297 1298 1299 1300]" || ev.Retry.ErrorsTotal != attempts || ev.Retry.TotalAttempts != attempts {
				t.Errorf("the summary has the errors %v of %d, %d attempts", numbers, ev.Retry.ErrorsTotal, ev.Retry.TotalAttempts)
			}
		}
	})
}

// TestE22_Ledger: what the record of an attempt says.
func TestE22_Ledger(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		work := activity.New("work", func(ctx context.Context, _ int) (int, error) {
			info, _ := activity.FromContext(ctx)
			time.Sleep(time.Second)
			switch info.Attempt {
			case 1:
				return 0, fmt.Errorf("wrapped: %w", &declinedError{Code: 7})
			case 2:
				panic("boom")
			}
			return 1, nil
		}, activity.Retry(retry.Policy{
			Backoff: retry.Fixed(10 * time.Second), Jitter: retry.NoJitter,
			Rules: []retry.Rule{{Types: []string{"Other"}, MaxAttempts: 9}, {Types: []string{"Declined"}, Backoff: retry.Fixed(3 * time.Second)}},
		}))
		once := calls(work)
		e := w.start(once, work)
		at := time.Now().UTC()
		run := begin(t, e, once, "run", 0)
		finish[int](t, e, "run")
		stack := ""
		after := func(d time.Duration) *time.Time { t := at.Add(d); return &t }
		got := attemptsOf(t, e, "run")
		node := got[0].Node
		want := []engine.Attempt{
			{Call: 1, Name: "work", Number: 1, ID: run + "/1.1", Outcome: "failed", Reason: "backoff", ErrorType: "Declined", Message: "wrapped: declined with code 7",
				Node: node, Queued: after(0), Started: after(0), Ended: after(time.Second), Delay: 3 * time.Second, Next: after(4 * time.Second), Rule: 2},
			{Call: 1, Name: "work", Number: 2, ID: run + "/1.2", Outcome: "failed", Reason: "backoff", ErrorType: "Panic", Message: "panic: boom",
				Node: node, Queued: after(4 * time.Second), Started: after(4 * time.Second), Ended: after(5 * time.Second), Delay: 10 * time.Second, Next: after(15 * time.Second)},
			{Call: 1, Name: "work", Number: 3, ID: run + "/1.3", Outcome: "completed", Reason: "succeeded",
				Node: node, Queued: after(15 * time.Second), Started: after(15 * time.Second), Ended: after(16 * time.Second)},
		}
		if len(got) != 3 {
			t.Fatalf("there are %d attempts", len(got))
		}
		stack, got[1].Stack = got[1].Stack, ""
		for i := range got {
			if fmt.Sprint(flat(got[i])) != fmt.Sprint(flat(want[i])) {
				t.Errorf("attempt %d is\n%v\nwant\n%v", i+1, flat(got[i]), flat(want[i]))
			}
		}
		if !strings.Contains(stack, "attempt_test.go") {
			t.Errorf("the stack of the panic does not lead to the code:\n%s", stack)
		}
		if !strings.HasPrefix(node, "node/") {
			t.Errorf("the node is %q", node)
		}
	})
}

type declinedError struct{ Code int }

func (e *declinedError) Error() string     { return fmt.Sprintf("declined with code %d", e.Code) }
func (e *declinedError) ErrorType() string { return "Declined" }

// flat is an attempt without pointers.
func flat(a engine.Attempt) []any {
	text := func(t *time.Time) string {
		if t == nil {
			return "-"
		}
		return t.Format(time.RFC3339Nano)
	}
	return []any{a.Call, a.Name, a.Number, a.ID, a.Outcome, a.Reason, a.ErrorType, a.Message, a.Node,
		text(a.Queued), text(a.Started), text(a.Ended), a.Delay, text(a.Next), a.Rule}
}

// TestE23_DescribePendingCalls: at every stage of an activity, from any process.
func TestE23_DescribePendingCalls(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		work := activity.New("work", func(ctx context.Context, _ int) (int, error) {
			info, _ := activity.FromContext(ctx)
			if err := busy(ctx, 10*time.Second); err != nil {
				return 0, err
			}
			if info.Attempt == 1 {
				return 0, &declinedError{Code: 1}
			}
			return 1, nil
		}, activity.Retry(retry.Policy{MaxAttempts: 4, Backoff: retry.Fixed(20 * time.Second), Jitter: retry.NoJitter, Within: time.Hour}))
		once := calls(work)
		blocked := workflow.New("waits", func(wf *workflow.Context, _ int) (int, error) {
			workflow.Select(wf, workflow.NewTimer(wf, time.Hour), workflow.ReceiveAsync(wf, proceed))
			return 0, nil
		})
		config := w.config(once, blocked, work)
		config.Concurrency = 1
		e, client := w.startWith(config), w.open(w.config())
		began := time.Now().UTC()
		at := func(d time.Duration) *time.Time { t := began.Add(d); return &t }
		begin(t, e, once, "first", 0)
		begin(t, e, once, "second", 0)
		settle()

		check := func(id string, want engine.PendingCall) {
			t.Helper()
			for _, from := range []*engine.Engine{e, client} {
				got := onlyCall(t, from, id)
				if (got.Node != "") != (want.State == "running") {
					t.Errorf("%s is %s on node %q", id, got.State, got.Node)
				}
				want.Call, want.Kind, want.Name, want.Max, want.Scheduled, want.Deadline = 1, "activity", "work", 4, began, at(time.Hour)
				if got, want := pendingLine(got), pendingLine(want); got != want {
					t.Errorf("%s:\ngot  %s\nwant %s", id, got, want)
				}
			}
		}
		failed := engine.PendingCall{Attempt: 2, Failures: 1, LastError: "declined with code 1", LastErrorType: "Declined"}
		with := func(p engine.PendingCall, state string, next *time.Time) engine.PendingCall {
			p.State, p.Next = state, next
			return p
		}
		fresh := engine.PendingCall{Attempt: 1}
		check("first", with(fresh, "running", nil))
		check("second", with(fresh, "queued", nil))
		pass(15 * time.Second)
		check("first", with(failed, "backoff", at(30*time.Second)))
		check("second", with(fresh, "running", nil))
		pass(20 * time.Second)
		check("first", with(failed, "running", nil))
		check("second", with(failed, "backoff", at(40*time.Second)))
		pass(6 * time.Second)
		if d := describe(t, client, "first"); d.Status != "completed" || len(d.Pending) != 0 || d.Result.String() != "1" || d.Closed == nil {
			t.Errorf("at the end the first run is %+v", d)
		}

		begin(t, e, blocked, "waits", 0)
		settle()
		d := describe(t, client, "waits")
		if len(d.Pending) != 2 || d.Pending[0].Kind != "timer" || d.Pending[0].State != "waiting" || !d.Pending[0].Next.Equal(began.Add(41*time.Second+time.Hour)) ||
			d.Pending[1].Kind != "signal" || d.Pending[1].Name != "proceed" || d.Pending[1].State != "waiting" {
			t.Errorf("pending are %+v", d.Pending)
		}
	})
}

func pendingLine(p engine.PendingCall) string {
	text := func(t *time.Time) string {
		if t == nil {
			return "-"
		}
		return t.UTC().Format(time.RFC3339Nano)
	}
	return fmt.Sprint(p.Call, p.Kind, p.Name, p.State, " attempt ", p.Attempt, " of ", p.Max, " failures ", p.Failures, " lost ", p.LostToCrashes,
		" next ", text(p.Next), " deadline ", text(p.Deadline), " last ", p.LastErrorType, ": ", p.LastError, " scheduled ", text(&p.Scheduled))
}

// TestE5_CrashInBackoff: the retry fires at the time first recorded, not before,
// not later, and its jitter is not drawn again.
func TestE5_CrashInBackoff(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
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

// TestE5_DueWhileDown: what came due while nobody served the database fires at
// once when somebody does.
func TestE5_DueWhileDown(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
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
		counts, err := e.Counts(t.Context())
		if err != nil || len(counts.Calls) != 0 || counts.Runs[store.Completed] != 5 {
			t.Errorf("at the end there are %+v, %v", counts, err)
		}
	})
}
