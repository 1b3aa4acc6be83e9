package engine_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// TestE22_FiveThousandAttempts of one call, with crashes, shutdowns and another
// node on the way: the ledger keeps the first and the last ones, says how many are
// missing, and its sums are exact.
func TestE22_FiveThousandAttempts(t *testing.T) {
	needsNumbers.inBothModes(t, func(t *testing.T, w *world) {
		const attempts = 5000
		var ran time.Duration // at most one attempt at a time
		fails := activity.New("fails", func(ctx context.Context, _ int) (int, error) {
			info, _ := activity.FromContext(ctx)
			d := time.Duration(info.Attempt%7) * time.Millisecond
			if err := busy(ctx, d); err != nil {
				return 0, err
			}
			ran += d
			if info.Attempt >= attempts {
				return 1, nil
			}
			return 0, &declinedError{Code: info.Attempt}
		}, activity.Retry(retry.Policy{MaxAttempts: retry.Unlimited, Within: retry.Forever, Backoff: retry.Fixed(10 * time.Second), Jitter: retry.NoJitter}))
		once := calls(fails)
		e := w.start(once, fails)
		begin(t, e, once, "run", 0)
		for n := range 4 {
			pass(3*time.Hour + 5*time.Second) // in a backoff
			if n%2 == 0 {
				w.kill(e)
			} else {
				stop(t, e)
			}
			e = w.start(once, fails)
		}
		if got, err := finish[int](t, e, "run"); got != 1 || err != nil {
			t.Fatalf("got %d, %v", got, err)
		}
		list := attemptsOf(t, e, "run")
		const kept = core.FirstAttempts + core.LastAttempts
		if len(list) != kept || list[99].Number != 100 || list[99].NotKept != 0 || list[100].Number != 4001 || list[100].NotKept != attempts-kept || list[101].NotKept != 0 {
			t.Errorf("%d attempts are kept; the gap is before attempt %d and leaves out %d", len(list), list[100].Number, list[100].NotKept)
		}
		of, err := e.Calls(t.Context(), "run", "", view.CallRange{})
		if err != nil || len(of) != 1 {
			t.Fatal(of, err)
		}
		found, next, err := e.FindCalls(t.Context(), view.AttemptFilter{MoreThan: attempts - 1})
		if err != nil || len(found) != 1 || next != "" || fmt.Sprint(flatCall(found[0])) != fmt.Sprint(flatCall(of[0])) {
			t.Errorf("among all calls it is %v, %v\nand alone %v", found, err, of)
		}
		c := of[0]
		if c.Attempts != attempts || c.Failed != attempts-1 || c.Completed != 1 || c.Lost+c.Drained+c.TimedOut+c.Canceled != 0 || c.NotKept != attempts-kept {
			t.Errorf("the sums are %+v", c)
		}
		if c.Run != ran || c.Backoff != (attempts-1)*10*time.Second {
			t.Errorf("the bodies ran for %s and backed off for %s, on record are %s and %s", ran, (attempts-1)*10*time.Second, c.Run, c.Backoff)
		}
		if !c.First.Equal(*list[0].Queued) || !c.Last.Equal(*list[len(list)-1].Ended) || c.Retrying != c.Last.Sub(*list[0].Ended) {
			t.Errorf("from %s to %s, retrying for %s", c.First, c.Last, c.Retrying)
		}
		stats, err := e.ErrorStats(t.Context(), view.AttemptFilter{})
		if err != nil || len(stats) != 1 || stats[0].Attempts != kept-1 || stats[0].Calls != 1 || stats[0].RecoveredShare != 1 || stats[0].Example.Number != attempts-1 {
			t.Errorf("the errors are %+v, %v", stats, err)
		}
	})
}

func flatCall(c view.CallAttempts) view.CallAttempts {
	c.First, c.Last = nil, nil
	return c
}

// TestE22_AcrossRuns: pages, filters and statistics over many runs of two workflows.
func TestE22_AcrossRuns(t *testing.T) {
	needsQueries.inBothModes(t, func(t *testing.T, w *world) {
		policy := activity.Retry(retry.Policy{MaxAttempts: 4, Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter})
		body := func(ctx context.Context, n int) (int, error) { // fails n times
			if info, _ := activity.FromContext(ctx); info.Attempt <= n {
				return 0, &declinedError{Code: info.Attempt}
			}
			return n, nil
		}
		pay, ship := activity.New("pay", body, policy), activity.New("ship", body, policy)
		order := workflow.New("order", func(wf *workflow.Context, n int) (int, error) {
			for range 3 {
				if _, err := workflow.Call(wf, ship, 0); err != nil {
					return 0, err
				}
			}
			return workflow.Call(wf, pay, n)
		})
		refund := calls(pay)
		e := w.start(order, refund, pay, ship)
		client := w.open(w.config())
		for i := range 12 {
			if i%2 == 0 {
				begin(t, e, order, fmt.Sprint("order-", i), i/2)
			} else {
				begin(t, e, refund, fmt.Sprint("refund-", i), i/2)
			}
		}
		pass(time.Minute)

		all, next, err := client.FindAttempts(t.Context(), view.AttemptFilter{})
		// Of each workflow: 2, 3, 4 attempts of calls that recover, and twice 4 of
		// one that does not; none of those that succeed at once.
		if want := 2 * (2 + 3 + 4 + 4 + 4); err != nil || next != "" || len(all) != want {
			t.Fatalf("there are %d attempts, want %d: %v", len(all), want, err)
		}
		var paged []view.FoundAttempt
		for filter := (view.AttemptFilter{Limit: 5}); ; {
			page, next, err := client.FindAttempts(t.Context(), filter)
			if err != nil {
				t.Fatal(err)
			}
			if paged = append(paged, page...); next == "" {
				break
			}
			filter.After = next
		}
		for i := range all {
			if i >= len(paged) || paged[i].ID != all[i].ID {
				t.Fatalf("by pages attempt %d of %d is another one than at once", i, len(paged))
			}
		}
		count := func(f view.AttemptFilter) int {
			found, _, err := client.FindAttempts(t.Context(), f)
			if err != nil {
				t.Error(err)
			}
			return len(found)
		}
		for _, test := range []struct {
			filter view.AttemptFilter
			want   int
		}{
			{view.AttemptFilter{Workflow: "order"}, 17}, {view.AttemptFilter{Activity: "ship"}, 0}, {view.AttemptFilter{Outcome: "completed"}, 6},
			{view.AttemptFilter{Reason: "max_attempts"}, 4}, {view.AttemptFilter{ErrorType: "Declined", Workflow: "order"}, 14},
			{view.AttemptFilter{Until: time.Now().Add(-59500 * time.Millisecond)}, 10}, {view.AttemptFilter{Since: time.Now()}, 0},
		} {
			if got := count(test.filter); got != test.want {
				t.Errorf("%+v finds %d attempts, want %d", test.filter, got, test.want)
			}
		}
		long, _, err := client.FindCalls(t.Context(), view.AttemptFilter{MoreThan: 3})
		if err != nil || len(long) != 6 || long[0].Attempts != 4 {
			t.Errorf("more than 3 attempts had %+v, %v", long, err)
		}
		judgeActivities(t, client)
		for _, bad := range []view.AttemptFilter{{Limit: -1}, {MoreThan: -1}, {After: "x"}, {After: "W10"}, {After: "WzFd"}} {
			if _, _, err := client.FindAttempts(t.Context(), bad); err == nil {
				t.Errorf("%+v is accepted", bad)
			}
		}
	})
}

func judgeActivities(t *testing.T, e *engine.Engine) {
	t.Helper()
	stats, err := e.ActivityStats(t.Context(), time.Now(), time.Time{})
	if err != nil || len(stats) != 3 {
		t.Fatal(stats, err)
	}
	for i, want := range []view.ActivityStats{
		{Workflow: "calls pay", Name: "pay", Calls: 6, FirstTry: 1, Recovered: 3, Exhausted: 2, Attempts: 18, Retrying: 12 * time.Second},
		{Workflow: "order", Name: "pay", Calls: 6, FirstTry: 1, Recovered: 3, Exhausted: 2, Attempts: 18, Retrying: 12 * time.Second},
		{Workflow: "order", Name: "ship", Calls: 18, FirstTry: 18, Attempts: 18},
	} {
		got := stats[i]
		rates := []float64{got.FirstTryRate, got.AttemptsPerCall, got.MeanRetrying.Seconds()}
		for j, r := range [][]float64{{1. / 6, 3, 2.4}, {1. / 6, 3, 2.4}, {1, 1, 0}}[i] {
			if math.Abs(rates[j]-r) > 1e-9 {
				t.Errorf("the rates of %s in %s are %v", got.Name, got.Workflow, rates)
			}
		}
		got.FirstTryRate, got.AttemptsPerCall, got.MeanRetrying = 0, 0, 0
		if got != want {
			t.Errorf("counted are\n%+v\nwant\n%+v", got, want)
		}
	}
}
