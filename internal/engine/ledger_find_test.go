package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// TestE22_FiveThousandAttempts of one call, with crashes, shutdowns and another
// node on the way: the ledger keeps the first and the last ones, says how many are
// missing, and its sums are exact.
func TestE22_FiveThousandAttempts(t *testing.T) {
	extent.NotInShort(t, "very many attempts")
	inBothModes(t, func(t *testing.T, w *world) {
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
