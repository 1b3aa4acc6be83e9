package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// weighed is a workflow that fails if it is given less than 0, and waits an hour if
// it is given more than 100.
var weighed = workflow.New("weighed", func(wf *workflow.Context, n int) (int, error) {
	if n > 100 {
		if err := workflow.Sleep(wf, time.Hour); err != nil {
			return 0, err
		}
	}
	if n < 0 {
		return 0, errors.New("too light")
	}
	return n, nil
}, workflow.Version("1"))

func again(t *testing.T, e *engine.Engine, id string, n int, req request.Start) (run string, attached bool, err error) {
	t.Helper()
	req.WorkflowID, req.Type = id, weighed.Name()
	req.Input, _ = history.Encode(n)
	return e.StartRun(t.Context(), req)
}

// TestE49_StartNewAfterTheLastOneEnded: with the option an ended run makes room for
// a new chain, from any process; an open one does not, nor one that has a result if
// only failures do. Views of the workflow ID show the new run, those of the earlier
// ones are there.
func TestE49_StartNewAfterTheLastOneEnded(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		_, all := askers(t, w, weighed)
		for i, e := range all {
			id := fmt.Sprint("w", i)
			var runs []string
			expect := func(what, want string, run string, attached bool, err error) {
				t.Helper()
				used, refused := errors.AsType[*request.IDInUseError](err)
				got := "new"
				switch {
				case refused && used.Run == runs[len(runs)-1]:
					got = "refused"
				case err != nil:
					got = err.Error()
				case attached && run == runs[len(runs)-1]:
					got = "attached"
				case attached:
					got = "attached to another one: " + run
				}
				if got != want {
					t.Fatalf("%s: %s, want %s", what, got, want)
				}
				if got == "new" {
					if len(runs) > 0 && run <= runs[len(runs)-1] {
						t.Fatalf("run IDs do not rise: %s after %s", run, runs[len(runs)-1])
					}
					runs = append(runs, run)
				}
			}
			ask := func(what, want string, n int, req request.Start) {
				t.Helper()
				run, attached, err := again(t, e, id, n, req)
				expect(what, want, run, attached, err)
			}
			ask("an ID that is free", "new", 101, request.Start{NewAfter: request.AnyEnd})
			ask("an open run", "attached", 101, request.Start{NewAfter: request.AnyEnd})
			ask("an open run with another input", "refused", 102, request.Start{NewAfter: request.AnyEnd})
			ask("an open run, must be new", "refused", 101, request.Start{NewAfter: request.AnyEnd, MustBeNew: true})
			pass(2 * time.Hour)
			ask("a result, only after failures", "attached", 101, request.Start{NewAfter: request.Failure})
			ask("a result, only after failures, must be new", "refused", 101, request.Start{NewAfter: request.Failure, MustBeNew: true})
			ask("a result", "new", -1, request.Start{NewAfter: request.AnyEnd, MustBeNew: true})
			pass(time.Minute)
			ask("a failure, without the option", "attached", -1, request.Start{})
			ask("a failure", "new", 7, request.Start{NewAfter: request.Failure})
			pass(time.Minute)

			d := describe(t, e, id)
			if d.RunID != runs[2] || d.After != runs[1] || d.Status != string(store.Completed) || d.Chain != nil {
				t.Errorf("the latest is described as %+v", d)
			}
			for n, want := range []string{"completed", "failed", "completed"} {
				d, err := e.Describe(t.Context(), id, runs[n])
				if err != nil || d.Status != want || d.RunID != runs[n] || d.Chain != nil {
					t.Errorf("run %d is described as %+v, %v", n, d, err)
				}
			}
			list, err := e.List(t.Context(), view.Filter{IDPrefix: id})
			if err != nil || len(list) != 3 || list[0].RunID != runs[2] || list[2].RunID != runs[0] {
				t.Errorf("listed are %+v, %v", list, err)
			}
			if _, s, err := e.Result(t.Context(), id, runs[0]); err != nil || string(s.Status) != "completed" {
				t.Errorf("the result of the first is %+v, %v", s, err)
			}
			if got, err := finish[int](t, e, id); got != 7 || err != nil {
				t.Errorf("the result is %d, %v", got, err)
			}
		}
		if _, _, err := again(t, all[0], "x", 1, request.Start{NewAfter: 7}); err == nil {
			t.Error("an ending that there is not was taken")
		}
	})
}

// TestE49_StartNewAtOnceIsOneNewRun: if several callers in several processes start a new run
// of one ID at the same time, one creates it and the others attach to it.
func TestE49_StartNewAtOnceIsOneNewRun(t *testing.T) {
	needsTransactions.inBothModes(t, func(t *testing.T, w *world) {
		e, all := askers(t, w, weighed)
		if _, _, err := again(t, e, "w", 1, request.Start{}); err != nil {
			t.Fatal(err)
		}
		if _, err := finish[int](t, e, "w"); err != nil {
			t.Fatal(err)
		}
		const each = 4
		runs := make([]string, each*len(all))
		made := make([]bool, len(runs))
		var wg sync.WaitGroup
		for i := range runs {
			wg.Go(func() {
				run, attached, err := again(t, all[i%len(all)], "w", 200, request.Start{NewAfter: request.AnyEnd})
				if err != nil {
					t.Error(err)
				}
				runs[i], made[i] = run, !attached
			})
		}
		wg.Wait()
		news := 0
		for i := range runs {
			if made[i] {
				news++
			}
			if runs[i] != runs[0] {
				t.Errorf("starts led to %s and %s", runs[0], runs[i])
			}
		}
		if news != 1 {
			t.Errorf("%d of them say that they made it", news)
		}
	})
}

// TestE49_LateCompletionsOfTheRunBeforeAreDropped: an attempt that outlives its run
// ends beside that of the new run of the workflow ID, and is nothing to it.
func TestE49_LateCompletionsOfTheRunBeforeAreDropped(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		var began atomic.Int32
		release := map[int32]chan string{1: make(chan string, 1), 2: make(chan string, 1)}
		slow := activity.New("slow", func(_ context.Context, n int) (string, error) { return <-release[began.Add(1)], nil }, activity.Retry(retry.Never))
		wrap := workflow.New("weighed", func(wf *workflow.Context, n int) (string, error) { return workflow.Call(wf, slow, n) }, workflow.Version("1"))
		e := w.start(wrap, slow)
		first, _, err := again(t, e, "w", 1, request.Start{})
		if err != nil {
			t.Fatal(err)
		}
		settle()
		if err := e.Terminate(t.Context(), "w", "", request.By{Why: "enough"}); err != nil {
			t.Fatal(err)
		}
		settle()
		second, attached, err := again(t, e, "w", 1, request.Start{NewAfter: request.Failure})
		if attached || err != nil {
			t.Fatal(attached, err)
		}
		settle()
		release[1] <- "of the first"
		settle()
		if d := describe(t, e, "w"); d.RunID != second || d.After != first || d.Status != "running" || len(d.Pending) != 1 {
			t.Errorf("the second run is %+v", d)
		}
		release[2] <- "of the second"
		if got, err := finish[string](t, e, "w"); got != "of the second" || err != nil {
			t.Errorf("the result is %q, %v", got, err)
		}
		if d, err := e.Describe(t.Context(), "w", first); err != nil || d.Status != "terminated" || d.Result != nil {
			t.Errorf("the first run is %+v, %v", d, err)
		}
	})
}

// TestE49_WhoTerminatedItStartsAnew: a start that may follow an ended run, made right after a
// termination was acknowledged, attaches to the run that is to be terminated no more, from any
// process and in quick succession. In a transaction it is refused.
func TestE49_WhoTerminatedItStartsAnew(t *testing.T) {
	needsTransactions.inBothModes(t, func(t *testing.T, w *world) {
		_, all := askers(t, w, weighed)
		for i, e := range all {
			id, before := fmt.Sprint("w", i), ""
			for n := range 10 {
				run, attached, err := again(t, e, id, 101+n, request.Start{NewAfter: request.AnyEnd})
				if err != nil || attached || run == before {
					t.Fatalf("start %d: %s after %s, attached %v, %v", n, run, before, attached, err)
				}
				if err := e.Terminate(t.Context(), id, "", request.By{}); err != nil {
					t.Fatal(err)
				}
				before = run
			}
		}
	})
}

// TestE49_ATerminationThatNobodyCarriesOut is told to a start that would follow it.
func TestE49_ATerminationThatNobodyCarriesOut(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		e := w.start(weighed)
		if _, _, err := again(t, e, "w", 101, request.Start{}); err != nil {
			t.Fatal(err)
		}
		stop(t, e)
		client := w.open(w.config())
		if err := client.Terminate(t.Context(), "w", "", request.By{}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		input, _ := history.Encode(7)
		_, _, err := client.StartRun(ctx, request.Start{WorkflowID: "w", Type: weighed.Name(), Input: input, Settings: history.Settings{}, NewAfter: request.AnyEnd})
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "is to be terminated") {
			t.Errorf("the start: %v", err)
		}
	})
}
