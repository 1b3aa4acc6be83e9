package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/workflow"
)

// finishLine notes in which order calls run, and how long each takes.
type finishLine struct {
	mu   sync.Mutex
	came []string
}

func (f *finishLine) activity(opts ...activity.Option) activity.Activity[string, int] {
	return activity.New("pass", func(ctx context.Context, who string) (int, error) {
		f.mu.Lock()
		f.came = append(f.came, who)
		f.mu.Unlock()
		return 0, busy(ctx, time.Second)
	}, opts...)
}

// passing is a workflow that calls the activity once.
func passing(a activity.Activity[string, int], opts ...activity.Option) workflow.Workflow[string, int] {
	return workflow.New("passing", func(wf *workflow.Context, who string) (int, error) { return workflow.Call(wf, a, who, opts...) })
}

func (f *finishLine) order() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.came, " ")
}

// prioritized starts a run with a priority.
func prioritized[In, Out any](t *testing.T, e *engine.Engine, w workflow.Workflow[In, Out], id string, in In, priority int) {
	t.Helper()
	input, err := history.Encode(in)
	if err == nil {
		_, _, err = e.StartRun(t.Context(), request.Start{WorkflowID: id, Type: w.Name(), Input: input, Settings: history.Settings{Priority: priority}})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestE49_PriorityDecidesWhoGetsASlot: where slots are short, calls of runs with a
// higher priority go first, and in the order in which they came among those of one;
// runs that follow in a chain, and children, have that of the first; a call, or a
// child, may have one of its own. After a crash it is the same.
func TestE49_PriorityDecidesWhoGetsASlot(t *testing.T) {
	for _, crash := range []bool{false, true} {
		t.Run(map[bool]string{false: "calm", true: "after a crash"}[crash], func(t *testing.T) {
			needsQueries.inBothModes(t, func(t *testing.T, w *world) {
				var line finishLine
				pass1 := line.activity()
				once := passing(pass1)
				urgent := workflow.New("urgent", func(wf *workflow.Context, who string) (int, error) {
					return workflow.Call(wf, pass1, who, activity.Priority(9))
				})
				again := workflow.New("again", func(wf *workflow.Context, who string) (int, error) {
					if who == "first" {
						return workflow.ContinueAsNew(wf, workflow.Declare[string, int]("again"), "chain")
					}
					return workflow.Call(wf, pass1, who)
				})
				parent := workflow.New("parent", func(wf *workflow.Context, _ string) (int, error) {
					heir := workflow.RunChildAsync(wf, once, "heir", workflow.ChildID("heir"))
					other := workflow.RunChildAsync(wf, once, "other", workflow.ChildID("other"), workflow.Priority(-7))
					return 0, workflow.WaitAll(wf, heir, other)
				})
				config := w.config(once, urgent, again, parent, holding, pass1, hold)
				config.Concurrency = 1
				e := w.startWith(config)
				begin(t, e, holding, "holder", time.Minute)
				settle()
				for i, priority := range []int{0, -5, 5, 0, 5, -5, 1000, -1000} {
					prioritized(t, e, once, fmt.Sprint("w", i), fmt.Sprintf("%d(%d)", i, priority), priority)
					settle()
				}
				prioritized(t, e, urgent, "urgent", "urgent", -9)
				prioritized(t, e, again, "again", "first", 3)
				prioritized(t, e, parent, "parent", "", 4)
				pass(time.Second)
				for id, want := range map[string]int{"again": 3, "heir": 4, "other": -7, "w0": 0, "w7": -1000} {
					if d := describe(t, e, id); d.Priority != want {
						t.Errorf("%s has priority %d, want %d", id, d.Priority, want)
					}
				}
				if crash {
					w.kill(e)
					e = w.startWith(config)
				}
				awaitAll(t, e)
				want := "6(1000) urgent 2(5) 4(5) heir chain 0(0) 3(0) 1(-5) 5(-5) other 7(-1000)"
				if got := line.order(); crash { // who came first among those of one priority is not on record
					same(t, "ranks", ranks(got), ranks(want))
				} else {
					same(t, "order", got, want)
				}
			})
		})
	}
}

// ranks normalizes an order: two neighbors of the same priority may come in either order.
func ranks(order string) string {
	all := strings.Fields(order)
	slices.SortStableFunc(all, func(a, b string) int {
		_, x, is := strings.Cut(a, "(")
		_, y, also := strings.Cut(b, "(")
		if is && also && x == y {
			return strings.Compare(a, b)
		}
		return 0
	})
	return strings.Join(all, " ")
}

// TestE49_PriorityAtGates: a call that waits for a gate has the priority of its run,
// unless it has one of its own.
func TestE49_PriorityAtGates(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		var line finishLine
		pass1 := line.activity(activity.Through(gate.New("door", 1)))
		once := passing(pass1)
		urgent := workflow.New("urgent", func(wf *workflow.Context, who string) (int, error) {
			return workflow.Call(wf, pass1, who, activity.Priority(9))
		})
		e := w.start(once, urgent, pass1)
		prioritized(t, e, once, "holder", "holder", 0)
		settle()
		for i, priority := range []int{0, -5, 5, 0} {
			prioritized(t, e, once, fmt.Sprint("w", i), fmt.Sprintf("%d(%d)", i, priority), priority)
			settle()
		}
		prioritized(t, e, urgent, "urgent", "urgent", -9)
		awaitAll(t, e)
		same(t, "order", line.order(), "holder urgent 2(5) 0(0) 3(0) 1(-5)")
	})
}

// awaitAll waits until no run is open.
func awaitAll(t *testing.T, e *engine.Engine) {
	t.Helper()
	for range 1000 {
		counts, err := e.Counts(t.Context(), 0)
		if err == nil && counts.Runs["running"] == 0 {
			return
		}
		pass(time.Second)
	}
	t.Fatal("some runs do not come to an end")
}

// TestE49_PriorityIsKeptInBounds: one that is none is refused.
func TestE49_PriorityIsKeptInBounds(t *testing.T) {
	w := newWorld(t)
	e := w.start(whenItBegan)
	for priority, want := range map[int]string{
		1000: "", -1000: "",
		1001:  "the priority is 1001; it is between -1000 and 1000, and 0 is the default",
		-1001: "the priority is -1001; it is between -1000 and 1000, and 0 is the default",
	} {
		_, err := startWith(t, e, fmt.Sprint(priority), request.Start{Settings: history.Settings{Priority: priority}})
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%d: %v, want %q", priority, err, want)
		}
	}
}

// TestE49_SlotsAreNotKeptBackForLong: a node that starts does not wait for ever for a
// run that is slow to load, before it knows who has the highest priority.
func TestE49_SlotsAreNotKeptBackForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var line finishLine
		pass1 := line.activity()
		once := passing(pass1)
		block := make(chan struct{})
		stuck := false
		slow := workflow.New("slow", func(wf *workflow.Context, _ string) (int, error) {
			if stuck {
				<-block //perdure:deterministic the test is about code that does not come back
			}
			return workflow.Call(wf, pass1, "slow")
		})
		config := w.config(once, slow, holding, pass1, hold)
		config.Concurrency = 1
		e := w.startWith(config)
		begin(t, e, holding, "holder", time.Minute)
		settle()
		begin(t, e, slow, "slow", "")
		prioritized(t, e, once, "quick", "quick", 1) // before the holder, which starts again, too
		inLine()
		w.kill(e)
		stuck = true
		w.startWith(config)
		pass(900 * time.Millisecond)
		same(t, "at first", line.order(), "")
		pass(200 * time.Millisecond)
		same(t, "a second later", line.order(), "quick")
		close(block)
	})
}
