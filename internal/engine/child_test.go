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
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// napper is a child that sleeps and answers, or says why not.
var napper = workflow.New("sleeper", func(wf *workflow.Context, d time.Duration) (string, error) {
	if err := workflow.Sleep(wf, d); err != nil {
		return "", err
	}
	return "slept " + d.String(), nil
})

// TestE40_AChildIsAwaited: a run starts a child and gets its result. The views of both name
// the other, while they run and afterwards.
func TestE40_AChildIsAwaited(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		parent := workflow.New("parent", func(wf *workflow.Context, d time.Duration) (string, error) {
			if err := workflow.Sleep(wf, time.Minute); err != nil {
				return "", err
			}
			out, err := workflow.RunChild(wf, napper, d, workflow.Memo("for the parent"),
				workflow.Attributes(map[string]string{"of": "p"}))
			return out + "!", err
		})
		e := w.start(parent, napper)
		run := begin(t, e, parent, "p", time.Hour)
		pass(2 * time.Minute)
		call := onlyCall(t, e, "p")
		id := "p/sleeper/2-" + run[strings.LastIndex(run, "-")+1:]
		if c := call.Child; call.Kind != "child" || call.Name != "sleeper" || c == nil || c.WorkflowID != id || c.Status != "running" || c.OnParentClose != "cancel" {
			t.Fatalf("the parent waits for %+v, %+v", call, call.Child)
		}
		child := describe(t, e, id)
		if p := child.Parent; p == nil || *p != (view.Parent{WorkflowID: "p", RunID: run, Call: 2}) || child.RunID != call.Child.RunID || child.Memo.String() != `"for the parent"` {
			t.Errorf("the child is %+v, of %+v", child, child.Parent)
		}
		found, err := e.List(t.Context(), view.Filter{Attributes: map[string]string{"of": "p"}})
		if err != nil || len(found) != 1 || found[0].WorkflowID != id || child.Attributes["of"] != "p" {
			t.Errorf("found by the child's attribute are %+v, %v; the child has %v", found, err, child.Attributes)
		}
		if got, err := finish[string](t, e, "p"); got != "slept 1h0m0s!" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		if d := describe(t, e, id); d.Status != "completed" {
			t.Errorf("the child is %s", d.Status)
		}
		if counts, err := e.Counts(t.Context(), 0); err != nil || counts.Runs["completed"] != 2 {
			t.Errorf("there are %+v, %v", counts, err)
		}
	})
}

// TestE4_ErrorsOfChildren: the error of a child reaches the code of its parent as the same
// error, live and in each replay, and also the callers that wait for the parent's result.
func TestE4_ErrorsOfChildren(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		failing := workflow.New("failing", func(*workflow.Context, string) (string, error) {
			return "", fmt.Errorf("no stock: %w", errRefused)
		})
		var mu sync.Mutex
		var seen []string
		parent := workflow.New("parent", func(wf *workflow.Context, how string) (string, error) {
			var err error
			switch how {
			case "taken":
				_, err = workflow.RunChild(wf, napper, time.Hour, workflow.ChildID("taken"))
			case "failed":
				_, err = workflow.RunChild(wf, failing, "in", workflow.ChildID("child-"+how))
			default:
				_, err = workflow.RunChild(wf, napper, time.Hour, workflow.ChildID("child-"+how))
			}
			mu.Lock() //perdure:deterministic the test looks at each replay, of four parents at once
			seen = append(seen, how+": "+verdict(err))
			mu.Unlock()                                             //perdure:deterministic see above
			if err := workflow.Sleep(wf, time.Minute); err != nil { // a replay comes by here again
				return "", err
			}
			return "", err
		})
		e := w.start(parent, napper, failing)
		taken := begin(t, e, napper, "taken", 2*time.Hour)
		want := map[string]string{
			"failed":     `child "child-failed" of workflow "failing" failed: no stock: refused; failed; refused true; canceled false`,
			"canceled":   `child "child-canceled" of workflow "sleeper" was canceled: sleep was canceled in attempt 1 (execution): canceled: enough; canceled; refused false; canceled true`,
			"terminated": `child "child-terminated" of workflow "sleeper" was terminated (enough); terminated; refused false; canceled false`,
			"taken":      `child of workflow "sleeper" was not started: workflow ID "taken" belongs to run ` + taken + ` (running); a child needs an ID that no other run has; in use; refused false; canceled false`,
		}
		for how := range want {
			begin(t, e, parent, "parent-"+how, how)
		}
		pass(10 * time.Second)
		if err := errors.Join(e.Cancel(t.Context(), "child-canceled", "", request.By{Why: "enough"}), e.Terminate(t.Context(), "child-terminated", "", request.By{Why: "enough"})); err != nil {
			t.Fatal(err)
		}
		for how, verdictWanted := range want {
			_, err := finish[string](t, e, "parent-"+how)
			if got := verdict(err); got != verdictWanted {
				t.Errorf("%s: the client is told\n%s and not\n%s", how, got, verdictWanted)
			}
			mu.Lock()
			saw := slices.Clone(seen)
			mu.Unlock()
			n := 0
			for _, s := range saw {
				if strings.HasPrefix(s, how+": ") {
					if n++; s != how+": "+verdictWanted {
						t.Errorf("the parent saw\n%s", s)
					}
				}
			}
			if n == 0 {
				t.Errorf("%s: the parent saw nothing", how)
			}
		}
		if d := describe(t, e, "taken"); d.Status != "running" || d.RunID != taken {
			t.Errorf("the run that had the ID is %+v", d)
		}
	})
}

// verdict is an error as text, and what errors.Is and errors.As find in it.
func verdict(err error) string {
	how := "in use"
	if child, is := errors.AsType[*workflow.ChildError](err); is {
		how = child.Status
		if child.RunID == "" || child.WorkflowID == "" || child.Workflow == "" {
			how += " of nobody"
		}
	} else if used, is := errors.AsType[*workflow.ChildIDInUseError](err); !is || used.RunID == "" {
		how = "something else"
	}
	return fmt.Sprintf("%v; %s; refused %t; canceled %t", err, how, errors.Is(err, errRefused), errors.Is(err, context.Canceled))
}

// TestE44_AParentSeesTheEndOfAChain: a child that continues as new or is retried keeps its
// parent, which gets the outcome of the last run only.
func TestE44_AParentSeesTheEndOfAChain(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		counter := workflow.Declare[int, int]("counter")
		fragile := workflow.New("fragile", func(wf *workflow.Context, good int) (int, error) {
			if attempt := workflow.GetInfo(wf).Attempt; attempt < good {
				return 0, fmt.Errorf("attempt %d: %w", attempt, errRefused)
			}
			return good, nil
		})
		parent := workflow.New("parent", func(wf *workflow.Context, _ string) (string, error) {
			policy := workflow.RetryPolicy(exactRuns(3, time.Hour))
			n, err := workflow.RunChild(wf, counter, 1, workflow.ChildID("counted"))
			good, err2 := workflow.RunChild(wf, fragile, 3, policy, workflow.ChildID("good"))
			_, bad := workflow.RunChild(wf, fragile, 4, policy)
			exhausted, _ := errors.AsType[*retry.ExhaustedError](bad)
			if errors.Join(err, err2) != nil || exhausted == nil {
				return "", fmt.Errorf("%w, %w, %w", err, err2, bad)
			}
			return fmt.Sprint(n, good, exhausted.Attempts, errors.Is(bad, errRefused)), nil
		})
		e := w.start(parent, fragile, counter.Impl(func(wf *workflow.Context, n int) (int, error) {
			if err := workflow.Sleep(wf, time.Second); err != nil || n == 4 {
				return n, err
			}
			return workflow.ContinueAsNew(wf, counter, n+1)
		}))
		begin(t, e, parent, "p", "")
		if got, err := finish[string](t, e, "p"); got != "4 3 3 true" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		for _, id := range []string{"counted", "good"} {
			d := describe(t, e, id)
			if d.Parent == nil || d.Parent.WorkflowID != "p" || len(d.Chain) < 3 {
				t.Errorf("%s has the parent %+v and the chain %+v", id, d.Parent, d.Chain)
			}
		}
	})
}

// TestE45_CancelPassesDown: a parent that is canceled asks its child to cancel and
// waits for it, which takes the time of its clean-up; a shield keeps it from that.
func TestE45_CancelPassesDown(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		tidy := workflow.New("tidy", func(wf *workflow.Context, _ int) (string, error) {
			err := workflow.Sleep(wf, time.Hour)
			if err != nil {
				_ = workflow.Sleep(workflow.Shield(wf), time.Minute)
			}
			return "tidied", err
		})
		parent := workflow.New("parent", func(wf *workflow.Context, shielded bool) (string, error) {
			in := wf
			if shielded {
				in = workflow.Shield(wf)
			}
			return workflow.RunChild(in, tidy, 0, workflow.ChildID("child-of-"+workflow.GetInfo(wf).WorkflowID))
		})
		e := w.start(parent, tidy)
		began := time.Now()
		begin(t, e, parent, "open", false)
		begin(t, e, parent, "shielded", true)
		pass(time.Minute)
		if err := errors.Join(e.Cancel(t.Context(), "open", "", request.By{Why: "enough"}), e.Cancel(t.Context(), "shielded", "", request.By{Why: "enough"})); err != nil {
			t.Fatal(err)
		}
		_, err := finish[string](t, e, "open")
		if why, is := errors.AsType[*workflow.CancelError](err); !is || why.Reason != "enough" || time.Since(began) < 2*time.Minute {
			t.Errorf("after %s the parent ended with %v", time.Since(began), err)
		}
		if d := describe(t, e, "open"); d.Status != "canceled" {
			t.Errorf("the parent is %s", d.Status)
		}
		if got, err := finish[string](t, e, "shielded"); got != "tidied" || err != nil {
			t.Errorf("the shielded one: %q, %v", got, err)
		}
		for id, want := range map[string]string{"child-of-open": "canceled", "child-of-shielded": "completed"} {
			if d := describe(t, e, id); d.Status != want {
				t.Errorf("%s is %s", id, d.Status)
			}
		}
	})
}

// TestE44_ParentClose: whatever ends a run, its open children are dealt with as their
// policies say, and so are those that lose a race.
func TestE44_ParentClose(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		again := workflow.Declare[string, string]("parent")
		policies := []workflow.ParentClosePolicy{workflow.ParentCloseCancel, workflow.ParentCloseTerminate, workflow.ParentCloseAbandon}
		parent := again.Impl(func(wf *workflow.Context, how string) (string, error) {
			info := workflow.GetInfo(wf)
			if how == "over" {
				return "", nil
			}
			var losers []workflow.Waitable
			for _, p := range policies {
				losers = append(losers, workflow.RunChildAsync(wf, napper, time.Hour, workflow.OnParentClose(p), workflow.ChildID(fmt.Sprint(info.WorkflowID, ":", p, ":", info.Attempt))))
			}
			if err := workflow.Sleep(wf, time.Minute); err != nil {
				return "", err
			}
			switch how {
			case "continues":
				return workflow.ContinueAsNew(wf, again, "over")
			case "fails", "retries":
				return "", errRefused
			case "races":
				workflow.Select(wf, append(losers, workflow.NewTimer(wf, time.Second))...)
				return "", workflow.Sleep(wf, time.Minute)
			case "waits":
				return "", workflow.Sleep(wf, 24*time.Hour)
			}
			return "", nil
		})
		e := w.start(parent, napper)
		hows := []string{"completes", "fails", "continues", "races", "waits", "retries"}
		for _, how := range hows {
			req := request.Start{WorkflowID: how, Type: "parent"}
			req.Input, _ = history.Encode(how)
			if how == "retries" {
				p := exactRuns(2, time.Second)
				req.Retry = &p
			}
			if _, _, err := e.StartRun(t.Context(), req); err != nil {
				t.Fatal(err)
			}
		}
		pass(65 * time.Second)
		if err := e.Terminate(t.Context(), "waits", "", request.By{Why: "no"}); err != nil {
			t.Fatal(err)
		}
		pass(90 * time.Second)
		for _, how := range hows {
			for i, p := range policies {
				attempts := []int{1}
				if how == "retries" {
					attempts = []int{1, 2}
				}
				for _, n := range attempts {
					id := fmt.Sprint(how, ":", p, ":", n)
					if d, want := describe(t, e, id), []string{"canceled", "terminated", "running"}[i]; d.Status != want {
						t.Errorf("%s is %s, not %s", id, d.Status, want)
					}
				}
			}
		}
		pass(2 * time.Hour)
		for _, how := range hows { // those that were let go came to their end, and nobody minded
			if d := describe(t, e, how+":abandon:1"); d.Status != "completed" {
				t.Errorf("%s:abandon is %s", how, d.Status)
			}
		}
	})
}

// TestE8_LateOutcomesOfChildren: what becomes of a child whose call is closed, or
// whose parent has ended or was continued, is dropped and counted, and is in no
// history.
func TestE8_LateOutcomesOfChildren(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		again := workflow.Declare[int, int]("parent")
		parent := again.Impl(func(wf *workflow.Context, n int) (int, error) {
			if n == 1 {
				return n, workflow.Sleep(wf, time.Hour)
			}
			lost := workflow.RunChildAsync(wf, napper, time.Minute, workflow.OnParentClose(workflow.ParentCloseAbandon))
			workflow.Select(wf, lost, workflow.NewTimer(wf, time.Second))
			if err := workflow.Sleep(wf, 2*time.Minute); err != nil { // the outcome comes meanwhile
				return 0, err
			}
			workflow.RunChildAsync(wf, napper, time.Minute, workflow.OnParentClose(workflow.ParentCloseAbandon))
			return workflow.ContinueAsNew(wf, again, 1)
		})
		e := w.start(parent, napper)
		first := begin(t, e, parent, "p", 0)
		if got, err := finish[int](t, e, "p"); got != 1 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
		if dropped := droppedInputs(w.log); dropped != 2 {
			t.Errorf("%d late outcomes were counted, want 2", dropped)
		}
		_, events, err := historyOf(t, e, "p", first)
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range slices.Concat(events, eventsOf(t, e, "p")) {
			if ev.Kind == history.CallCompleted {
				t.Errorf("the history has %+v", ev)
			}
		}
	})
}

// TestE40_Detached: a detached child is known to exist, or not to, before its parent
// continues, and outlives its parent however that ends. A detached child for which no code
// waits is started, too.
func TestE40_Detached(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		parent := workflow.New("parent", func(wf *workflow.Context, _ string) (string, error) {
			run, err := workflow.StartDetached(wf, napper, time.Hour, workflow.ChildID("audit"))
			_, taken := workflow.StartDetached(wf, napper, time.Hour, workflow.ChildID("audit"))
			used, _ := errors.AsType[*workflow.ChildIDInUseError](taken)
			if err != nil || used == nil || used.RunID != run.RunID {
				return "", fmt.Errorf("%w, %w", err, taken)
			}
			forgotten := workflow.StartDetachedAsync(wf, napper, time.Minute)
			return run.RunID + " " + forgotten.ID(), nil
		})
		e := w.start(parent, napper)
		begin(t, e, parent, "p", "")
		got, err := finish[string](t, e, "p")
		if err != nil {
			t.Fatal(err)
		}
		audit, forgotten, _ := strings.Cut(got, " ")
		settle()
		d := describe(t, e, "audit")
		if d.RunID != audit || d.Status != "running" || d.Parent == nil || !d.Parent.Detached {
			t.Errorf("the detached run is %+v, of %+v", d, d.Parent)
		}
		for _, id := range []string{forgotten, "audit"} {
			if got, err := finish[string](t, e, id); !strings.HasPrefix(got, "slept") || err != nil {
				t.Errorf("%s: %q, %v", id, got, err)
			}
		}
	})
}

// TestE40_MessagesToAChild: signals that are sent to a child after it was started
// find it, in their order, although it does not exist yet when they are sent.
func TestE40_MessagesToAChild(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		e := w.start(collector.Impl(collect), workflow.New("parent", func(wf *workflow.Context, each int) ([]int, error) {
			child := workflow.RunChildAsync(wf, collector, collected{Each: each, All: 5})
			for n := range 5 {
				if err := workflow.Send(wf, child.ID(), number, n); err != nil {
					return nil, err
				}
			}
			return child.Get(wf)
		}))
		for each := 1; each < 4; each++ {
			begin(t, e, workflow.Declare[int, []int]("parent"), fmt.Sprint(each), each)
			if got, err := finish[[]int](t, e, fmt.Sprint(each)); !slices.Equal(got, []int{0, 1, 2, 3, 4}) || err != nil {
				t.Errorf("got %d, %v", got, err)
			}
		}
	})
}

// TestE40_AChildWithADelay: a child with a delay exists immediately, can be canceled before it
// begins, and begins when it is due.
func TestE40_AChildWithADelay(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		parent := workflow.New("parent", func(wf *workflow.Context, id string) (string, error) {
			return workflow.RunChild(wf, napper, time.Second, workflow.Delay(time.Hour), workflow.ChildID(id))
		})
		e := w.start(parent, napper)
		began := time.Now()
		begin(t, e, parent, "p", "late")
		begin(t, e, parent, "q", "never")
		pass(time.Minute)
		if c := onlyCall(t, e, "p").Child; c == nil || c.Status != "running" {
			t.Errorf("the child is %+v", c)
		}
		if err := e.Cancel(t.Context(), "q", "", request.By{Why: "enough"}); err != nil {
			t.Fatal(err)
		}
		if _, err := finish[string](t, e, "q"); !errors.Is(err, context.Canceled) || time.Since(began) > 2*time.Minute {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		if got, err := finish[string](t, e, "p"); got != "slept 1s" || err != nil || time.Since(began) < time.Hour {
			t.Errorf("after %s: %q, %v", time.Since(began), got, err)
		}
	})
}

// TestE45_AChildThatTimesOut: a child has the time that its parent gives it, for each of
// its runs and for all of them.
func TestE45_AChildThatTimesOut(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		parent := workflow.New("parent", func(wf *workflow.Context, _ string) (string, error) {
			_, one := workflow.RunChild(wf, napper, time.Hour, workflow.RunTimeout(time.Minute), workflow.Delay(time.Minute))
			_, all := workflow.RunChild(wf, napper, time.Hour, workflow.RunTimeout(time.Minute), workflow.ChainTimeout(150*time.Second),
				workflow.RetryPolicy(exactRuns(5, time.Second)))
			return fmt.Sprint(one, "; ", all, "; ", errors.Is(one, retry.ErrTimeout), errors.Is(all, retry.ErrTimeout)), nil
		})
		e := w.start(parent, napper)
		began := time.Now()
		begin(t, e, parent, "p", "")
		got, err := finish[string](t, e, "p")
		if took := time.Since(began); err != nil || !strings.HasSuffix(got, "; true true") || strings.Count(got, "timed out") < 2 || took < 270*time.Second || took > 271*time.Second {
			t.Errorf("after %s: %q, %v", took, got, err)
		}
	})
}

// TestE10_AChildWithoutCode exists and waits for code; its parent waits for it, and
// says so.
func TestE10_AChildWithoutCode(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		parent := workflow.New("parent", func(wf *workflow.Context, id string) (string, error) {
			run, err := workflow.StartDetached(wf, napper, time.Minute)
			if err != nil || run.RunID == "" {
				return "", err
			}
			return workflow.RunChild(wf, napper, time.Minute, workflow.ChildID(id))
		})
		e := w.start(parent)
		begin(t, e, parent, "p", "c")
		pass(time.Second)
		call := onlyCall(t, e, "p")
		if call.Child == nil || call.Child.Status != "waiting-for-code" || describe(t, e, "c").Status != "waiting-for-code" {
			t.Errorf("the parent waits for %+v", call.Child)
		}
		stop(t, e)
		e = w.start(parent, napper)
		if got, err := finish[string](t, e, "p"); got != "slept 1m0s" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// TestE40_AThousandChildren are started by one run and all of them answer it.
func TestE40_AThousandChildren(t *testing.T) {
	extent.Unwatched(t, "it is about a number")
	inVirtualTime(t, func(t *testing.T, w *world) {
		const all = 1000
		double := workflow.New("double", func(_ *workflow.Context, n int) (int, error) { return 2 * n, nil })
		parent := workflow.New("parent", func(wf *workflow.Context, n int) (int, error) {
			sum := 0
			results, err := workflow.Map(wf, make([]int, n), func(wf *workflow.Context, _ int) (int, error) {
				return workflow.RunChild(wf, double, 1)
			})
			for _, r := range results {
				sum += r
			}
			return sum, err
		})
		e := w.start(parent, double)
		if got := complete(t, e, parent, "p", all); got != 2*all {
			t.Errorf("got %d", got)
		}
		if counts, err := e.Counts(t.Context(), 0); err != nil || counts.Runs["completed"] != all+1 {
			t.Errorf("there are %+v, %v", counts, err)
		}
	})
}

// TestE80_ParentAndChildOnTwoNodes: parents and children are owned by whichever node
// has their ID; each of the nodes dies in between, and no child is lost or started
// twice.
func TestE80_ParentAndChildOnTwoNodes(t *testing.T) {
	needsFencing.inAGroup(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		started := map[string]int{}
		note := activity.New("note", func(_ context.Context, id string) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			started[id]++
			return id, nil
		})
		child := workflow.New("child", func(wf *workflow.Context, d time.Duration) (string, error) {
			id, err := workflow.Call(wf, note, workflow.GetInfo(wf).WorkflowID)
			if err == nil {
				err = workflow.Sleep(wf, d)
			}
			return id, err
		})
		parent := workflow.New("parent", func(wf *workflow.Context, n int) ([]string, error) {
			return workflow.Map(wf, make([]int, n), func(wf *workflow.Context, _ int) (string, error) {
				first, err := workflow.RunChild(wf, child, 40*time.Second)
				if err != nil {
					return "", err
				}
				second, err := workflow.RunChild(wf, child, 40*time.Second)
				return first + " " + second, err
			})
		})
		nodes := []*engine.Engine{}
		for i := range 3 {
			c := w.config(parent, child, note)
			c.Node, c.Supersede = fmt.Sprint("node-", i), false
			nodes = append(nodes, w.startWith(c))
		}
		pass(30 * time.Second) // the partitions are spread
		for i := range 8 {
			begin(t, nodes[2], parent, fmt.Sprint("p", i), 4)
		}
		pass(5 * time.Second)
		w.kill(nodes[0])
		pass(45 * time.Second)
		w.kill(nodes[1])
		for i := range 8 {
			got, err := finish[[]string](t, nodes[2], fmt.Sprint("p", i))
			if err != nil || len(got) != 4 {
				t.Errorf("p%d: %q, %v", i, got, err)
			}
		}
		if len(started) != 64 {
			t.Errorf("%d children were started, want 64", len(started))
		}
		if counts, err := nodes[2].Counts(t.Context(), 0); err != nil || counts.Runs["completed"] != 72 {
			t.Errorf("there are %+v, %v", counts, err)
		}
	})
}
