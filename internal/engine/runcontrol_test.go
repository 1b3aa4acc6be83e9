package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// forAll carries an operation out on all runs that pass a filter.
func forAll(t *testing.T, e *engine.Engine, filter view.Filter, in core.Control, dry bool) view.BulkResult {
	t.Helper()
	r, err := e.ControlAll(t.Context(), filter, in, dry)
	if err != nil {
		t.Fatalf("%s of all: %v", in.Operation, err)
	}
	return r
}

func tally(r view.BulkResult) string {
	return fmt.Sprintf("%d selected, %d applied, %d unchanged, %d ended", r.Runs, r.Applied, r.Unchanged, r.Ended)
}

// TestE60_RunsByFilter: signals, cancellations and terminations of many runs. A dry run only
// counts, a repeated request has no further effect, only runs that the filter selects are
// changed, and the person and the reason are on record.
func TestE60_RunsByFilter(t *testing.T) {
	needsQueries.inBothModes(t, func(t *testing.T, w *world) {
		const runs = 120 // more than a batch
		e := w.start(collector.Impl(collect))
		for n := range runs {
			begin(t, e, collector, fmt.Sprintf("x-%d", n), collected{Each: 5, All: 5})
		}
		begin(t, e, collector, "y", collected{Each: 5, All: 5})
		value, _ := history.Encode(7)
		filter := view.Filter{Workflow: "collector", IDPrefix: "x-"}
		poke := core.Control{ID: "s", Operation: core.SignalTheRun, Signal: "number", Value: value, By: "ann", Reason: "as agreed"}
		r := forAll(t, e, filter, poke, true)
		same(t, "dry", tally(r), "120 selected, 0 applied, 0 unchanged, 0 ended")
		same(t, "the first of them", r.Records[0].Note, "collector, running")
		same(t, "signaled", tally(forAll(t, e, filter, poke, false)), "120 selected, 120 applied, 0 unchanged, 0 ended")
		forAll(t, e, filter, poke, false)
		got := 0
		for _, ev := range eventsOf(t, e, "x-3") {
			if ev.Kind == history.SignalReceived {
				got++
			}
		}
		same(t, "signals", got, 1)

		stopAll := core.Control{ID: "c", Operation: core.CancelTheRun, By: "ann", Reason: "no more"}
		same(t, "canceled", tally(forAll(t, e, filter, stopAll, false)), "120 selected, 120 applied, 0 unchanged, 0 ended")
		settle()
		same(t, "status", describe(t, e, "x-7").Status, "canceled")
		same(t, "the other", describe(t, e, "y").Status, "running")
		end := core.Control{ID: "t", Operation: core.TerminateTheRun, By: "bob", Reason: "enough"}
		same(t, "terminated", tally(forAll(t, e, view.Filter{}, end, false)), "1 selected, 1 applied, 0 unchanged, 0 ended")
		same(t, "nothing is left", tally(forAll(t, e, view.Filter{}, end, false)), "0 selected, 0 applied, 0 unchanged, 0 ended")
		records, err := e.Control(t.Context(), "y", "", end)
		if err != nil || len(records) != 1 || records[0].By != "bob" {
			t.Errorf("the same request of one that has ended answers %+v, %v", records, err)
		}
		audit, err := e.Audit(t.Context(), "x-7", "")
		if err != nil || len(audit) != 2 || audit[0].Operation != "signal" || audit[1].Operation != "cancel" || audit[1].By != "ann" || audit[1].Why != "no more" {
			t.Errorf("audit: %+v, %v", audit, err)
		}
	})
}

// TestE60_PlainCancelIsAudited: the person is on record even if the request did not wait for a
// reply.
func TestE60_PlainCancelIsAudited(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		e := w.start(collector.Impl(collect))
		for _, id := range []string{"canceled", "terminated"} {
			begin(t, e, collector, id, collected{Each: 5, All: 5})
		}
		if err := errors.Join(e.Cancel(t.Context(), "canceled", "", request.By{Who: "ann", Why: "no"}), e.Terminate(t.Context(), "terminated", "", request.By{Why: "enough"})); err != nil {
			t.Fatal(err)
		}
		settle()
		for id, want := range map[string]string{"canceled": "cancel applied by ann: no", "terminated": "terminate applied by node: enough"} {
			audit, err := e.Audit(t.Context(), id, "")
			if err != nil || len(audit) != 1 {
				t.Fatalf("audit: %+v, %v", audit, err)
			}
			same(t, id, fmt.Sprintf("%s %s by %s: %s", audit[0].Operation, audit[0].Outcome, audit[0].By, audit[0].Why), want)
		}
	})
}

// TestE60_RunsThatGoOn: a run that goes on as the next one of its chain while many are
// asked is reached, and once.
func TestE60_RunsThatGoOn(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		restless := workflow.Declare[int, int]("restless")
		e := w.start(restless.Impl(func(wf *workflow.Context, n int) (int, error) {
			if err := workflow.Sleep(wf, 50*time.Millisecond); err != nil {
				return n, err
			}
			return workflow.ContinueAsNew(wf, restless, n+1)
		}))
		const runs = 30
		for n := range runs {
			begin(t, e, restless, fmt.Sprint("r", n), 0)
		}
		pass(time.Second)
		in := core.Control{ID: "t", Operation: core.TerminateTheRun}
		if r := forAll(t, e, view.Filter{}, in, false); r.Applied != runs {
			t.Errorf("terminated %s", tally(r))
		}
		pass(time.Second)
		counts, err := e.Counts(t.Context(), 0)
		if err != nil || counts.Runs[view.StatusRunning] != 0 || counts.Runs[view.StatusTerminated] != runs {
			t.Errorf("%+v, %v", counts.Runs, err)
		}
	})
}

// TestE60_PauseOfARun: a paused run starts no attempt and its code does not go on;
// what happens is recorded and seen when it is resumed; listings, descriptions and the
// audit say who paused it; it outlives its process.
func TestE60_PauseOfARun(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		f := newFragile(slowRetry)
		second := workflow.New("second", func(wf *workflow.Context, n int) (string, error) {
			out := workflow.Async(wf, f.activity, n)
			if err := workflow.Sleep(wf, time.Minute); err != nil {
				return "", err
			}
			v, err := workflow.Receive(wf, number)
			if err != nil {
				return "", err
			}
			s, err := out.Get(wf)
			return fmt.Sprint(s, v), err
		})
		e := w.start(second, f.activity)
		begin(t, e, second, "x", 1)
		pass(time.Second)
		r := control(t, e, "x", core.Control{ID: "p", Operation: core.PauseTheRun, By: "ann", Reason: "wait"})
		same(t, "answer", verdicts(r), []string{"pause-run applied"})
		f.broken.Store(false)
		signal(t, e, "x", "number", "", 42)
		pass(3 * time.Hour) // the timer fires, the backoff is over
		same(t, "ran", f.ran.Load(), 1)
		w.kill(e)
		e = w.start(second, f.activity)
		pass(time.Hour)
		same(t, "ran after a crash", f.ran.Load(), 1)
		d := describe(t, e, "x")
		same(t, "status", d.Status, "paused")
		if d.Paused == nil || d.Paused.By != "ann" || d.Paused.Why != "wait" {
			t.Errorf("paused: %+v", d.Paused)
		}
		same(t, "pending", fmt.Sprint(d.Pending[0].State, " by ", d.Pending[0].Paused.By), "paused by ann")
		listed, err := e.List(t.Context(), view.Filter{Status: []string{string(store.OnHold)}})
		if err != nil || len(listed) != 1 || listed[0].Paused == nil {
			t.Errorf("listed: %+v, %v", listed, err)
		}
		_, err = e.Control(t.Context(), "x", "", core.Control{Operation: core.RetryNow})
		if refused := (*request.RefusedError)(nil); !errors.As(err, &refused) {
			t.Errorf("retry-now in a paused run: %v", err)
		}
		same(t, "resumed", verdicts(control(t, e, "x", core.Control{ID: "r", Operation: core.ResumeTheRun})), []string{"resume-run applied"})
		out, err := finish[string](t, e, "x")
		if err != nil || out != "done42" {
			t.Errorf("got %q, %v", out, err)
		}
		same(t, "ran in the end", f.ran.Load(), 2)
	})
}

// TestE60_PauseWithoutCode: a run without code is paused and resumed, and stays paused
// when its code comes back.
func TestE60_PauseWithoutCode(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		impl := collector.Impl(collect)
		e := w.start(impl)
		begin(t, e, collector, "x", collected{Each: 1, All: 1})
		w.kill(e)
		e = w.start()
		signal(t, e, "x", "number", "", 7)
		pass(time.Second)
		same(t, "status", describe(t, e, "x").Status, "waiting-for-code")
		control(t, e, "x", core.Control{Operation: core.PauseTheRun, By: "ann"})
		d := describe(t, e, "x")
		if d.Status != "waiting-for-code" || d.Paused == nil || d.Reason == "" {
			t.Errorf("%+v", d.Run)
		}
		w.kill(e)
		e = w.start(impl)
		pass(time.Minute)
		same(t, "with code", describe(t, e, "x").Status, "paused")
		forAll(t, e, view.Filter{Status: []string{string(store.OnHold)}}, core.Control{Operation: core.ResumeTheRun}, false)
		if out, err := finish[[]int](t, e, "x"); err != nil || len(out) != 1 {
			t.Errorf("got %v, %v", out, err)
		}
	})
}

// TestE60_RunOperationsRefused: what makes no sense is refused before it is sent.
func TestE60_RunOperationsRefused(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		e := w.start(collector.Impl(collect))
		begin(t, e, collector, "x", collected{Each: 1, All: 1})
		for name, in := range map[string]core.Control{
			"calls":     {Operation: core.PauseTheRun, Calls: core.Selection{Name: "a"}},
			"no signal": {Operation: core.SignalTheRun},
			"no such":   {Operation: "explode"},
		} {
			var wrong *history.InputError
			if _, err := e.Control(t.Context(), "x", "", in); !errors.As(err, &wrong) {
				t.Errorf("%s: %v", name, err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		stop(t, e)
		client := w.open(w.config())
		if _, err := client.Control(ctx, "x", "", core.Control{Operation: core.PauseTheRun}); !errors.Is(err, request.ErrNoAnswer) {
			t.Errorf("without an engine: %v", err)
		}
	})
}

// TestE60_DeadlineOfAPausedRun: the time of a paused run goes on; the run that is tried
// in its place is paused as well, and begins when it is resumed.
func TestE60_DeadlineOfAPausedRun(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		e := w.start(collector.Impl(collect))
		input, _ := history.Encode(collected{Each: 1, All: 1})
		_, _, err := e.StartRun(t.Context(), request.Start{
			WorkflowID: "x", Type: "collector", Input: input,
			Settings: history.Settings{RunTimeout: time.Hour, Retry: &retry.Policy{MaxAttempts: 2, Backoff: retry.Fixed(time.Minute), Jitter: retry.NoJitter}},
		})
		if err != nil {
			t.Fatal(err)
		}
		control(t, e, "x", core.Control{ID: "p", Operation: core.PauseTheRun, By: "ann"})
		pass(62 * time.Minute)
		d := describe(t, e, "x")
		if len(d.Chain) != 2 || d.Status != "paused" || d.Paused == nil || d.Paused.By != "ann" {
			t.Fatalf("after the deadline: %+v", d)
		}
		same(t, "its code has not begun", len(eventsOf(t, e, "x")), 0)
		signal(t, e, "x", "number", "", 1)
		control(t, e, "x", core.Control{Operation: core.ResumeTheRun})
		if out, err := finish[[]int](t, e, "x"); err != nil || len(out) != 1 {
			t.Errorf("got %v, %v", out, err)
		}
	})
}
