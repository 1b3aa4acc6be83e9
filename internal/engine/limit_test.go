package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/workflow"
)

// TestE48_HistoryLength: a step of a run that is in memory takes as much memory when
// its history is long as when it is short. A warning comes before the limit; there
// the run fails with an error that says so, and no retry of it follows.
func TestE48_HistoryLength(t *testing.T) {
	extent.NotInShort(t, "large numbers are for the long form")
	synctest.Test(t, testHistoryLength)
}

func testHistoryLength(t *testing.T) {
	const limit = 50_000
	w := newWorld(t)
	var mallocs []uint64 // after each thousand steps
	steps := 0
	count := activity.New("count", func(context.Context, int) (int, error) {
		if steps++; steps%1000 == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			mallocs = append(mallocs, m.Mallocs)
		}
		return steps, nil
	})
	lengths := make(chan int, 1)
	endless := workflow.New("endless", func(wf *workflow.Context, _ int) (int, error) {
		for i := 0; ; i++ {
			if _, err := workflow.Call(wf, count, i); err != nil {
				return 0, err
			}
			if i == 14_999 { // three events a step
				lengths <- workflow.GetInfo(wf).HistoryLength //perdure:deterministic it tells the test
				if _, err := workflow.Receive(wf, poke); err != nil {
					return 0, err
				}
			}
		}
	}, workflow.RetryPolicy(exactRuns(3, time.Second)))
	e := w.start(endless, count)
	begin(t, e, endless, "w", 1)
	if n := <-lengths; n < 44_000 || n > 46_000 {
		t.Errorf("after 15,000 steps the code hears of %d events", n)
	}
	settle() // that turn is not durable yet
	if d := describe(t, e, "w"); len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "it fails at 50000") {
		t.Errorf("with %d events the warnings are %q", d.HistoryLength, d.Warnings)
	}
	if n := w.log.count("the history of a run is long"); n != 1 {
		t.Errorf("a warning was logged %d times", n)
	}
	signal(t, e, "w", poke.Name(), "", "go on")
	_, err := finish[int](t, e, "w")
	var tooLong *history.LimitError
	if !errors.As(err, &tooLong) || tooLong.Limit != limit || !strings.Contains(err.Error(), "the run has 50000 events of history, which is the limit") {
		t.Errorf("it ended with %v", err)
	}
	if d := describe(t, e, "w"); d.Status != "failed" || d.Chain != nil {
		t.Errorf("it is %s, with a chain of %d", d.Status, len(d.Chain))
	}
	if n := len(eventsOf(t, e, "w")); n < limit || n > limit+10 {
		t.Errorf("there are %d events on record", n)
	}
	if len(mallocs) != 16 {
		t.Fatalf("there were %d steps", steps)
	}
	first, last := mallocs[1]-mallocs[0], mallocs[14]-mallocs[13] // nobody else was at work
	if testing.Short() {                                          // the race detector, which allocates too, watches the short form
		return
	}
	if last > first+first/2 {
		t.Errorf("a thousand steps took %d allocations at first, and %d at last", first, last)
	}
	t.Logf("a thousand steps took %d allocations at first, and %d at last", first, last)
}

// TestE48_PendingCalls: one call too many is refused with an error that says so, and
// that is on record: a replay has it too, also under another limit. A call may
// begin when another has ended.
func TestE48_PendingCalls(t *testing.T) {
	hoards := workflow.New("hoards", func(wf *workflow.Context, n int) (string, error) {
		var all []workflow.Timer
		for i := range n {
			all = append(all, workflow.NewTimer(wf, time.Duration(i+1)*time.Hour))
		}
		refused := 0
		for _, timer := range all {
			var tooMany *history.LimitError
			if err := timer.Wait(wf); errors.As(err, &tooMany) && tooMany.What == "pending calls" {
				refused++
			} else if err != nil {
				return "", err
			}
		}
		err := workflow.Sleep(wf, time.Minute)
		return fmt.Sprint(refused, " refused"), err
	}, workflow.Version("1"))
	inBothModes(t, func(t *testing.T, w *world) {
		c := w.config(hoards)
		c.MaxPendingCalls = 10
		e := w.startWith(c)
		begin(t, e, hoards, "w", 12)
		pass(time.Minute)
		if d := describe(t, e, "w"); len(d.Pending) != 10 || len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "it has 10 pending calls") {
			t.Errorf("pending are %d calls, the warnings are %q", len(d.Pending), d.Warnings)
		}
		stop(t, e)
		e = w.start(hoards)
		if text, err := finish[string](t, e, "w"); text != "2 refused" || err != nil {
			t.Errorf("it ended with %q, %v", text, err)
		}
	})
}

// TestE48_LimitsThatCannotBe: a limit below zero is none.
func TestE48_LimitsThatCannotBe(t *testing.T) {
	w := newWorld(t)
	c := w.config()
	c.MaxHistory, c.MaxPendingCalls, c.MaxAbandoned, c.MaxSignalBacklog = -1, -2, -3, -4
	_, err := engine.Open(t.Context(), c)
	for _, want := range []string{
		"the history limit is -1: it must be at least 1, or 0 for the default (50000)",
		"the limit of pending calls is -2: it must be at least 1, or 0 for the default (10000)",
		"the limit of unread signals is -4: it must be at least 1, or 0 for the default (10000)",
		"the limit of abandoned goroutines is -3: it must be at least 1, or 0 for the default (128)",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// stuckRuns begins runs whose code blocks until the test ends, and waits until they
// are given up.
func stuckRuns(t *testing.T, e *engine.Engine, order workflow.Workflow[int, int], n int) {
	t.Helper()
	for i := range n {
		go tryBegin(t.Context(), e, order, fmt.Sprint("stuck ", i), 1)
	}
	pass(11 * time.Second)
}

// TestE47_TooManyStuck: up to the limit, turns that never end are reported and cost other runs
// nothing. Above it the engine starts nothing more, even if the code returns, and reports that
// its process should be restarted. Starts that it accepts are durable, and another process
// runs them.
func TestE47_TooManyStuck(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		release := make(chan struct{})
		order := stuckOrder("1", func(string) { <-release })
		other := workflow.New("other", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, reserve, n) })
		c := w.config(order, other, reserve)
		c.MaxAbandoned = 2
		e := w.startWith(c)
		stuckRuns(t, e, order, 2)
		if got := complete(t, e, other, "before", 5); got != 6 {
			t.Errorf("up to the cap: %d", got)
		}
		if err := e.Health(); err == nil || strings.Contains(err.Error(), "restart its process") {
			t.Errorf("up to the cap it says %v", err)
		}
		go tryBegin(t.Context(), e, order, "one more", 1)
		pass(11 * time.Second)
		for range 2 {
			if err := e.Health(); err == nil || !strings.Contains(err.Error(), "more than 2 turns of workflow code never ended, so this engine starts nothing new") {
				t.Errorf("above the cap it says %v", err)
			}
			select {
			case <-release:
			default:
				close(release)
				settle()
			}
		}
		if n := w.log.count("too many turns of workflow code never ended"); n != 1 {
			t.Errorf("it was logged %d times", n)
		}
		begin(t, e, other, "after", 5)
		pass(time.Minute)
		if d := describe(t, e, "after"); d.Status != "running" || len(attemptsOf(t, e, "after")) > 0 {
			t.Errorf("above the cap a run is %s", d.Status)
		}
		stop(t, e)
		e = w.start(order, other, reserve)
		if n, err := finish[int](t, e, "after"); n != 6 || err != nil {
			t.Errorf("in another process: %d, %v", n, err)
		}
	})
}

// TestE47_TooManyStuckOfTwoNodes: what a node that drains has goes to another one.
func TestE47_TooManyStuckOfTwoNodes(t *testing.T) {
	inAGroup(t, func(t *testing.T, w *world) {
		release := make(chan struct{})
		defer close(release)
		order := stuckOrder("1", func(string) { <-release })
		waits := workflow.New("waits", func(wf *workflow.Context, n int) (int, error) {
			if err := workflow.Sleep(wf, time.Minute); err != nil {
				return 0, err
			}
			return workflow.Call(wf, reserve, n)
		})
		first, second := w.config(order, waits, reserve), w.config(waits, reserve)
		first.Node, second.Node = "one", "two"
		first.MaxAbandoned = 1
		a := w.startWith(first)
		for i := range 8 {
			begin(t, a, waits, fmt.Sprint(i), i)
		}
		b := w.startWith(second)
		stuckRuns(t, a, order, 8) // of which half are the other's, who has not their code
		pass(time.Minute)
		for i := range 8 {
			if n, err := finish[int](t, b, fmt.Sprint(i)); n != i+1 || err != nil {
				t.Errorf("run %d: %d, %v", i, n, err)
			}
		}
		nodes, err := b.Nodes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes {
			if n.Name == "one" && n.Partitions != 0 {
				t.Errorf("the node that drains has %d partitions", n.Partitions)
			}
		}
	})
}
