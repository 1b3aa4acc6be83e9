package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
)

// TestE106_Probes: an outage of the database is a reason to send requests elsewhere,
// and none to restart the process; draining likewise; a call without code is neither.
func TestE106_Probes(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		missing := activity.Declare[int, int]("missing")
		slow := activity.New("slow", func(ctx context.Context, n int) (int, error) {
			return n, busy(ctx, 10*time.Second)
		})
		lacking, work := calls(missing), calls(slow)
		e := w.start(lacking, work, slow)
		expect := func(when string, live, ready, healthy func(error) bool) {
			t.Helper()
			for name, probe := range map[string]struct {
				err  error
				fits func(error) bool
			}{"Live": {e.Live(), live}, "Ready": {e.Ready(), ready}, "Health": {e.Health(), healthy}} {
				if !probe.fits(probe.err) {
					t.Errorf("%s %s returns %v", when, name, probe.err)
				}
			}
		}
		fine := func(err error) bool { return err == nil }
		bad := func(err error) bool { return err != nil }
		stopped := func(err error) bool { return errors.Is(err, request.ErrStopped) }

		expect("after the start", fine, fine, fine)
		begin(t, e, lacking, "lacking", 1)
		settle()
		expect("with a call that has no code", fine, fine, bad)
		begin(t, e, work, "work", 1)
		settle()
		w.plans[e].Outage(true)
		pass(time.Minute)
		expect("in an outage", fine, store.Unavailable, store.Unavailable)
		w.plans[e].Outage(false)
		pass(time.Minute)
		expect("after the outage", fine, fine, bad)
		begin(t, e, work, "again", 1)
		settle()
		done := make(chan struct{})
		go func() {
			defer close(done)
			if err := e.Stop(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		}()
		settle()
		expect("while it drains", fine, bad, bad)
		<-done
		expect("after the stop", stopped, stopped, stopped)
	})
}

// lacks says which activities Health calls missing, in the order in which it names them.
func lacks(e *engine.Engine) (names string) {
	err := e.Health()
	if err == nil {
		return ""
	}
	for line := range strings.Lines(err.Error()) {
		var name string
		if n, _ := fmt.Sscanf(line, "activity %q is called by workflows but not registered", &name); n == 1 {
			names += name + ";"
		}
	}
	return names
}

// TestE106_AnActivityIsMissingWhileARunWaitsForIt, and no longer: whether the runs that called
// it are terminated or go on without it.
func TestE106_AnActivityIsMissingWhileARunWaitsForIt(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		missing, brief := activity.Declare[int, int]("missing"), activity.Declare[int, int]("brief")
		lacking, waits := calls(missing), calls(brief, activity.Retry(retry.Policy{MaxAttempts: 1, QueueTimeout: time.Hour}))
		e := w.start(lacking, waits, reserve)
		want := func(when, names string) {
			t.Helper()
			if got := lacks(e); got != names {
				t.Errorf("%s Health misses %q, want %q", when, got, names)
			}
		}
		end := func(id string) {
			t.Helper()
			if err := e.Terminate(t.Context(), id, "", request.By{Who: "ann", Why: "a test"}); err != nil {
				t.Fatal(err)
			}
			pass(time.Second)
		}
		want("with no run", "")
		begin(t, e, lacking, "one", 1)
		begin(t, e, lacking, "two", 1)
		begin(t, e, waits, "brief", 1)
		pass(time.Minute)
		want("with three runs", "brief;missing;")
		end("one")
		want("with two runs", "brief;missing;")
		w.kill(e)
		e = w.start(lacking, waits, reserve)
		pass(time.Minute)
		want("after a crash", "brief;missing;")
		end("two")
		want("with the run whose queue time ends", "brief;")
		pass(2 * time.Hour)
		want("after the queue time", "")
		begin(t, e, lacking, "three", 1)
		pass(time.Minute)
		want("with another run", "missing;")
		end("three")
		want("at the end", "")
		if n := w.log.count("activity_missing"); n != 4 {
			t.Errorf("two engines log missing activities %d times, want each of two once an engine", n)
		}
	})
}

// TestE106_AnActivityIsNotMissingOnceItsRunsMoved to a node that has it.
func TestE106_AnActivityIsNotMissingOnceItsRunsMoved(t *testing.T) {
	inBothModesShared(t, 4, func(t *testing.T, w *world) {
		const runs = 6
		w.patient = false
		pack := activity.New("pack", func(context.Context, int) (string, error) { return "packed", nil })
		a := w.versionNode("a", "1", pinnedOrder("1", pack))
		beginOrders(t, a, pinnedOrder("1", pack), runs)
		pass(time.Minute)
		b := w.versionNode("b", "2", pinnedOrder("2", pack), pack)
		pass(time.Minute)
		if got := lacks(a); got != "pack;" {
			t.Errorf("node a misses %q", got)
		}
		if got := lacks(b); got != "" {
			t.Errorf("node b, which has the activity, misses %q", got)
		}
		for i := range runs {
			if _, err := a.Control(t.Context(), fmt.Sprintf("order-%d", i), "", core.Control{Operation: core.MoveTheRun, From: "1", To: "2", By: "ann", Reason: "it has the activity"}); err != nil {
				t.Fatal(err)
			}
		}
		pass(time.Minute)
		if got := lacks(a) + lacks(b); got != "" {
			t.Errorf("after the move the nodes miss %q", got)
		}
		wantEndedBy(t, b, runs, "2")
	})
}

// TestE106_AParkedRunWaitsForNoActivity: a run that was evicted while it waited for a missing
// activity and cannot be read any more is parked by its row alone.
func TestE106_AParkedRunWaitsForNoActivity(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		w.maxResident = -1
		v := vandalise(w)
		lacking := calls(activity.Declare[int, int]("missing"))
		e := w.start(lacking)
		bad := begin(t, e, lacking, "bad", 1)
		pass(time.Minute)
		if got := lacks(e); got != "missing;" {
			t.Errorf("with an evicted run Health misses %q", got)
		}
		v.damage(func(run string, t *store.TurnRow) {
			if run == bad {
				t.Number++
			}
		}, nil, nil)
		signal(t, e, "bad", "nudge", "", 0) // loads it
		pass(time.Minute)
		damagedRun(t, e, "bad", "turn 1 is missing")
		if got := lacks(e); got != "" {
			t.Errorf("with a parked run Health misses %q", got)
		}
	})
}
