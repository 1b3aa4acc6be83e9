package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// lineStep is how many runs begin at a time without slots.
const lineStep = 32

// idleWorkers is how many idle goroutines a pool of workers keeps at most.
const idleWorkers = 256

// startAll starts runs from a few goroutines, as fast as they are taken.
func startAll(t *testing.T, e *engine.Engine, flow workflow.Workflow[int, int], n int, req request.Start) {
	t.Helper()
	req.Type = flow.Name()
	req.Input, _ = history.Encode(0)
	var starts sync.WaitGroup
	const callers = 20
	for c := range callers {
		starts.Go(func() {
			for i := c; i < n; i += callers {
				req := req
				req.WorkflowID = fmt.Sprint(flow.Name(), " ", i)
				if _, _, err := e.StartRun(t.Context(), req); err != nil {
					t.Errorf("start %d: %v", i, err)
				}
			}
		})
	}
	starts.Wait()
}

// demandCompleted fails for each of n runs of a workflow that has not completed.
func demandCompleted(t *testing.T, e *engine.Engine, name string, n int) {
	t.Helper()
	counts, err := e.Counts(t.Context(), 0)
	if err != nil || counts.Runs[view.StatusCompleted] < n || counts.Runs[view.StatusRunning] > 0 {
		t.Errorf("the runs of %s are %v, want %d completed ones; %v", name, counts.Runs, n, err)
	}
}

// TestE102_RunsInLineAreRows: many more runs are started than there are slots. None is
// refused, and however many there are, memory holds a bounded number of them, while they
// wait, while they are worked off, and when a process starts in which they wait.
func TestE102_RunsInLineAreRows(t *testing.T) {
	extent.Unwatched(t, "it is about a number")
	starts, slots, kept := extent.AtNight(1000, 5000), 4, 50
	needsQueries.inVirtualTime(t, func(t *testing.T, w *world) {
		work := activity.New("work", func(ctx context.Context, n int) (int, error) { return n, busy(ctx, 100*time.Millisecond) })
		once := calls(work)
		config := w.config(once, work, holding, hold)
		config.Concurrency, config.MaxResident, config.MaxAtWork = slots, kept, kept
		e := w.startWith(config)
		idle := goroutinesHere()
		startAll(t, e, once, starts, request.Start{})
		most, routines := 0, 0
		look := func() {
			most = max(most, engine.InMemory(e))
			synctest.Wait() // goroutines that are ending are no runs
			routines = max(routines, goroutinesHere()-idle)
		}
		for range 20 {
			look()
			pass(time.Second)
		}
		w.kill(e)
		e = w.startWith(config)
		for range 4 * starts / slots / 10 {
			look()
			pass(time.Second)
		}
		demandCompleted(t, e, once.Name(), starts)
		// The code of a run in memory has a goroutine, and so has an attempt. Beside them are
		// idle workers, for steps and for attempts.
		if most > 2*kept+slots+lineStep || routines > 2*kept+2*slots+lineStep+2*idleWorkers {
			t.Errorf("%d runs were in memory at a time, and %d goroutines more than before", most, routines)
		}
		demandSlots(t, e, slots)
	})
}

// goroutinesHere counts the goroutines of this test's bubble: other tests run beside it.
func goroutinesHere() int {
	own := make([]byte, 200)
	head, _, _ := bytes.Cut(own[:runtime.Stack(own, false)], []byte("\n"))
	_, bubble, ok := bytes.Cut(head, []byte("synctest bubble "))
	if !ok {
		panic("a goroutine of no bubble: " + string(head))
	}
	for size := 1 << 20; ; size *= 2 {
		all := make([]byte, size)
		if n := runtime.Stack(all, true); n < size {
			return bytes.Count(all[:n], append([]byte("synctest bubble "), bubble...))
		}
	}
}

// TestE102_ManyBegunRunsThatWaitForSlotsLeaveMemory: if many runs that have begun want slots
// at the same time, those beyond the number of kept runs are evicted.
func TestE102_ManyBegunRunsThatWaitForSlotsLeaveMemory(t *testing.T) {
	const starts, slots, kept = 1000, 2, 20
	needsNumbers.inVirtualTime(t, func(t *testing.T, w *world) {
		work := activity.New("work", func(ctx context.Context, n int) (int, error) { return n, busy(ctx, 100*time.Millisecond) })
		morning := workflow.New("morning", func(wf *workflow.Context, n int) (int, error) {
			if err := workflow.Sleep(wf, time.Hour); err != nil {
				return 0, err
			}
			return workflow.Call(wf, work, n)
		})
		config := w.config(morning, work, holding, hold)
		config.Concurrency, config.MaxResident = slots, kept
		e := w.startWith(config)
		startAll(t, e, morning, starts, request.Start{})
		pass(time.Hour)
		for range 2 {
			pass(3 * time.Second)
			if n := engine.InMemory(e); n > 2*(kept+slots) {
				t.Errorf("%d runs are in memory", n)
			}
			w.kill(e)
			e = w.startWith(config)
		}
		pass(time.Minute)
		demandCompleted(t, e, morning.Name(), starts)
		demandSlots(t, e, slots)
	})
}

// TestE102_ARunBeginsWithItsSlot: however many runs are started, no call of theirs waits for
// a slot after its run has begun, so each step is one turn. A caller that waits for the end
// of a run causes one write at its beginning, not two.
func TestE102_ARunBeginsWithItsSlot(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		const runs, slots = 40, 2
		brief := activity.New("brief", func(ctx context.Context, n int) (int, error) { return n, busy(ctx, time.Millisecond) })
		chain := workflow.New("chain", func(wf *workflow.Context, n int) (int, error) {
			for range 5 {
				if _, err := workflow.Call(wf, brief, n); err != nil {
					return 0, err
				}
			}
			return n, nil
		})
		config := w.config(chain, brief, holding, hold)
		config.Concurrency = slots
		e := w.startWith(config)
		for _, forEnd := range []bool{true, false} {
			name := fmt.Sprint("for its end: ", forEnd, " ")
			var all sync.WaitGroup
			for i := range runs {
				all.Go(func() {
					if _, _, err := e.StartRun(t.Context(), request.Start{WorkflowID: fmt.Sprint(name, i), Type: chain.Name(), Input: *payload(t, i), ForEnd: forEnd}); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			for i := range runs {
				id := fmt.Sprint(name, i)
				if got, err := finish[int](t, e, id); got != i || err != nil {
					t.Errorf("run %s: %d, %v", id, got, err)
				}
				if n := queuedCalls(t, e, id); n != 0 {
					t.Errorf("%d calls of run %s waited for a slot", n, id)
				}
			}
		}
		demandSlots(t, e, slots)
	})
}

// TestE103_TheLineHasAnOrder: those of the highest priority begin first, in the order in
// which they were started, before a crash and after it; and those that are in the database
// alone begin after those that are not.
func TestE103_TheLineHasAnOrder(t *testing.T) {
	extent.Unwatched(t, "it is about an order")
	needsQueries.inVirtualTime(t, func(t *testing.T, w *world) {
		const many = 1500
		var line finishLine
		pass1 := line.activity()
		once := passing(pass1)
		crowd := calls(hold1)
		config := w.config(once, crowd, pass1, hold1)
		config.Concurrency = 1
		e := w.startWith(config)
		startAll(t, e, crowd, many, request.Start{})
		for i, priority := range []int{0, 3, -2, 3, 7} {
			prioritized(t, e, once, fmt.Sprint(i), fmt.Sprint(i), priority)
			pass(time.Millisecond)
		}
		same(t, "while the slot is taken", line.order(), "")
		w.kill(e)
		e = w.startWith(config)
		pass(3 * time.Second)
		same(t, "first", line.order(), "4 1 3")
		pass(time.Hour)
		same(t, "in the end", line.order(), "4 1 3 0 2")
		demandCompleted(t, e, crowd.Name(), many)
	})
}

var hold1 = activity.New("hold1", func(ctx context.Context, n int) (int, error) { return n, busy(ctx, time.Second) })

// TestE103_AMessageLetsARunBegin: a message or query for a run in line does not wait for the
// line.
func TestE103_AMessageLetsARunBegin(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		where := workflow.NewQuery[string, string]("where")
		asked := workflow.New("asked", func(wf *workflow.Context, _ int) (string, error) {
			workflow.HandleQuery(wf, where, func(in string) (string, error) { return in + " here", nil })
			if got, err := workflow.Receive(wf, proceed); err != nil {
				return "", err
			} else if got != "" {
				return got, nil
			}
			_, err := workflow.Call(wf, hold, time.Hour)
			return "", err
		})
		config := w.config(holding, asked, hold)
		config.Concurrency = 1
		e := w.startWith(config)
		for i := range 100 { // the first has the slot, and the others are in line
			begin(t, e, holding, fmt.Sprint("holder ", i), 24*time.Hour)
		}
		for verb, speak := range map[string]func(id string) error{
			"signal":    func(id string) error { signal(t, e, id, "proceed", "", "on"); return nil },
			"cancel":    func(id string) error { return e.Cancel(t.Context(), id, "", request.By{}) },
			"terminate": func(id string) error { return e.Terminate(t.Context(), id, "", request.By{}) },
		} {
			begin(t, e, asked, verb, 0)
			d := describe(t, e, verb)
			if d.Status != view.StatusRunning || d.HistoryLength != 0 {
				t.Fatalf("%s: the run has begun already: %+v", verb, d)
			}
			if why, err := e.Why(t.Context(), verb, ""); why != "it has not begun: it waits for a free slot of its node" || err != nil {
				t.Errorf("%s: why it waits: %q, %v", verb, why, err)
			}
			began := time.Now()
			if err := speak(verb); err != nil {
				t.Error(err)
			}
			got, err := finish[string](t, e, verb)
			if verb == "signal" && (got != "on" || err != nil) || verb != "signal" && err == nil {
				t.Errorf("%s: %q, %v", verb, got, err)
			}
			if took := time.Since(began); took != 0 {
				t.Errorf("%s took %s", verb, took)
			}
		}
		begin(t, e, asked, "query", 0)
		if got, err := query(t.Context(), e, "query", "where", "is it"); got != "is it here" || err != nil {
			t.Errorf("the query: %s, %v", got, err)
		}
	})
}

// TestE103_WhatASlotWaitsForBegins: bodies that wait for runs which they start, and trees of
// runs that are deeper and wider than there are slots, finish. No run that a slot holder waits
// for stays in line for ever.
func TestE103_WhatASlotWaitsForBegins(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		var e *engine.Engine
		pure := workflow.New("pure", func(_ *workflow.Context, n int) (int, error) { return n, nil })
		asks := activity.New("asks", func(ctx context.Context, n int) (int, error) {
			id := fmt.Sprint("asked ", n)
			if _, _, err := tryBegin(ctx, e, pure, id, n); err != nil {
				return 0, err
			}
			_, _, err := e.Result(ctx, id, "")
			return n, err
		})
		work := activity.New("work", func(ctx context.Context, n int) (int, error) { return n, busy(ctx, time.Millisecond) })
		var tree workflow.Workflow[int, int]
		tree = workflow.New("tree", func(wf *workflow.Context, depth int) (int, error) {
			n, err := workflow.Call(wf, work, 1)
			if depth == 0 || err != nil {
				return n, err
			}
			a, b := workflow.RunChildAsync(wf, tree, depth-1), workflow.RunChildAsync(wf, tree, depth-1)
			x, err := a.Get(wf)
			y, failed := b.Get(wf)
			return n + x + y, errors.Join(err, failed)
		})
		asking := calls(asks)
		config := w.config(pure, asking, tree, asks, work, holding, hold)
		config.Concurrency = 2
		e = w.startWith(config)
		for i := range 10 {
			begin(t, e, asking, fmt.Sprint("asking ", i), i)
		}
		begin(t, e, tree, "tree", 5)
		pass(time.Hour)
		for i := range 10 {
			if got, err := finish[int](t, e, fmt.Sprint("asking ", i)); got != i || err != nil {
				t.Errorf("run %d: %d, %v", i, got, err)
			}
		}
		if got, err := finish[int](t, e, "tree"); got != 63 || err != nil {
			t.Errorf("the tree: %d, %v", got, err)
		}
		demandSlots(t, e, 2)
	})
}

// TestE103_WhoBeginsWhileItLeavesMemoryBegins: a run whose row is just written is not
// forgotten because it is still in memory when its turn comes.
func TestE103_WhoBeginsWhileItLeavesMemoryBegins(t *testing.T) {
	beginsInBetween(t, engine.BeginWhileLeaving)
}

// TestE103_WhoBeginsBeforeItsRowIsWrittenBegins: who may begin when its row is about to be written
// begins once it is.
func TestE103_WhoBeginsBeforeItsRowIsWrittenBegins(t *testing.T) {
	beginsInBetween(t, engine.BeginWhileWritten)
}

// beginsInBetween demands that a run begins which is let begin at a certain moment.
func beginsInBetween(t *testing.T, let func(*engine.Engine, *history.Start) error) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		pure := workflow.New("pure", func(_ *workflow.Context, n int) (int, error) { return n, nil })
		config := w.config(pure, holding, hold)
		config.Concurrency, config.InboxEvery = 1, 24*time.Hour
		e := w.startWith(config)
		begin(t, e, holding, "holder", time.Hour)
		pass(time.Second)
		id := ident.NewRun(here())
		start := history.Start{WorkflowID: "late", Run: id, Type: pure.Name(), Chain: id, Attempt: 1, Input: *payload(t, 1), Created: here()}
		if err := let(e, &start); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if d := describe(t, e, "late"); d.Status != view.StatusCompleted {
			t.Errorf("the run is %s", d.Status)
		}
	})
}

// TestE102_SlowWorkDoesNotLetAllBegin: while slots are taken for long, so that the line
// moves without them, most of it stays rows that have not begun.
func TestE102_SlowWorkDoesNotLetAllBegin(t *testing.T) {
	const starts, bound = 5000, 3000
	needsNumbers.inVirtualTime(t, func(t *testing.T, w *world) {
		work := activity.New("work", func(ctx context.Context, n int) (int, error) { return n, busy(ctx, 10*time.Second) })
		slow := calls(work)
		config := w.config(slow, work, holding, hold)
		config.Concurrency, config.MaxResident = 4, 50
		e := w.startWith(config)
		startAll(t, e, slow, starts, request.Start{})
		pass(time.Minute)
		if n := engine.Begun(e); n == 0 || n > bound {
			t.Errorf("%d of %d runs have begun and wait for slots", n, starts)
		}
	})
}
