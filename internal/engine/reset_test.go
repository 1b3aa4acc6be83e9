package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// tried is an activity that fails as long as it is said to be broken, and remembers
// what it was asked to do.
type tried struct {
	activity activity.Activity[string, string]
	mu       sync.Mutex
	made     []string
	broken   map[string]bool
}

func newTried() *tried {
	t := &tried{broken: map[string]bool{}}
	t.activity = activity.New("try", func(_ context.Context, what string) (string, error) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.made = append(t.made, what)
		if t.broken[what] {
			return "", errors.New(what + " is broken")
		}
		return what + "'", nil
	}, activity.Retry(retry.Never))
	return t
}

// takeMade is what was done since it was asked last.
func (t *tried) takeMade() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	made := strings.Join(t.made, " ")
	t.made = nil
	return made
}

func (t *tried) setBroken(what string, is bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.broken[what] = is
}

// threeTries makes calls 1, 2, 4 and 5, and waits for a signal as call 3.
func (t *tried) threeTries() workflow.Workflow[string, string] {
	return workflow.New("tries", func(wf *workflow.Context, in string) (string, error) {
		var all []string
		do := func(what string) error {
			out, err := workflow.Call(wf, t.activity, what)
			all = append(all, out)
			return err
		}
		if err := errors.Join(do(in+"1"), do("2")); err != nil {
			return "", err
		}
		n, err := workflow.Receive(wf, number)
		if err != nil {
			return "", err
		}
		all = append(all, fmt.Sprint(n))
		if err := errors.Join(do("4"), do("5 of "+workflow.GetInfo(wf).WorkflowID)); err != nil {
			return "", err
		}
		return strings.Join(all, " "), nil
	})
}

func reset(t *testing.T, e *engine.Engine, id string, in core.Control) view.ControlRecord {
	t.Helper()
	in.Operation = core.ResetTheRun
	records, err := e.Control(t.Context(), id, "", in)
	if err != nil || len(records) != 1 {
		t.Fatalf("reset of %q: %+v, %v", id, records, err)
	}
	return records[0]
}

// TestE60_ResetOfAnEndedRun: a failed run is reset to a call. The next run of its chain keeps
// what precedes the call, does the rest again and ends as if nothing had failed. The same
// request again does nothing. The person and the reason are on record. The failed run keeps
// its own result.
func TestE60_ResetOfAnEndedRun(t *testing.T) {
	needsQueries.inBothModes(t, func(t *testing.T, w *world) {
		f := newTried()
		tries := f.threeTries()
		e := w.start(tries, f.activity)
		f.setBroken("4", true)
		first := begin(t, e, tries, "x", "a")
		signal(t, e, "x", "number", "s", 7)
		settle()
		same(t, "status", describe(t, e, "x").Status, "failed")
		same(t, "made", f.takeMade(), "a1 2 4 5 of x")
		f.setBroken("4", false)
		in := core.Control{ID: "r", Call: 4, By: "ann", Reason: "mended"}
		in.Operation = core.ResetTheRun
		preview, err := e.Preview(t.Context(), "x", in)
		if err != nil || len(preview) != 1 || preview[0].Outcome != "selected" {
			t.Fatalf("dry run: %+v, %v", preview, err)
		}
		same(t, "dry run", preview[0].Note, "3 calls before call 4 kept, 2 calls made again; completed already, and done twice, under another idempotency key: call 5 (try)")
		done := reset(t, e, "x", in)
		same(t, "outcome", done.Outcome, "applied")
		result, err := finish[string](t, e, "x")
		if err != nil {
			t.Fatal(err)
		}
		same(t, "result", result, "a1' 2' 7 4' 5 of x'")
		same(t, "made anew", f.takeMade(), "4 5 of x")
		same(t, "again", reset(t, e, "x", in).Outcome, "applied")
		settle()
		same(t, "nothing was made again", f.takeMade(), "")
		d := describe(t, e, "x")
		if len(d.Chain) != 2 || d.Chain[1].Initiator != "reset" || d.Chain[1].Number != 2 || d.Base == nil || d.Base.RunID != first || d.Base.Call != 4 || d.Base.By != "ann" || d.Base.Why != "mended" {
			t.Errorf("chain %+v, base %+v", d.Chain, d.Base)
		}
		audit, err := e.Audit(t.Context(), "x", "")
		if err != nil || len(audit) != 1 || audit[0].By != "ann" || audit[0].Operation != "reset" || audit[0].Call != 4 {
			t.Errorf("audit %+v, %v", audit, err)
		}
		if _, s, err := e.Result(t.Context(), "x", first); err != nil || s.Status != core.StatusFailed {
			t.Errorf("the run that failed is %+v, %v", s, err)
		}
		for _, a := range attemptsOf(t, e, "x") {
			if kept := a.Call < 4; kept != (a.RunID == first) || a.NotKept != 0 {
				t.Errorf("attempt %+v", a)
			}
		}
	})
}

// TestE60_ResetOfAnOpenRun: a run that waits is sent back: it is closed as continued in
// the turn that creates the next one, its attempts are given up, whoever waits for its
// result gets that of the next one, signals that it had read behind that call are read
// again, and calls of before that are open begin afresh.
func TestE60_ResetOfAnOpenRun(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		made := map[string]int{}
		slow := activity.New("slow", func(ctx context.Context, what string) (string, error) {
			mu.Lock()
			made[what]++
			n := made[what]
			mu.Unlock()
			if n == 1 && what != "quick" {
				<-ctx.Done()
				return "", context.Cause(ctx)
			}
			return fmt.Sprint(what, n), nil
		})
		flow := workflow.New("open", func(wf *workflow.Context, in string) (string, error) {
			pending := workflow.Async(wf, slow, "pending") // call 1
			timer := workflow.NewTimer(wf, time.Hour)      // call 2
			quick, err := workflow.Call(wf, slow, "quick") // call 3
			if err != nil {
				return "", err
			}
			n, err := workflow.Receive(wf, number) // call 4
			if err != nil {
				return "", err
			}
			last, err := workflow.Call(wf, slow, "last") // call 5
			if err != nil {
				return "", err
			}
			first, err := pending.Get(wf)
			if err == nil {
				err = timer.Wait(wf)
			}
			return fmt.Sprintln(first, quick, n, last), err
		})
		e := w.start(flow, slow)
		began := time.Now()
		run := begin(t, e, flow, "x", "a")
		signal(t, e, "x", "number", "s", 7)
		signal(t, e, "x", "number", "s2", 8)
		pass(time.Minute)
		same(t, "status", describe(t, e, "x").Status, "running")
		done := reset(t, e, "x", core.Control{ID: "r", Call: 4, By: "ann", Reason: "so"})
		same(t, "outcome", done.Outcome+" of "+done.RunID, "applied of "+run)
		settle()
		if stopped := attemptsOfRun(t, e, "x", run); !slices.ContainsFunc(stopped, func(a view.Attempt) bool { return a.Call == 1 && a.Outcome == "canceled" }) {
			t.Errorf("the attempts of the run that was reset: %+v", stopped)
		}
		pass(time.Minute)
		_, s, err := e.Result(t.Context(), "x", run) // by the handle of the first run
		if err != nil || s.Status != core.StatusCompleted {
			t.Fatalf("%+v, %v", s, err)
		}
		result, _ := finish[string](t, e, "x")
		same(t, "result", result, "pending2 quick1 7 last2\n")
		if took := time.Since(began); took > 62*time.Minute {
			t.Errorf("the timer was kept for %s", took)
		}
		before, err := e.Describe(t.Context(), "x", run)
		if err != nil || before.Status != "continued" || before.Next == "" {
			t.Errorf("the first run: %+v, %v", before, err)
		}
		again := reset(t, e, "x", core.Control{ID: "r", Call: 4})
		same(t, "the same request", again.Outcome+" of "+again.RunID, "applied of "+run)
	})
}

func attemptsOfRun(t *testing.T, e *engine.Engine, id, run string) []view.Attempt {
	t.Helper()
	all, err := e.Attempts(t.Context(), id, run, view.AttemptRange{})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestE60_ResetRefused: what cannot be done is refused with the reason, and nothing
// happens.
func TestE60_ResetRefused(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		child := workflow.New("child", func(wf *workflow.Context, _ int) (int, error) { return 1, workflow.Sleep(wf, time.Hour) })
		flow := workflow.New("parent", func(wf *workflow.Context, _ int) (int, error) {
			started := workflow.RunChildAsync(wf, child, 1)
			if err := workflow.Sleep(wf, time.Minute); err != nil {
				return 0, err
			}
			return started.Get(wf)
		})
		e := w.start(flow, child)
		begin(t, e, flow, "x", 1)
		settle()
		for call, want := range map[int64]string{
			2: "call 1, before it, has started run",
			3: "the run has not made call 3; its last one is call 2",
		} {
			_, err := e.Control(t.Context(), "x", "", core.Control{Operation: core.ResetTheRun, Call: call})
			var refused *request.RefusedError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
				t.Errorf("reset to call %d: %v", call, err)
			}
		}
		if _, err := e.Control(t.Context(), "x", "", core.Control{Operation: core.ResetTheRun}); err == nil || !strings.Contains(err.Error(), "calls count from 1") {
			t.Errorf("reset to call 0: %v", err)
		}
		if n, err := finish[int](t, e, "x"); n != 1 || err != nil {
			t.Errorf("the run ends with %d, %v", n, err)
		}
		same(t, "once the child has ended", reset(t, e, "x", core.Control{Call: 2}).Outcome, "applied")
		if n, err := finish[int](t, e, "x"); n != 1 || err != nil {
			t.Errorf("the next run ends with %d, %v", n, err)
		}
	})
}
