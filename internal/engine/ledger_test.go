package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

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
			needsQueries.inBothModes(t, func(t *testing.T, w *world) {
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
	needsNumbers.inBothModes(t, func(t *testing.T, w *world) {
		const attempts = 1300
		fails := activity.New("fails", func(ctx context.Context, _ int) (int, error) {
			info, _ := activity.FromContext(ctx)
			return 0, fmt.Errorf("failure %d", info.Attempt)
		}, activity.Retry(retry.Policy{MaxAttempts: attempts, Backoff: retry.Fixed(10 * time.Second), Jitter: retry.NoJitter}))
		once := calls(fails)
		e := w.start(once, fails)
		begin(t, e, once, "run", 0)
		_, err := finish[int](t, e, "run")
		if err == nil || !strings.Contains(err.Error(), "gave up after 1300 attempts") {
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
	needsQueries.inBothModes(t, func(t *testing.T, w *world) {
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
		want := []view.Attempt{
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
		if !strings.Contains(stack, "ledger_test.go") {
			t.Errorf("the stack of the panic does not lead to the code:\n%s", stack)
		}
		if !strings.HasPrefix(node, "node/") {
			t.Errorf("the node is %q", node)
		}
	})
}

type declinedError struct{ Code int }

func (e *declinedError) Error() string { return fmt.Sprintf("declined with code %d", e.Code) }

func (e *declinedError) ErrorType() string { return "Declined" }

// flat is an attempt without pointers.
func flat(a view.Attempt) []any {
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
	needsQueries.inBothModes(t, func(t *testing.T, w *world) {
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
		scheduled := map[string]time.Time{"first": began}
		at := func(d time.Duration) *time.Time { t := began.Add(d); return &t }
		begin(t, e, once, "first", 0)
		begin(t, e, once, "second", 0)
		inLine()
		scheduled["second"] = onlyCall(t, e, "second").Scheduled // when it began without a slot

		check := func(id string, want view.Call) {
			t.Helper()
			for _, from := range []*engine.Engine{e, client} {
				got := onlyCall(t, from, id)
				if (got.Node != "") != (want.State == "running") {
					t.Errorf("%s is %s on node %q", id, got.State, got.Node)
				}
				want.Call, want.Kind, want.Name, want.Max, want.Scheduled, want.Deadline = 1, "activity", "work", 4, scheduled[id], new(scheduled[id].Add(time.Hour))
				want.Policy = "[retry: 3, fixed: 20s, jitter: none] [within: 1h, on-timeout: retry]"
				if got, want := pendingLine(got), pendingLine(want); got != want {
					t.Errorf("%s:\ngot  %s\nwant %s", id, got, want)
				}
			}
		}
		failed := view.Call{Attempt: 2, Failures: 1, LastError: "declined with code 1", LastErrorType: "Declined"}
		with := func(p view.Call, state string, next *time.Time) view.Call {
			p.State, p.Next = state, next
			return p
		}
		fresh := view.Call{Attempt: 1}
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
		inLine()
		d := describe(t, client, "waits")
		if len(d.Pending) != 2 || d.Pending[0].Kind != "timer" || d.Pending[0].State != "waiting" || !d.Pending[0].Next.Equal(d.Pending[0].Scheduled.Add(time.Hour)) ||
			d.Pending[1].Kind != "signal" || d.Pending[1].Name != "proceed" || d.Pending[1].State != "waiting" {
			t.Errorf("pending are %+v", d.Pending)
		}
	})
}

func pendingLine(p view.Call) string {
	text := func(t *time.Time) string {
		if t == nil {
			return "-"
		}
		return t.UTC().Format(time.RFC3339Nano)
	}
	return fmt.Sprint(p.Call, p.Kind, p.Name, p.State, " attempt ", p.Attempt, " of ", p.Max, " failures ", p.Failures, " lost ", p.LostToCrashes,
		" next ", text(p.Next), " deadline ", text(p.Deadline), " last ", p.LastErrorType, ": ", p.LastError, " scheduled ", text(&p.Scheduled), " policy ", p.Policy)
}
