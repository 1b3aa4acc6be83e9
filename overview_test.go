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
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// TestF50_ARunIsReadOnceAndInParts: what there is to say of a run with a long history is read
// with its history once, of which few turns are in memory at a time; and it is what the verbs say
// that read one thing each.
func TestF50_ARunIsReadOnceAndInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flaky := activity.New("flaky", func(ctx context.Context, n int) (int, error) {
			if info, _ := activity.FromContext(ctx); n%3 == 0 && info.Attempt <= n%7 {
				return 0, errors.New("once more")
			}
			return n, nil
		}, activity.Retry(retry.Policy{MaxAttempts: 10, Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter}))
		approve := workflow.NewSignal[int]("approve")
		never := activity.New("never", func(context.Context, int) (int, error) { return 0, activity.ErrPending }, activity.Retry(retry.Policy{AttemptTimeout: time.Hour}))
		long := workflow.New("long", func(wf *workflow.Context, n int) (int, error) {
			pending := workflow.Async(wf, never, 1)
			for i := range n {
				if _, err := workflow.Call(wf, flaky, i); err != nil {
					return 0, err
				}
			}
			if _, err := workflow.Receive(wf, approve); err != nil {
				return 0, err
			}
			return pending.Get(wf)
		})
		db := &counting{opener: memory.New()}
		eng, err := perdure.Open(t.Context(), db, perdure.Register(long, flaky, never), perdure.Logger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		defer eng.Close()
		if err := eng.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		h, err := perdure.Start(t.Context(), eng, long, "long-1", 900)
		if err != nil {
			t.Fatal(err)
		}
		check := func(when string, open, operations int) {
			t.Helper()
			db.turns.Store(0)
			db.most.Store(0)
			o, err := h.Overview(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			turns, most := db.turns.Load(), db.most.Load()
			d, err1 := h.Describe(t.Context())
			attempts, err2 := h.Attempts(t.Context())
			calls, err3 := h.Calls(t.Context())
			audit, err4 := h.Audit(t.Context())
			if err := errors.Join(err1, err2, err3, err4); err != nil {
				t.Fatal(err)
			}
			if want := (&view.Overview{Description: d, Attempts: attempts, Calls: calls, Audit: audit}); !reflect.DeepEqual(o, want) {
				t.Errorf("%s: together it is %+v, one by one %+v", when, o, want)
			}
			events, err := h.History(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if last := events[len(events)-1].Turn; turns != last || last < 900 || most > 500 {
				t.Errorf("%s: of %d turns %d were read, %d at a time", when, last, turns, most)
			}
			if len(d.Pending) != open || len(audit) != operations || open > 0 && d.HistoryLength != len(events)-1 || len(calls) < 900 || len(attempts) < 1200 {
				t.Errorf("%s: %+v, %d attempts of %d calls, audit %+v", when, d, len(attempts), len(calls), audit)
			}
		}
		time.Sleep(30 * time.Minute)
		if _, err := ops.ControlRun(t.Context(), eng, "long-1", ops.PauseRun(), ops.By("ann"), ops.Why("lunch")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		check("it is paused and waits for a signal", 2, 1)
		if err := h.Terminate(t.Context(), "enough"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		check("it is closed", 0, 2)
	})
}
