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
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/faulty"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// pinnedOrder is a pinned workflow whose code fits all histories of its kind: its result is
// the build that ended it.
func pinnedOrder(build string, calls ...activity.Activity[int, string]) workflow.Workflow[int, string] {
	return workflow.New("order", func(wf *workflow.Context, n int) (string, error) {
		for _, c := range calls {
			if _, err := workflow.Call(wf, c, n); err != nil {
				return "", err
			}
		}
		_, err := workflow.Receive(wf, proceed)
		return build, err
	}, workflow.Pinned(), workflow.Version("same"))
}

// misfit is a pinnedOrder whose code fits the histories of no other.
var misfit = workflow.New("order", func(wf *workflow.Context, _ int) (string, error) {
	return "", workflow.Sleep(wf, time.Hour)
}, workflow.Pinned(), workflow.Version("same"))

// wantBuilds says that all runs stand so and stay on a build.
func wantBuilds(t *testing.T, e *engine.Engine, runs int, status, build string) {
	t.Helper()
	for i := range runs {
		if d := describe(t, e, fmt.Sprintf("order-%d", i)); d.Status != status || d.Build != build {
			t.Errorf("run %d is %s on build %q, want %s on %q: %s", i, d.Status, d.Build, status, build, d.Reason)
		}
	}
}

// wantEndedBy lets all runs go on, and says which build ended them.
func wantEndedBy(t *testing.T, e *engine.Engine, runs int, build string) {
	t.Helper()
	for i := range runs {
		signal(t, e, fmt.Sprintf("order-%d", i), "proceed", "", "now")
	}
	pass(5 * time.Second)
	for i := range runs {
		id := fmt.Sprintf("order-%d", i)
		if d := describe(t, e, id); d.Status != "completed" {
			t.Errorf("%s is %s: %s", id, d.Status, d.Reason)
		} else if got, err := finish[string](t, e, id); got != build || err != nil {
			t.Errorf("%s was ended by build %q, not %q: %v", id, got, build, err)
		}
	}
}

// startOrders starts a node of build 1 and begins pinned runs on it.
func (w *world) startOrders(node string, runs int) *engine.Engine {
	w.t.Helper()
	e := w.versionNode(node, "1", pinnedOrder("1"))
	beginOrders(w.t, e, pinnedOrder("1"), runs)
	return e
}

func beginOrders(t *testing.T, e *engine.Engine, w workflow.Workflow[int, string], runs int) {
	t.Helper()
	for i := range runs {
		begin(t, e, w, fmt.Sprintf("order-%d", i), i)
	}
	pass(time.Second)
}

// TestE118_APinnedRunStaysOnItsBuild while nodes of another come, whose code would fit, and
// when those of its own go: then it waits, says for what, and goes on when the build is back.
func TestE118_APinnedRunStaysOnItsBuild(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, w *world, e *engine.Engine){
		"stopped": func(t *testing.T, _ *world, e *engine.Engine) { stop(t, e) },
		"killed":  func(_ *testing.T, w *world, e *engine.Engine) { w.kill(e) },
	} {
		t.Run(name, func(t *testing.T) {
			needsFencing.inAGroup(t, func(t *testing.T, w *world) {
				const runs = 12
				a := w.startOrders("a", runs)
				b := w.versionNode("b", "2", pinnedOrder("2"))
				pass(time.Minute)
				for i := range runs {
					signal(t, b, fmt.Sprintf("order-%d", i), "ignored", "", "now") // they are loaded, and move
				}
				pass(2 * time.Second)
				wantBuilds(t, b, runs, "running", "1")
				if n := w.log.count("a run moves to another node"); n == 0 || n > runs {
					t.Errorf("that runs move is logged %d times", n)
				}
				end(t, w, a)
				seen := time.Now()
				pass(2 * time.Minute)
				for i := range runs {
					signal(t, b, fmt.Sprintf("order-%d", i), "ignored", "", "again")
				}
				pass(2 * time.Second)
				wantBuilds(t, b, runs, "waiting-for-code", "1")
				for i := range runs {
					d := describe(t, b, fmt.Sprintf("order-%d", i))
					if n := d.Needs; n == nil || n.Build != "1" || n.Node != "a" || n.Live || n.Seen.After(seen) || !strings.Contains(d.Reason, "it stays on build 1") {
						t.Errorf("run %d needs %+v: %s", i, n, d.Reason)
					}
				}
				waits := "it stays on build 1, which was seen last on the node a, "
				list, err := b.List(t.Context(), view.Filter{Waits: true})
				if err != nil || len(list) != runs {
					t.Fatalf("listed are %d, %v", len(list), err)
				}
				for _, r := range list {
					if r.Wait == nil || r.Wait.Build != "1" || !strings.HasPrefix(r.Wait.Why, waits) || r.Build != "1" {
						t.Errorf("%s waits for %+v", r.WorkflowID, r.Wait)
					}
				}
				s, err := b.Status(t.Context())
				if err != nil || len(s.Waiting) != 1 || s.Waiting[0].Count != runs || !strings.HasPrefix(s.Waiting[0].Why, waits) {
					t.Errorf("the status is %+v, %v", s.Waiting, err)
				}
				w.versionNode("a2", "1", pinnedOrder("1"))
				pass(2 * time.Second)
				wantBuilds(t, b, runs, "running", "1")
				wantEndedBy(t, b, runs, "1")
			})
		})
	}
}

// TestE118_EachHeldRunHearsOfABuildThatIsBack, although another run had its node look who is there
// right after the build had come: what the node knew when it held the first one counts.
func TestE118_EachHeldRunHearsOfABuildThatIsBack(t *testing.T) {
	needsFencing.inAGroupOf(t, 1, func(t *testing.T, w *world) {
		const runs = 2
		a := w.startOrders("a", runs)
		b := w.versionNode("b", "2", pinnedOrder("2"))
		stop(t, a)
		pass(time.Minute)
		signal(t, b, "order-0", "ignored", "", "now")
		pass(time.Minute)
		if d := describe(t, b, "order-0"); d.Status != "waiting-for-code" {
			t.Fatalf("the first run is %s", d.Status)
		}
		w.plans[b].AtRenewal(w.plans[b].Renewals()+1, faulty.Slow(2*time.Second)) // it looks before it hears
		w.versionNode("c", "1", pinnedOrder("1"))
		signal(t, b, "order-1", "ignored", "", "now")
		pass(time.Minute)
		wantBuilds(t, b, runs, "running", "1")
	})
}

// TestE118_AHandoverThatIsTakenBack: a build comes back while a node is giving its partition away,
// and then keeps it, because work there does not end. What was held there hears of the build.
func TestE118_AHandoverThatIsTakenBack(t *testing.T) {
	needsFencing.inAGroupOf(t, 1, func(t *testing.T, w *world) {
		long := activity.New("long", func(ctx context.Context, _ int) (string, error) { return "", busy(ctx, 10*time.Minute) })
		work := calls(long)
		a := w.startOrders("a", 1)
		b := w.versionNode("b", "2", pinnedOrder("2"), work, long)
		stop(t, a)
		pass(time.Minute)
		signal(t, b, "order-0", "ignored", "", "now")
		begin(t, b, work, "work", 1)
		pass(time.Minute)
		patience, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		done := make(chan struct{})
		go func() {
			defer close(done)
			engine.HandOver(b, patience)
		}()
		pass(time.Second)
		w.versionNode("c", "1", pinnedOrder("1"))
		<-done
		pass(time.Minute)
		wantBuilds(t, b, 1, "running", "1")
	})
}

// TestE118_WhereNothingMoves, on every store: a pinned run waits for its build, and goes on
// when that is back.
func TestE118_WhereNothingMoves(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		const runs = 3
		e := w.startOrders("node", runs)
		wantBuilds(t, e, runs, "running", "1")
		stop(t, e)
		e = w.versionNode("node", "2", pinnedOrder("2"))
		pass(time.Second)
		for i := range runs {
			signal(t, e, fmt.Sprintf("order-%d", i), "proceed", "", "now")
		}
		pass(time.Second)
		wantBuilds(t, e, runs, "waiting-for-code", "1")
		begin(t, e, pinnedOrder("2"), "new", 0)
		pass(time.Second)
		if d := describe(t, e, "new"); d.Status != "running" || d.Build != "2" {
			t.Errorf("a new run is %s on build %q", d.Status, d.Build)
		}
		stop(t, e)
		e = w.versionNode("node", "1", pinnedOrder("1"))
		pass(time.Second)
		for i := range runs {
			if got, err := finish[string](t, e, fmt.Sprintf("order-%d", i)); got != "1" || err != nil {
				t.Errorf("run %d was ended by build %q, %v", i, got, err)
			}
		}
		if d := describe(t, e, "new"); d.Status != "running" && d.Status != "waiting-for-code" {
			t.Errorf("the new run is %s", d.Status)
		}
	})
}

// TestE118_NoAttemptBeginsOnAnotherBuild, on every store: what was under way when the last
// process of the build died, or waits for its next attempt, waits for the build, too. It keeps
// no slot and no gate from others.
func TestE118_NoAttemptBeginsOnAnotherBuild(t *testing.T) {
	for name, c := range map[string]struct {
		fails   bool
		options []activity.Option
	}{
		"under way":        {false, nil},
		"in backoff":       {true, nil},
		"through a gate":   {false, []activity.Option{activity.Through(gate.New("bank", 1))}},
		"in backoff there": {true, []activity.Option{activity.Through(gate.New("bank", 1))}},
	} {
		t.Run(name, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				var mu sync.Mutex
				began := map[string]int{}
				dead := false
				work := func(build string) activity.Activity[int, string] {
					options := append([]activity.Option{activity.Retry(retry.Policy{MaxAttempts: 5, Backoff: retry.Fixed(10 * time.Second)})}, c.options...)
					return activity.New("work", func(ctx context.Context, _ int) (string, error) {
						mu.Lock()
						began[build]++
						first := !dead
						mu.Unlock()
						switch {
						case first && c.fails:
							return "", errors.New("not yet")
						case first:
							return "", busy(ctx, time.Hour)
						}
						return build, nil
					}, options...)
				}
				other := workflow.New("other", func(wf *workflow.Context, n int) (string, error) {
					return workflow.Call(wf, work("2"), n)
				})
				one, two := pinnedOrder("1", work("1")), pinnedOrder("2", work("2"))
				e := w.versionNode("node", "1", one, work("1"))
				beginOrders(t, e, one, 1)
				w.kill(e)
				mu.Lock()
				dead = true
				mu.Unlock()
				e = w.versionNode("node", "2", two, other, work("2"))
				pass(5 * time.Minute)
				wantBuilds(t, e, 1, "waiting-for-code", "1")
				mu.Lock()
				if began["1"] != 1 || began["2"] != 0 {
					t.Errorf("attempts began: %v, want one on build 1", began)
				}
				mu.Unlock()
				begin(t, e, other, "other", 0) // it needs the gate
				pass(time.Minute)
				if got, err := finish[string](t, e, "other"); got != "2" || err != nil {
					t.Errorf("a run that may go on here: %q, %v", got, err)
				}
				stop(t, e)
				e = w.versionNode("node", "1", one, work("1"))
				pass(time.Minute)
				wantEndedBy(t, e, 1, "1")
				mu.Lock()
				defer mu.Unlock()
				if began["1"] != 2 || began["2"] != 1 {
					t.Errorf("attempts began: %v, want two on build 1", began)
				}
			})
		})
	}
}

// TestE118_TheNextRunOfAChainMayMoveOn: after continue-as-new and a retry it begins on the
// build of the node that begins it.
func TestE118_TheNextRunOfAChainMayMoveOn(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		version := func(build string) workflow.Workflow[int, string] {
			self := workflow.Declare[int, string]("chain", workflow.Pinned(), workflow.RetryPolicy(retry.Policy{MaxAttempts: 2, Backoff: retry.Fixed(time.Hour)}))
			return self.Impl(func(wf *workflow.Context, n int) (string, error) {
				if n == 0 {
					return workflow.ContinueAsNew(wf, self, 1)
				}
				if n == 1 && build == "1" {
					return "", errors.New("not on this build")
				}
				return build, nil
			})
		}
		one, two := version("1"), version("2")
		e := w.versionNode("node", "1", one)
		begin(t, e, one, "c", 0)
		pass(time.Second)
		stop(t, e)
		e = w.versionNode("node", "2", two)
		pass(2 * time.Hour)
		if got, err := finish[string](t, e, "c"); got != "2" || err != nil {
			t.Errorf("it ended with %q, %v", got, err)
		}
	})
}

// TestE118_OnlyWhatBeginsPinnedIsPinned: a run that began before its workflow was declared
// so may go on with any code.
func TestE118_OnlyWhatBeginsPinnedIsPinned(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		free := workflow.New("order", func(wf *workflow.Context, _ int) (string, error) {
			_, err := workflow.Receive(wf, proceed)
			return "free", err
		})
		e := w.versionNode("node", "1", free)
		beginOrders(t, e, free, 1)
		stop(t, e)
		e = w.versionNode("node", "2", pinnedOrder("2"))
		pass(time.Second)
		wantBuilds(t, e, 1, "running", "")
		wantEndedBy(t, e, 1, "2")
	})
}

// TestE118_ACodeThatDoesNotFitItsOwnBuild: such a run is parked where it is and goes to and
// fro between no nodes.
func TestE118_ACodeThatDoesNotFitItsOwnBuild(t *testing.T) {
	inAGroup(t, func(t *testing.T, w *world) {
		const runs = 6
		a := w.startOrders("a", runs)
		w.kill(a)
		b := w.versionNode("b", "2", pinnedOrder("2"))
		w.versionNode("liar", "1", misfit)
		pass(2 * time.Minute)
		for i := range runs {
			signal(t, b, fmt.Sprintf("order-%d", i), "ignored", "", "now")
		}
		pass(time.Minute)
		wantBuilds(t, b, runs, "parked", "1")
	})
}

// moveAll moves runs to another build, and returns the outcomes.
func moveAll(t *testing.T, e *engine.Engine, runs int, from, to string) (outcomes []string) {
	t.Helper()
	for i := range runs {
		records, err := e.Control(t.Context(), fmt.Sprintf("order-%d", i), "", core.Control{Operation: core.MoveTheRun, From: from, To: to, By: "ann", Reason: "a mended build"})
		if err != nil && len(records) == 0 {
			t.Fatal(err)
		}
		outcomes = append(outcomes, records[0].Outcome)
	}
	return outcomes
}

// TestE119_RunsMoveToAnotherBuild, whether they run, sleep or are held, and go on there:
// the request is on record, and once more changes nothing.
func TestE119_RunsMoveToAnotherBuild(t *testing.T) {
	for name, gone := range map[string]bool{"both live": false, "the old is gone": true} {
		t.Run(name, func(t *testing.T) {
			needsFencing.inAGroup(t, func(t *testing.T, w *world) {
				const runs = 12
				a := w.startOrders("a", runs)
				b := w.versionNode("b", "2", pinnedOrder("2"))
				pass(time.Minute)
				if gone {
					w.kill(a)
					pass(time.Minute)
				}
				for _, move := range [][2]string{{"3", "refused"}, {"1", "applied"}} {
					for i, got := range moveAll(t, b, runs, move[0], "2") {
						if got != move[1] {
							t.Errorf("moving run %d from %s is %s, want %s", i, move[0], got, move[1])
						}
					}
				}
				pass(5 * time.Second)
				wantBuilds(t, b, runs, "running", "2")
				if got := moveAll(t, b, 1, "", "2"); got[0] != "unchanged" {
					t.Errorf("once more is %s", got[0])
				}
				wantEndedBy(t, b, runs, "2")
				all, err := b.Audit(t.Context(), "order-0", "")
				if err != nil || !slices.ContainsFunc(all, func(r view.ControlRecord) bool {
					return r.Operation == "move-runs" && r.By == "ann" && r.Why == "a mended build" && r.Outcome == "applied" && r.Name == "2"
				}) {
					t.Errorf("the audit is %+v, %v", all, err)
				}
			})
		})
	}
}

// TestE119_ToABuildThatDoesNotFit: the run is parked there with the first difference, and
// goes on when it is moved back.
func TestE119_ToABuildThatDoesNotFit(t *testing.T) {
	inAGroup(t, func(t *testing.T, w *world) {
		const runs = 6
		a := w.startOrders("a", runs)
		w.versionNode("b", "2", misfit)
		pass(time.Minute)
		moveAll(t, a, runs, "1", "2")
		pass(5 * time.Second)
		wantBuilds(t, a, runs, "parked", "2")
		for i := range runs {
			if d := describe(t, a, fmt.Sprintf("order-%d", i)); d.Mismatch == nil {
				t.Errorf("run %d is parked without a difference: %s", i, d.Reason)
			}
		}
		moveAll(t, a, runs, "2", "1")
		pass(5 * time.Second)
		wantBuilds(t, a, runs, "running", "1")
		wantEndedBy(t, a, runs, "1")
	})
}

// TestE119_WhatRunsEndsFirst: an attempt of a run that is moved ends where it runs, and is
// not begun again; what follows is done on the other build.
func TestE119_WhatRunsEndsFirst(t *testing.T) {
	inAGroup(t, func(t *testing.T, w *world) {
		const runs = 6
		var mu sync.Mutex
		began := map[string]int{}
		long := func(build string) activity.Activity[int, string] {
			return activity.New("long", func(ctx context.Context, _ int) (string, error) {
				info, _ := activity.FromContext(ctx)
				mu.Lock()
				began[info.WorkflowID+" on "+build]++
				mu.Unlock()
				return build, busy(ctx, 30*time.Second)
			})
		}
		one, two := pinnedOrder("1", long("")), pinnedOrder("2", long(""))
		a := w.versionNode("a", "1", one, long("1"))
		beginOrders(t, a, one, runs)
		w.versionNode("b", "2", two, long("2"))
		moveAll(t, a, runs, "1", "2")
		pass(time.Minute)
		wantBuilds(t, a, runs, "running", "2")
		wantEndedBy(t, a, runs, "2")
		mu.Lock()
		defer mu.Unlock()
		for i := range runs {
			id := fmt.Sprintf("order-%d", i)
			if first, second := began[id+" on 1"], began[id+" on 2"]; first != 1 || second != 0 {
				t.Errorf("of %s an attempt began %d times on build 1 and %d times on 2", id, first, second)
			}
		}
	})
}

// TestE118_AResetMayMoveOn: the run that follows is of the build that begins it, whatever
// the build of the history with which it goes on, and stays there.
func TestE118_AResetMayMoveOn(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		first := activity.New("first", func(context.Context, int) (string, error) { return "", nil })
		one, two := pinnedOrder("1", first), pinnedOrder("2", first)
		e := w.versionNode("node", "1", one, first)
		beginOrders(t, e, one, 1)
		wantBuilds(t, e, 1, "running", "1")
		stop(t, e)
		e = w.versionNode("node", "2", two, first)
		pass(time.Second)
		for _, call := range []int64{2, 1, 2} {
			control(t, e, "order-0", core.Control{Operation: core.ResetTheRun, Call: call})
			pass(time.Second)
			wantBuilds(t, e, 1, "running", "2")
		}
		stop(t, e)
		e = w.versionNode("node", "3", pinnedOrder("3", first), first)
		signal(t, e, "order-0", "ignored", "", "now")
		pass(time.Second)
		wantBuilds(t, e, 1, "waiting-for-code", "2")
		stop(t, e)
		e = w.versionNode("node", "2", two, first)
		pass(time.Second)
		wantEndedBy(t, e, 1, "2")
	})
}

// TestE119_ACheckOfCodeKnowsPins: a run that stays on another build is reported, and stops no
// deploy.
func TestE119_ACheckOfCodeKnowsPins(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		w.startOrders("node", 2)
		other := workflow.New("order", func(wf *workflow.Context, _ int) (string, error) {
			return "", workflow.Sleep(wf, time.Hour)
		}, workflow.Pinned())
		for build, stops := range map[string]bool{"1": true, "2": false} {
			c := w.config(other)
			c.Node, c.Build = "check", build
			check, err := w.open(c).CheckCode(t.Context(), view.CodeFilter{})
			if err != nil || len(check.Findings) != 2 {
				t.Fatalf("the check of build %s is %+v, %v", build, check, err)
			}
			if f := check.Findings[0]; f.Verdict != view.CodeParks || f.Build != "1" || f.Stops != stops || check.OK == stops {
				t.Errorf("with build %s: %+v, OK %t", build, f, check.OK)
			}
		}
	})
}
