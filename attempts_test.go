package perdure_test

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// TestF53_AttemptsInParts: the parts of a run's attempts, and of the sums of its calls, are the
// whole, wherever they are cut; and a part is read without the history before it and behind it.
func TestF53_AttemptsInParts(t *testing.T) {
	extent.NotInShort(t, "one goroutine reads many attempts, cut in every way")
	synctest.Test(t, func(t *testing.T) {
		policy := activity.Retry(retry.Policy{MaxAttempts: 1300, Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter})
		flaky := activity.New("flaky", func(ctx context.Context, fails int) (int, error) {
			time.Sleep(time.Duration(1+fails%10) * 100 * time.Millisecond) // so that they end in another order
			if info, _ := activity.FromContext(ctx); info.Attempt <= fails {
				return 0, errors.New("once more")
			}
			return fails, nil
		}, policy)
		never := activity.New("never", func(context.Context, int) (int, error) { return 0, activity.ErrPending }, activity.Retry(retry.Policy{AttemptTimeout: 1000 * time.Hour}))
		wide := workflow.New("wide", func(wf *workflow.Context, n int) (int, error) {
			stubborn := workflow.Async(wf, flaky, 1250)
			var open workflow.Future[int]
			for i := range n {
				var calls []workflow.Future[int]
				for k := range 5 {
					calls = append(calls, workflow.Async(wf, flaky, (i*7+k*3)%4))
				}
				if i == n/2 {
					open = workflow.Async(wf, never, 1)
				}
				if err := workflow.Sleep(wf, time.Second); err != nil {
					return 0, err
				}
				for _, f := range calls {
					if _, err := f.Get(wf); err != nil {
						return 0, err
					}
				}
			}
			if _, err := stubborn.Get(wf); err != nil {
				return 0, err
			}
			return open.Get(wf)
		})
		db := &counting{opener: memory.New()}
		eng, err := perdure.Open(t.Context(), db, perdure.Register(wide, flaky, never), perdure.Concurrency(100), perdure.Logger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		defer eng.Close()
		if err := eng.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		h, err := perdure.Start(t.Context(), eng, wide, "wide-1", 300)
		if err != nil {
			t.Fatal(err)
		}
		check := func(when string) {
			t.Helper()
			o, err := h.Overview(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			attempts, err1 := h.Attempts(t.Context())
			calls, err2 := h.Calls(t.Context())
			if err := errors.Join(err1, err2); err != nil || !reflect.DeepEqual(attempts, o.Attempts) || !reflect.DeepEqual(calls, o.Calls) {
				t.Fatalf("%s: %d attempts and %d calls; of one reading %d and %d; %v", when, len(attempts), len(calls), len(o.Attempts), len(o.Calls), err)
			}
			for _, limit := range []int{1, 70, 1000, 10_000} {
				if limit == 1 {
					attempts, calls = attempts[500:530], calls[len(calls)-30:]
				} else {
					attempts, calls = o.Attempts, o.Calls
				}
				var parts []view.Attempt
				for part := (view.AttemptRange{Limit: limit}); len(parts) < len(attempts); part.After = parts[len(parts)-1].Place() {
					if limit == 1 && len(parts) == 0 {
						part.After = o.Attempts[499].Place()
					}
					some, err := h.AttemptsRange(t.Context(), part)
					if err != nil || len(some) == 0 || len(some) > limit {
						t.Fatalf("%s: behind %v there are %d attempts, %v", when, part.After, len(some), err)
					}
					parts = append(parts, some...)
				}
				if !reflect.DeepEqual(parts, attempts) {
					t.Errorf("%s: by parts of %d there are %d attempts, all in all %d, or others", when, limit, len(parts), len(attempts))
				}
				var sums []view.CallAttempts
				for part := (view.CallRange{Limit: limit}); len(sums) < len(calls); part.After = sums[len(sums)-1].Call {
					if limit == 1 && len(sums) == 0 {
						part.After = calls[0].Call - 1
					}
					some, err := h.CallsRange(t.Context(), part)
					if err != nil || len(some) == 0 || len(some) > limit {
						t.Fatalf("%s: behind call %d there are %d, %v", when, part.After, len(some), err)
					}
					sums = append(sums, some...)
				}
				if !reflect.DeepEqual(sums, calls) {
					t.Errorf("%s: by parts of %d there are %d calls, all in all %d, or others", when, limit, len(sums), len(calls))
				}
			}
			last := o.Attempts[len(o.Attempts)-1]
			if some, err := h.AttemptsRange(t.Context(), view.AttemptRange{After: last.Place()}); err != nil || len(some) != 0 {
				t.Errorf("%s: behind the last attempt there are %+v, %v", when, some, err)
			}
			var third []view.Attempt
			for _, a := range o.Attempts {
				if a.Call == o.Calls[3].Call && a.Number > 1 {
					third = append(third, a)
				}
			}
			if some, err := h.AttemptsRange(t.Context(), view.AttemptRange{Call: o.Calls[3].Call, After: view.AttemptPlace{Call: o.Calls[3].Call, Number: 1}}); err != nil || len(third) == 0 || !reflect.DeepEqual(some, third) {
				t.Errorf("%s: of call %d there are %+v, want %+v; %v", when, o.Calls[3].Call, some, third, err)
			}
		}
		time.Sleep(10 * time.Minute)
		check("calls are open") // of which one retries for long
		time.Sleep(2 * time.Hour)
		check("a call waits for its token")

		events, err := h.History(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all, err := h.Attempts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		turns := events[len(events)-1].Turn
		for _, c := range []struct {
			after view.AttemptPlace
			most  int64
		}{
			{view.AttemptPlace{}, 700},       // the ledger has the attempts of the first call
			{all[len(all)/3*2].Place(), 900}, // in the middle: a part of 500 turns, and where it begins
			{view.AttemptPlace{Call: all[len(all)-40].Call - 1, Number: view.EndOfCall}, 600}, // at the end
		} {
			db.turns.Store(0)
			some, err := h.AttemptsRange(t.Context(), view.AttemptRange{After: c.after, Limit: 20})
			if n := db.turns.Load(); err != nil || len(some) != 20 || n > c.most || turns < 1500 {
				t.Errorf("for %d attempts behind %v, %d of %d turns are read, %v", len(some), c.after, n, turns, err)
			}
		}
		for _, part := range []view.AttemptRange{{Limit: -1}, {Call: -1}, {After: view.AttemptPlace{Call: -1}}, {After: view.AttemptPlace{Number: -1}}} {
			if some, err := h.AttemptsRange(t.Context(), part); err == nil {
				t.Errorf("%+v: %d attempts", part, len(some))
			}
		}
		for _, part := range []view.CallRange{{Limit: -1}, {After: -1}} {
			if some, err := h.CallsRange(t.Context(), part); err == nil {
				t.Errorf("%+v: %d calls", part, len(some))
			}
		}
		if err := h.Terminate(t.Context(), "enough"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		check("it is closed")
	})
}

func TestF53_Places(t *testing.T) {
	for text, want := range map[string]view.AttemptPlace{
		"": {}, "17.3": {Call: 17, Number: 3}, "17": {Call: 17, Number: view.EndOfCall}, "17.0": {Call: 17},
	} {
		var got view.AttemptPlace
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want || got.String() != text {
			t.Errorf("%q is %+v, %q, %v", text, got, got, err)
		}
	}
	for _, text := range []string{"x", "1.", ".1", "-1", "1.-1", "1.2.3", "99999999999999999999"} {
		if err := new(view.AttemptPlace).UnmarshalText([]byte(text)); err == nil || errors.Unwrap(err) != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
