package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// beginWith starts a run with more than an ID and an input.
func beginWith[In, Out any](t *testing.T, e *engine.Engine, w workflow.Workflow[In, Out], id string, in In, req request.Start) {
	t.Helper()
	req.WorkflowID, req.Type = id, w.Name()
	req.Input, _ = history.Encode(in)
	if _, _, err := e.StartRun(t.Context(), req); err != nil {
		t.Fatalf("start %q: %v", id, err)
	}
}

// overdue expects that a run was closed as timed out, and when.
func overdue(t *testing.T, e *engine.Engine, id string, as retry.TimeoutError, at time.Time) {
	t.Helper()
	_, err := finish[string](t, e, id)
	var timeout *retry.TimeoutError
	if !errors.Is(err, retry.ErrTimeout) || !errors.As(err, &timeout) || *timeout != as {
		t.Errorf("%s: it ended with %v, want %v", id, err, &as)
	}
	d := describe(t, e, id)
	if d.Status != string(core.StatusTimedOut) || d.Closed == nil {
		t.Errorf("%s: it is %s: %s", id, d.Status, d.Reason)
	} else if late := d.Closed.Sub(at); late < 0 || late > 50*time.Millisecond {
		t.Errorf("%s: it was closed %s after its time", id, late)
	}
	events := eventsOf(t, e, id)
	if last := events[len(events)-1]; last.Kind != history.RunTimedOut || !errors.Is(last.Failure.Err(), retry.ErrTimeout) {
		t.Errorf("%s: its history ends with %+v", id, last)
	}
}

// TestE45_RunTimeout: a run is closed as timed out in the moment in which its time
// is up: one that waits, one whose attempt does not heed its context, one that was
// parked, one whose code is missing, be it in memory or not. What its attempts still
// come to is dropped and counted.
func TestE45_RunTimeout(t *testing.T) {
	deaf := activity.New("deaf", func(_ context.Context, d time.Duration) (string, error) {
		time.Sleep(d)
		return "done", nil
	})
	var info atomic.Pointer[workflow.Info]
	waits := workflow.New("waits", func(wf *workflow.Context, _ string) (string, error) {
		i := workflow.GetInfo(wf)
		info.Store(&i)
		return workflow.Receive(wf, poke)
	}, workflow.Version("1"))
	works := workflow.New("works", func(wf *workflow.Context, _ string) (string, error) {
		return workflow.Call(wf, deaf, 90*time.Minute)
	}, workflow.Version("1"))
	panics := workflow.New("panics", func(*workflow.Context, string) (string, error) { panic("a mistake") }, workflow.Version("1"))
	needsClocks.inBothModes(t, func(t *testing.T, w *world) {
		e, all := askers(t, w, waits, works, panics, deaf)
		began := time.Now()
		limit := request.Start{Settings: history.Settings{RunTimeout: time.Hour}}
		for i, from := range all {
			beginWith(t, from, waits, fmt.Sprint("waits from ", i), "", limit)
			beginWith(t, from, works, fmt.Sprint("works from ", i), "", limit)
		}
		beginWith(t, e, waits, "done", "", limit)
		beginWith(t, e, panics, "parked", "", limit)
		beginWith(t, e, waits, "later", "", request.Start{Delay: time.Minute, Settings: history.Settings{RunTimeout: time.Hour}})
		pass(10 * time.Minute)
		signal(t, e, "done", poke.Name(), "", "in time")
		if d := describe(t, e, "parked"); d.Status != string(core.StatusParked) || d.RunDeadline == nil || !d.RunDeadline.Equal(began.Add(time.Hour)) || d.ChainDeadline != nil {
			t.Errorf("before its time it is %s until %v", d.Status, d.RunDeadline)
		}
		if i := info.Load(); i.RunDeadline.Sub(i.Started) < time.Hour || !i.ChainDeadline.IsZero() {
			t.Errorf("the code knows of %+v", i)
		}
		pass(time.Hour)
		as := retry.TimeoutError{Kind: retry.TimeoutRun, Limit: time.Hour}
		for i := range all {
			overdue(t, e, fmt.Sprint("waits from ", i), as, began.Add(time.Hour))
			overdue(t, e, fmt.Sprint("works from ", i), as, began.Add(time.Hour))
		}
		overdue(t, e, "parked", as, began.Add(time.Hour))
		overdue(t, e, "later", as, began.Add(time.Hour+time.Minute))
		if v, err := finish[string](t, e, "done"); v != "in time" || err != nil {
			t.Errorf("one in time ended with %q, %v", v, err)
		}
		for _, at := range attemptsOf(t, e, "works from 0") {
			if at.Outcome != string(core.Canceled) || at.Ended == nil || at.Ended.Sub(began) > time.Hour+time.Second {
				t.Errorf("the attempt in flight is %+v", at)
			}
		}
		before := droppedInputs(w.log)
		pass(time.Hour)
		if late := droppedInputs(w.log) - before; late != len(all) {
			t.Errorf("%d late results were counted, want %d", late, len(all))
		}
	})
}

// TestE45_ADeadlineWaitsForNobody: a run whose time is up while no engine is there,
// or none that has its code, is closed all the same, and no later than when one
// comes.
func TestE45_ADeadlineWaitsForNobody(t *testing.T) {
	waits := workflow.New("waits", func(wf *workflow.Context, _ string) (string, error) { return workflow.Receive(wf, poke) })
	inBothModes(t, func(t *testing.T, w *world) {
		e := w.start(waits)
		began := time.Now()
		for _, id := range []string{"missing", "away"} {
			limit := time.Hour
			if id == "away" {
				limit = 3 * time.Hour
			}
			beginWith(t, e, waits, id, "", request.Start{Settings: history.Settings{RunTimeout: limit}})
		}
		settle()
		w.kill(e)
		e = w.start()
		signal(t, e, "missing", poke.Name(), "", "somebody looks at it")
		pass(10 * time.Minute)
		if d := describe(t, e, "missing"); d.Status != string(core.StatusWaitingForCode) {
			t.Errorf("without its code the run is %s", d.Status)
		}
		pass(time.Hour)
		overdue(t, e, "missing", retry.TimeoutError{Kind: retry.TimeoutRun, Limit: time.Hour}, began.Add(time.Hour))
		stop(t, e)
		pass(5 * time.Hour)
		again := time.Now()
		e = w.start(waits)
		overdue(t, e, "away", retry.TimeoutError{Kind: retry.TimeoutRun, Limit: 3 * time.Hour}, again)
	})
}

// TestE45_TimedOutRunsAreRetriedByPolicy: the next run begins after its backoff and
// has all its time; a policy that stops on timeouts, and the last attempt, end the
// chain as timed out.
func TestE45_TimedOutRunsAreRetriedByPolicy(t *testing.T) {
	slowRuns := func(name string, p retry.Policy) workflow.Workflow[string, string] {
		return workflow.New(name, func(wf *workflow.Context, _ string) (string, error) {
			i := workflow.GetInfo(wf)
			if i.Attempt == 3 {
				return fmt.Sprint(i.RunDeadline.Sub(workflow.Now(wf))), nil
			}
			return workflow.Receive(wf, poke)
		}, workflow.RetryPolicy(p))
	}
	stops := exactRuns(5, time.Hour)
	stops.OnTimeout = retry.StopOnTimeout
	third, twice, never := slowRuns("third", exactRuns(5, time.Hour)), slowRuns("twice", exactRuns(2, time.Hour)), slowRuns("never", stops)
	inBothModes(t, func(t *testing.T, w *world) {
		e := w.start(third, twice, never)
		began := time.Now()
		for _, w := range []workflow.Workflow[string, string]{third, twice, never} {
			beginWith(t, e, w, w.Name(), "", request.Start{Settings: history.Settings{RunTimeout: time.Minute}})
		}
		if left, err := finish[string](t, e, "third"); left != "1m0s" || err != nil || time.Since(began) < 2*time.Hour+2*time.Minute {
			t.Errorf("the third run had %s left, %v, after %s", left, err, time.Since(began))
		}
		d := describe(t, e, "third")
		if len(d.Chain) != 3 || d.Chain[0].Status != string(core.StatusContinued) || d.Chain[0].ErrorType != retry.TypeTimeout {
			t.Errorf("the chain is %+v", d.Chain)
		}
		_, err := finish[string](t, e, "twice")
		var exhausted *retry.ExhaustedError
		if d := describe(t, e, "twice"); !errors.As(err, &exhausted) || exhausted.Attempts != 2 || !errors.Is(err, retry.ErrTimeout) || d.Status != string(core.StatusTimedOut) {
			t.Errorf("it is %s: %v", d.Status, err)
		}
		_, err = finish[string](t, e, "never")
		if d := describe(t, e, "never"); !errors.Is(err, retry.ErrTimeout) || d.Chain != nil || d.Status != string(core.StatusTimedOut) {
			t.Errorf("it is %s: %v, chain %+v", d.Status, err, d.Chain)
		}
	})
}

// TestE45_ChainTimeout: the time of a chain goes on when its runs continue as new,
// and while they wait to be retried; then the run that is open is closed, and
// nothing follows.
func TestE45_ChainTimeout(t *testing.T) {
	round := workflow.Declare[string, string]("round")
	hourly := round.Impl(func(wf *workflow.Context, in string) (string, error) {
		if err := workflow.Sleep(wf, time.Hour); err != nil {
			return "", err
		}
		return workflow.ContinueAsNew(wf, round, in+"'")
	})
	fails := workflow.New("fails", func(*workflow.Context, string) (string, error) { return "", errRefused }, workflow.RetryPolicy(exactRuns(100, time.Hour)))
	inBothModes(t, func(t *testing.T, w *world) {
		e := w.start(hourly, fails)
		began := time.Now()
		limit := request.Start{Settings: history.Settings{ChainTimeout: 150 * time.Minute, RunTimeout: 70 * time.Minute}}
		beginWith(t, e, round, "round", "", limit)
		beginWith(t, e, fails, "fails", "", limit)
		pass(130 * time.Minute)
		d := describe(t, e, "round")
		if d.ChainDeadline == nil || !d.ChainDeadline.Equal(began.Add(150*time.Minute)) || d.RunDeadline.Sub(d.Created) != 70*time.Minute || len(d.Chain) != 3 {
			t.Errorf("the third of %d runs has until %v and %v", len(d.Chain), d.RunDeadline, d.ChainDeadline)
		}
		w.kill(e)
		e = w.start(hourly, fails)
		overdue(t, e, "round", retry.TimeoutError{Kind: retry.TimeoutChain, Limit: 150 * time.Minute}, began.Add(150*time.Minute))
		_, err := finish[string](t, e, "fails")
		var exhausted *retry.ExhaustedError
		if d := describe(t, e, "fails"); !errors.As(err, &exhausted) || exhausted.Reason != retry.ReasonWithin || exhausted.Attempts != 3 || d.Status != string(core.StatusFailed) {
			t.Errorf("it is %s: %v", d.Status, err)
		}
	})
}

// TestE45_TimeoutsThatCannotBe: what would have no effect is refused.
func TestE45_TimeoutsThatCannotBe(t *testing.T) {
	w := newWorld(t)
	e := w.start(whenItBegan)
	for want, req := range map[string]history.Settings{
		"the run timeout is -1s; it is positive, or zero for none":                                   {RunTimeout: -time.Second},
		"the chain timeout is -1s; it is positive, or zero for none":                                 {ChainTimeout: -time.Second},
		"the run timeout is 2s, which is longer than the chain timeout, 1s: it would have no effect": {RunTimeout: 2 * time.Second, ChainTimeout: time.Second},
	} {
		if _, err := startWith(t, e, "refused", request.Start{Settings: req}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for _, d := range []time.Duration{1 << 62, 1<<63 - 1} { // as good as never
		if _, err := startWith(t, e, fmt.Sprint(int64(d)), request.Start{Delay: d / 1e6, Settings: history.Settings{RunTimeout: d, ChainTimeout: d}}); err != nil {
			t.Error(err)
		}
	}
}
