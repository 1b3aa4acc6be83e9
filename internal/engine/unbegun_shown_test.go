package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// onRecordAhead demands that the retry of the only call is on record ahead of its time.
func onRecordAhead(t *testing.T, e *engine.Engine) {
	t.Helper()
	counts, err := e.Counts(t.Context(), 0)
	if c := onlyCall(t, e, "run"); err != nil || counts.Calls[view.CallRunning] != 1 || c.State != view.CallBackoff || c.Attempt != 2 {
		t.Fatalf("shortly before its time the second attempt is %+v; on record is %v, %v", c, counts.Calls, err)
	}
}

// TestE145_WhoHasNotBegunIsShownSo: an attempt that is on record ahead of its time is in backoff
// until then, wherever the call is shown, and in no list of attempts; then it runs.
func TestE145_WhoHasNotBegunIsShownSo(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		work := activity.New("work", func(ctx context.Context, n int) (int, error) {
			if info, _ := activity.FromContext(ctx); info.Attempt == 1 {
				return 0, errors.New("not yet")
			}
			return n, busy(ctx, time.Minute)
		}, activity.Retry(retry.Policy{MaxAttempts: 2, Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter, AttemptTimeout: time.Hour}))
		flow := calls(work)
		e := w.start(flow, work)
		begin(t, e, flow, "run", 1)
		due := time.Now().Add(time.Second)
		waits := func() *view.Wait {
			runs, err := e.List(t.Context(), view.Filter{Waits: true})
			if err != nil || len(runs) != 1 || runs[0].Wait == nil {
				t.Fatal(runs, err)
			}
			return runs[0].Wait
		}
		pass(900 * time.Millisecond) // it is on record since 800 ms
		onRecordAhead(t, e)
		c := onlyCall(t, e, "run")
		if c.State != view.CallBackoff || c.Next == nil || !c.Next.Equal(due) || c.Attempt != 2 || c.Started != nil || c.TimesOut != nil || c.Node != "" {
			t.Errorf("before its time the attempt is shown as %+v", c)
		}
		if all := attemptsOf(t, e, "run"); len(all) != 1 {
			t.Errorf("before its time the attempts are %+v", all)
		}
		if w := waits(); w.For != view.WaitBackoff || w.Until == nil || !w.Until.Equal(due) || w.Since == nil || w.Since.After(time.Now()) {
			t.Errorf("before its time the run waits for %+v", w)
		}
		pass(200 * time.Millisecond)
		c = onlyCall(t, e, "run")
		if c.State != view.CallRunning || c.Next != nil || c.Started == nil || !c.Started.Equal(due) || c.TimesOut == nil || c.Node == "" {
			t.Errorf("after its time the attempt is shown as %+v", c)
		}
		if all := attemptsOf(t, e, "run"); len(all) != 2 || all[1].Outcome != view.OutcomeRunning {
			t.Errorf("after its time the attempts are %+v", all)
		}
		if w := waits(); w.For != view.WaitAttempt || w.Since == nil || !w.Since.Equal(due) {
			t.Errorf("after its time the run waits for %+v", w)
		}
	})
}
