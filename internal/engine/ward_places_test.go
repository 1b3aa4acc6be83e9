package engine_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

// stalled lets a test do something between an answer of the database and what a node makes of
// it.
type stalled struct {
	store.Opener
	load   atomic.Pointer[func(run string)]
	find   atomic.Pointer[func(workflowID string)]
	renew  atomic.Pointer[func()]
	write  atomic.Pointer[func([]store.Turn)] // before it is committed
	commit atomic.Pointer[func()]
	nodes  atomic.Pointer[func([]store.Member) error] // may change what is returned
}

func (s *stalled) Open(ctx context.Context) (store.Store, error) {
	inner, err := s.Opener.Open(ctx)
	return &slowReader{inner, s}, err
}

type slowReader struct {
	store.Store
	s *stalled
}

func (s *slowReader) Load(ctx context.Context, partition int, run string) (*store.Record, error) {
	rec, err := s.Store.Load(ctx, partition, run)
	if f := s.s.load.Load(); f != nil {
		(*f)(run)
	}
	return rec, err
}

func (s *slowReader) Find(ctx context.Context, partition int, workflowID, run string) (*store.Run, error) {
	row, err := s.Store.Find(ctx, partition, workflowID, run)
	if f := s.s.find.Load(); f != nil {
		(*f)(workflowID)
	}
	return row, err
}

func (s *slowReader) Commit(ctx context.Context, turns []store.Turn) (store.Result, error) {
	if f := s.s.write.Load(); f != nil {
		(*f)(turns)
	}
	result, err := s.Store.Commit(ctx, turns)
	if f := s.s.commit.Load(); f != nil {
		(*f)()
	}
	return result, err
}

func (s *slowReader) Nodes(ctx context.Context) ([]store.Member, error) {
	all, err := s.Store.Nodes(ctx)
	if f := s.s.nodes.Load(); f != nil && err == nil {
		err = (*f)(all)
	}
	return all, err
}

func (s *slowReader) Renew(ctx context.Context, r store.Renewal) (*store.Membership, error) {
	ms, err := s.Store.Renew(ctx, r)
	if f := s.s.renew.Load(); f != nil {
		(*f)()
	}
	return ms, err
}

// TestE117_ANodeAtBothPlaces of a partition, its home and a ward: a time for which its home
// waited once does not swallow what comes for a run in the ward meanwhile.
func TestE117_ANodeAtBothPlaces(t *testing.T) {
	inAGroupOf(t, 1, func(t *testing.T, w *world) {
		told := workflow.New("told", func(wf *workflow.Context, n int) (string, error) { return workflow.Receive(wf, proceed) })
		waits := workflow.New("waits", func(wf *workflow.Context, n int) (string, error) {
			return "", workflow.Sleep(wf, 10*time.Minute)
		})
		db := &stalled{Opener: w.db}
		home := w.versionNode("b", "2", nothing)
		c := w.config(told, waits)
		c.Store, c.Node, c.Build, c.MaxResident = db, "a", "1", -1
		both := w.startWith(c)
		client := w.open(w.config())
		pass(time.Minute)
		runs := []string{begin(t, both, told, "told", 1), begin(t, both, waits, "waits", 1)}
		pass(3 * time.Second)
		for _, id := range []string{"told", "waits"} {
			if d := describe(t, client, id); d.Away != "a" {
				t.Fatalf("%s is at %q", id, d.Away)
			}
		}
		stop(t, home)
		pass(10*time.Minute - 4*time.Second)
		var loads atomic.Int64
		load := func(run string) {
			if slices.Contains(runs, run) && loads.Add(1) <= 2 {
				if run == runs[0] {
					signal(t, client, "told", "proceed", "", "now")
				}
				time.Sleep(2 * time.Second)
			}
		}
		db.load.Store(&load)
		for _, run := range runs {
			engine.Wake(both, run)
		}
		pass(time.Minute)
		if loads.Load() < 2 {
			t.Errorf("%d runs were read", loads.Load())
		}
		for _, id := range []string{"told", "waits"} {
			if d := describe(t, client, id); d.Status != "completed" {
				t.Errorf("%s is %s, %s", id, d.Status, d.Reason)
			}
		}
	})
}

// TestE117_ANodeThatLosesOneOfTwoPlaces: a message for a run in a ward comes while the home, at the
// same node, looks for the run in vain. The home is lost before that is over; the message is not.
func TestE117_ANodeThatLosesOneOfTwoPlaces(t *testing.T) {
	needsFencing.inAGroupOf(t, 1, func(t *testing.T, w *world) {
		told := workflow.New("told", func(wf *workflow.Context, n int) (string, error) { return workflow.Receive(wf, proceed) })
		db := &stalled{Opener: w.db}
		home := w.versionNode("b", "2", nothing)
		c := w.config(told)
		c.Store, c.Node, c.Build, c.MaxResident = db, "a", "1", -1
		both := w.startWith(c)
		client := w.open(w.config())
		pass(time.Minute)
		run := begin(t, both, told, "told", 1)
		pass(3 * time.Second)
		if d := describe(t, client, "told"); d.Away != "a" {
			t.Fatalf("the run is at %q", d.Away)
		}
		stop(t, home)
		pass(time.Minute)
		load := func(id string) {
			if id == run {
				db.load.Store(nil)
				signal(t, client, "told", "proceed", "", "now")
				time.Sleep(time.Second)
				engine.LoseHome(both)
				time.Sleep(time.Second)
			}
		}
		db.load.Store(&load)
		engine.Wake(both, run)
		pass(time.Minute)
		if db.load.Load() != nil {
			t.Error("the run was not read")
		}
		if d := describe(t, client, "told"); d.Status != "completed" {
			t.Errorf("the run is %s, %s", d.Status, d.Reason)
		}
	})
}

// TestE117_WhoComesHomeIsLoaded, although something is in memory there that bears its name: a call
// of the run waited for a slot when the run left, and got one when its activity was paused. The
// run is loaded when it comes, or when the time is near for which it sleeps.
func TestE117_WhoComesHomeIsLoaded(t *testing.T) {
	for name, sleeps := range map[string]bool{"immediately": false, "in time": true} {
		t.Run(name, func(t *testing.T) { whoComesHomeIsLoaded(t, sleeps) })
	}
}

func whoComesHomeIsLoaded(t *testing.T, sleeps bool) {
	inAGroupOf(t, 1, func(t *testing.T, w *world) {
		charge := activity.New("charge", func(_ context.Context, n int) (string, error) { return "", nil })
		other := activity.New("other", func(ctx context.Context, n int) (int, error) { return n, busy(ctx, 30*time.Second) })
		order := workflow.New("order", func(wf *workflow.Context, n int) (string, error) {
			if _, err := workflow.Call(wf, charge, n); err != nil {
				return "", err
			}
			return "", workflow.Sleep(wf, 5*time.Minute)
		}, workflow.Pinned(), workflow.Version("same"))
		beside := calls(other)
		c := w.config(order, beside, charge, other)
		c.Node, c.Build, c.Concurrency = "home", "1", 1
		home := w.startWith(c)
		begin(t, home, beside, "other", 1)
		beginOrders(t, home, order, 1)
		pass(time.Second)
		a := w.versionNode("a", "2", order, charge)
		pauseActivity(t, home, "charge", true, "")
		pass(5 * time.Second)
		moveAll(t, home, 1, "1", "2")
		pass(time.Minute)
		if d := describe(t, home, "order-0"); d.Away != "a" {
			t.Fatalf("the run is at %q", d.Away)
		}
		if sleeps {
			control(t, home, "order-0", skipWith(t, ""))
			pass(time.Second)
		}
		w.versionNode("a2", "2", order, charge)
		w.kill(a)
		pass(time.Minute)
		if !sleeps {
			if d := describe(t, home, "order-0"); d.Away != "a2" {
				t.Errorf("the run is %s at %q", d.Status, d.Away)
			}
			return
		}
		pass(5 * time.Minute)
		if d := describe(t, home, "order-0"); d.Status != "completed" {
			t.Errorf("the run is %s at %q", d.Status, d.Away)
		}
	})
}

// TestE117_WhoIsReadWhileItComesHome is woken all the same: its home has read the row of a
// run in a ward, and then the ward is dissolved. The time for which the run waits is one
// of those that were read with the ward, or one that is read while the old row is looked at.
func TestE117_WhoIsReadWhileItComesHome(t *testing.T) {
	for _, waits := range []time.Duration{55 * time.Second, 65 * time.Second} {
		t.Run(waits.String(), func(t *testing.T) { whoIsReadWhileItComesHome(t, waits) })
	}
}

func whoIsReadWhileItComesHome(t *testing.T, waits time.Duration) {
	inAGroupOf(t, 1, func(t *testing.T, w *world) {
		flow := workflow.New("flow", func(wf *workflow.Context, n int) (int, error) {
			return n, workflow.Sleep(wf, waits)
		})
		db := &stalled{Opener: w.db}
		c := w.config(nothing)
		c.Store, c.Node, c.Build = db, "b", "2"
		home := w.startWith(c)
		a := w.versionNode("a", "1", flow)
		pass(time.Minute)
		run := begin(t, a, flow, "run", 1)
		pass(3 * time.Second)
		if d := describe(t, home, "run"); d.Away != "a" {
			t.Fatalf("the run is at %q", d.Away)
		}
		w.versionNode("a2", "1", flow)
		w.kill(a)
		load := func(id string) {
			if id == run {
				time.Sleep(20 * time.Second) // so long that it is dissolved before
			}
		}
		db.load.Store(&load)
		engine.Wake(home, run) // for a time that it waited for before it moved
		pass(15 * time.Second)
		db.load.Store(nil)
		pass(2 * time.Minute)
		if d := describe(t, home, "run"); d.Status != "completed" {
			t.Errorf("the run is %s, %s", d.Status, d.Reason)
		}
	})
}

// TestE117_ARenewalThatIsOlderThanAMove does not let callers at the home trust that they hear of
// the end of a run there.
func TestE117_ARenewalThatIsOlderThanAMove(t *testing.T) {
	inAGroupOf(t, 1, func(t *testing.T, w *world) {
		flow := workflow.New("flow", func(wf *workflow.Context, n int) (string, error) {
			return fmt.Sprint(n), workflow.Sleep(wf, 10*time.Second)
		})
		db := &stalled{Opener: w.db}
		c := w.config(nothing)
		c.Store, c.Node, c.Build = db, "b", "2"
		home := w.startWith(c)
		a := w.versionNode("a", "1", flow)
		pass(time.Minute)
		var renewals atomic.Int64
		renew := func() {
			switch renewals.Add(1) {
			case 1: // what is read does not show it
				begin(t, a, flow, "run", 1)
				time.Sleep(time.Second)
			case 2: // nor has the next one
				time.Sleep(time.Second)
			}
		}
		db.renew.Store(&renew)
		told := make(chan error, 1)
		for renewals.Load() < 2 {
			time.Sleep(10 * time.Millisecond)
		}
		if d := describe(t, home, "run"); d.Away != "a" {
			t.Fatalf("the run is at %q", d.Away)
		}
		go func() { _, _, err := home.Result(t.Context(), "run", ""); told <- err }()
		pass(time.Minute)
		select {
		case err := <-told:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Errorf("the caller waits although the run is %s", describe(t, home, "run").Status)
			stop(t, home)
		}
	})
}

// TestE117_WhatComesWhileARunGoesHome, to the home at the same node, is delivered once, although
// it was read as what comes for the run in the ward, and is read again before it is consumed.
func TestE117_WhatComesWhileARunGoesHome(t *testing.T) {
	inAGroupOf(t, 1, func(t *testing.T, w *world) {
		db := &stalled{Opener: slowCommits{w.db, 500 * time.Millisecond}}
		home := w.versionNode("b", "2", nothing)
		c := w.config(pinnedOrder("1"))
		c.Store, c.Node, c.Build = db, "a", "1"
		both := w.startWith(c)
		client := w.open(w.config())
		pass(time.Minute)
		beginOrders(t, both, pinnedOrder("1"), 1)
		pass(3 * time.Second)
		if d := describe(t, client, "order-0"); d.Away != "a" {
			t.Fatalf("the run is at %q", d.Away)
		}
		stop(t, home)
		pass(time.Minute)
		moved := make(chan error, 1)
		go func() {
			_, err := client.Control(t.Context(), "order-0", "", core.Control{Operation: core.MoveTheRun, From: "1", To: "3", By: "ann"})
			moved <- err
		}()
		time.Sleep(100 * time.Millisecond) // the turn that lets it move is being written
		stall := func(workflowID string) {
			if workflowID == "order-0" {
				db.find.Store(nil)
				time.Sleep(5 * time.Second)
			}
		}
		db.find.Store(&stall)
		signal(t, client, "order-0", "poke", "", "now")
		time.Sleep(5100 * time.Millisecond) // it is delivered, and its turn is being written
		signal(t, client, "order-0", "poke", "", "again")
		pass(time.Minute)
		if err := <-moved; err != nil {
			t.Error(err)
		}
		if d := describe(t, client, "order-0"); d.Away != "" || d.Status != "waiting-for-code" {
			t.Errorf("the run is %s, at %q", d.Status, d.Away)
		}
		got := map[string]int{}
		for _, ev := range eventsOf(t, client, "order-0") {
			if ev.Kind == history.SignalReceived {
				got[fmt.Sprint(ev.Input)]++
			}
		}
		if len(got) != 2 || got[`"now"`] != 1 || got[`"again"`] != 1 {
			t.Errorf("the run has the signals %v", got)
		}
		if err := client.Terminate(t.Context(), "order-0", "", request.By{Why: "enough"}); err != nil {
			t.Error(err)
		}
		pass(time.Minute)
		if holds := engine.Holds(both); holds != "" {
			t.Errorf("the node holds %s", holds)
		}
	})
}
