package engine_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/faulty"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// What a million simulated worlds found, as stories of its own.

// TestE139_AnAnswerBehindALateClaim: the owner reads that a worker has claimed an attempt, and then
// waits for its database for longer than the attempt may take. Meanwhile somebody was told that its
// answer is accepted. It is behind the claim in an inbox that is not read to its end, and counts.
func TestE139_AnAnswerBehindALateClaim(t *testing.T) {
	inBothModesShared(t, 1, func(t *testing.T, w *world) {
		d := newDesk(retry.Policy{MaxAttempts: 2, AttemptTimeout: 10 * time.Second})
		d.activity = activity.New("ask", d.ask, activity.Retry(retry.Policy{MaxAttempts: 2, AttemptTimeout: 10 * time.Second}), activity.Queue("far"))
		d.flow = calls(d.activity)
		db := &stalled{Opener: w.db}
		c := w.config(d.flow, d.activity)
		c.Store, c.Lease, c.MaxResident = db, time.Hour, -1
		c.InboxPage, c.MaxAtWork = 1, 1
		owner := w.startWith(c)
		run := begin(t, owner, d.flow, "run", 0)
		pass(time.Second)
		stall := func(of string) {
			if of == run {
				db.load.Store(nil)
				time.Sleep(15 * time.Second)
			}
		}
		db.load.Store(&stall)
		worker := w.worker("worker", "far", 1, d.activity)
		pass(3 * time.Second)
		isError(t, say(t, worker, d.token(t, "run", 1), "yes"), nil)
		if got, err := finish[string](t, owner, "run"); got != "yes" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if got := outcomes(t, owner, "run"); got != "1.1 completed succeeded" {
			t.Errorf("the attempts are %s", got)
		}
	})
}

// TestE117_WhoComesHomeWhileItsPlaceIsHandedOver: a node of a ward dies while the home of its runs
// is being given to another node, which comes to nothing, because an attempt runs in it for too
// long. The runs go on.
func TestE117_WhoComesHomeWhileItsPlaceIsHandedOver(t *testing.T) {
	needsFencing.inAGroupOf(t, 1, func(t *testing.T, w *world) {
		long := activity.New("long", func(ctx context.Context, n int) (int, error) { return n, busy(ctx, time.Hour) })
		slow := activity.New("slow", func(ctx context.Context, n int) (string, error) { return "", busy(ctx, 10*time.Minute) })
		beside := calls(long)
		home := w.versionNode("home", "2", beside, long)
		away := w.versionNode("away", "1", pinnedOrder("1", slow), slow)
		pass(time.Minute)
		begin(t, home, beside, "long", 1)
		beginOrders(t, away, pinnedOrder("1", slow), 1)
		pass(5 * time.Second)
		if d := describe(t, home, "order-0"); d.Away != "away" {
			t.Fatalf("the run is at %q", d.Away)
		}
		w.kill(away)
		patience, end := context.WithTimeout(t.Context(), time.Minute)
		defer end()
		engine.HandOver(home, patience)
		w.versionNode("again", "1", pinnedOrder("1", slow), slow)
		pass(time.Minute)
		if d := describe(t, home, "order-0"); d.Away != "again" {
			t.Errorf("the run is %s at %q", d.Status, d.Away)
		}
	})
}

// TestE117_WhatWaitsForARunThatEndedAway is its home's, which may be reading it for the next run of
// the workflow ID: the node of the ward leaves it.
func TestE117_WhatWaitsForARunThatEndedAway(t *testing.T) {
	inAGroupOf(t, 1, func(t *testing.T, w *world) {
		w.versionNode("home", "2", nothing)
		db := &stalled{Opener: w.db}
		c := w.config(pinnedOrder("1"))
		c.Store, c.Node, c.Build = db, "away", "1"
		away := w.startWith(c)
		pass(time.Minute)
		beginOrders(t, away, pinnedOrder("1"), 1)
		pass(3 * time.Second)
		if d := describe(t, away, "order-0"); d.Away != "away" {
			t.Fatalf("the run is at %q", d.Away)
		}
		ended, consumed := false, 0
		write := func(turns []store.Turn) {
			for _, turn := range turns {
				if ended {
					consumed += len(turn.Consumed)
				}
				if turn.State != nil && turn.State.Status == store.Completed {
					ended = true
					time.Sleep(3 * time.Second)
				}
			}
		}
		db.write.Store(&write)
		signal(t, away, "order-0", "proceed", "", "now")
		time.Sleep(time.Second)
		signal(t, away, "order-0", "late", "", "later")
		pass(time.Minute)
		if d := describe(t, away, "order-0"); !ended || d.Status != "completed" {
			t.Fatalf("the run is %s", d.Status)
		}
		if consumed != 0 {
			t.Errorf("the node of the ward consumed %d messages of a run that had ended", consumed)
		}
		s, err := w.db.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if rest, err := s.Inbox(t.Context(), nil, store.InboxRead{Limit: 10}); len(rest) > 0 || err != nil {
			t.Errorf("in the inbox are %v, %v", rest, err)
		}
	})
}

// TestE11_AStartThatIsRepeatedWhileItsChainGoesOn: the answer of the start is lost, and until it is
// repeated the chain has gone on and its first run was deleted. It is told that it has started it.
func TestE11_AStartThatIsRepeatedWhileItsChainGoesOn(t *testing.T) {
	inBothModesShared(t, 1, func(t *testing.T, w *world) {
		var chain workflow.Workflow[int, int]
		chain = workflow.New("chain", func(wf *workflow.Context, n int) (int, error) {
			if n == 0 {
				return workflow.ContinueAsNew(wf, chain, n+1)
			}
			return n, workflow.Sleep(wf, 48*time.Hour)
		})
		c := w.config(chain)
		c.Retention = view.Retention{Continued: time.Minute}
		c.SweepEvery = time.Minute
		e := w.startWith(c)
		client := w.open(w.config(chain))
		plan := w.plans[client]
		plan.At(plan.Writes()+1, faulty.FailAfter)
		plan.At(plan.Writes()+2, faulty.CutOff(time.Hour))
		patient, end := context.WithTimeout(t.Context(), 2*time.Hour)
		defer end()
		run, attached, err := tryBegin(patient, client, chain, "chain", 0)
		if err != nil || attached {
			t.Errorf("run %s, attached: %t, %v", run, attached, err)
		}
		if d := describe(t, e, "chain"); d.RunID != run {
			t.Errorf("the start names run %s, and %s runs", run, d.RunID)
		}
	})
}

// TestE60_AForkThatIsRepeatedWhileItsChainGoesOn: the answer of a fork is lost, and before it is
// repeated its chain has gone on and its first run is deleted. It is told the run that it has become.
func TestE60_AForkThatIsRepeatedWhileItsChainGoesOn(t *testing.T) {
	inBothModesShared(t, 1, func(t *testing.T, w *world) {
		var chain workflow.Workflow[int, int]
		chain = workflow.New("chain", func(wf *workflow.Context, n int) (int, error) {
			if err := workflow.Sleep(wf, time.Second); err != nil {
				return 0, err
			}
			if n == 0 && workflow.GetInfo(wf).WorkflowID == "fork" {
				return workflow.ContinueAsNew(wf, chain, n+1)
			}
			return n, workflow.Sleep(wf, 48*time.Hour)
		})
		c := w.config(chain)
		c.Retention = view.Retention{Continued: time.Minute}
		c.SweepEvery = time.Minute
		e := w.startWith(c)
		begin(t, e, chain, "source", 0)
		pass(time.Minute)
		client := w.open(w.config(chain))
		plan := w.plans[client]
		plan.At(plan.Writes()+1, faulty.FailAfter)
		plan.At(plan.Writes()+2, faulty.CutOff(time.Hour))
		patient, end := context.WithTimeout(t.Context(), 2*time.Hour)
		defer end()
		run, attached, err := client.ForkRun(patient, request.Fork{WorkflowID: "source", NewID: "fork", Call: 2})
		if err != nil || attached {
			t.Errorf("run %s, attached: %t, %v", run, attached, err)
		}
		if d := describe(t, e, "fork"); d.RunID != run {
			t.Errorf("the fork names run %s, and %s runs", run, d.RunID)
		}
	})
}

// TestE102_AChildBeginsWithItsRow if there is a slot for it: one turn writes both.
func TestE102_AChildBeginsWithItsRow(t *testing.T) {
	inBothModesShared(t, 1, func(t *testing.T, w *world) {
		charge := activity.New("charge", func(_ context.Context, n int) (int, error) { return n, nil })
		child := calls(charge)
		parent := workflow.New("parent", func(wf *workflow.Context, n int) (int, error) {
			return workflow.RunChild(wf, child, n)
		})
		db := &stalled{Opener: w.db}
		var rows, begun int
		write := func(turns []store.Turn) {
			for _, turn := range turns {
				if turn.Create != nil {
					rows++
					begun += int(min(turn.Number, 1))
				}
			}
		}
		db.write.Store(&write)
		c := w.config(parent, child, charge)
		c.Store = db
		e := w.startWith(c)
		begin(t, e, parent, "parent", 1)
		if _, err := finish[int](t, e, "parent"); err != nil {
			t.Fatal(err)
		}
		if rows != 2 || begun != 2 {
			t.Errorf("%d of %d runs began with their rows", begun, rows)
		}
	})
}

// TestE87_WhatASuspectWasLoadedForWaits until it is loaded again, on trial: no other look at the inbox
// would bring it.
func TestE87_WhatASuspectWasLoadedForWaits(t *testing.T) {
	inAGroupOf(t, 1, func(t *testing.T, w *world) {
		e := w.start(nothing)
		if again, waits := engine.ComesWithEvidence(e, 7); !again || !slices.Equal(waits, []int64{7}) {
			t.Errorf("it is loaded again: %t, and %v waits", again, waits)
		}
		if again, _ := engine.ComesWithEvidence(e, 8); again {
			t.Error("a run on trial is loaded again")
		}
	})
}
