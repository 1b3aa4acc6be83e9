package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/faulty"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

// TestE80_SlowRelease: while a node is about to give partitions back, which takes
// the database a while, it neither takes them again nor gives more away.
func TestE80_SlowRelease(t *testing.T) {
	needsFencing.inAGroup(t, func(t *testing.T, w *world) {
		x := newErrands(20, 300*time.Millisecond)
		a := w.node("a", x.workflow, x.activity)
		plan := w.plans[a]
		plan.At(plan.Writes()+1, faulty.Slow(2*time.Second))
		b := w.node("b", x.workflow, x.activity)
		pass(500 * time.Millisecond)
		client := w.open(w.config())
		for i := range 40 {
			begin(t, client, x.workflow, fmt.Sprint(i), i)
		}
		pass(500 * time.Millisecond)
		c := w.node("c", x.workflow, x.activity) // news for a
		pass(10 * time.Second)
		t.Log(shares(t, b), strings.Join(plan.Ops(), "\n"))
		if n := w.log.count("another node took"); n > 0 {
			t.Errorf("%d times a node lost partitions", n)
		}
		releases := 0
		for _, op := range plan.Ops() {
			if strings.Contains(op, ": Claim") && !strings.HasPrefix(op, "write 2:") {
				t.Errorf("the node took partitions again: %s", op)
			}
			if strings.Contains(op, ": Release") {
				releases++
			}
		}
		if got := shares(t, c); !slices.Contains([]string{"a:5 b:6 c:5", "a:6 b:5 c:5", "a:5 b:5 c:6"}, got) {
			t.Errorf("the partitions are spread as %s", got)
		}
		for i := range 40 {
			if got, err := finish[int](t, client, fmt.Sprint(i)); got != i+20 || err != nil {
				t.Errorf("run %d: %d, %v", i, got, err)
			}
			for _, at := range attemptsOf(t, client, fmt.Sprint(i)) {
				if at.Outcome != "completed" {
					t.Errorf("run %d has the attempt %+v", i, at)
				}
			}
		}
	})
}

// TestE80_BusyNodesGiveAway: a node whose slots are all taken, with a long queue,
// still gives a share of it to a node that joins.
func TestE80_BusyNodesGiveAway(t *testing.T) {
	inAGroup(t, func(t *testing.T, w *world) {
		x := newErrands(10, 200*time.Millisecond)
		node := func(name string) *engine.Engine {
			c := w.config(x.workflow, x.activity)
			c.Node, c.Concurrency = name, 64
			return w.startWith(c)
		}
		a := node("a")
		const runs = 600
		for i := range runs {
			begin(t, a, x.workflow, fmt.Sprint(i), i)
		}
		settle()
		node("b")
		pass(4 * time.Second)
		w.wantShares(a, "a:8 b:8")
		for i := range runs {
			if got, err := finish[int](t, a, fmt.Sprint(i)); got != i+10 || err != nil {
				t.Errorf("run %d: %d, %v", i, got, err)
			}
		}
	})
}

// TestMessagesOfAPartitionThatStays: what is sent to a run while its partition is
// to move and then does not is delivered soon after.
func TestMessagesOfAPartitionThatStays(t *testing.T) {
	inAGroupOf(t, 2, func(t *testing.T, w *world) {
		long := newErrands(1, time.Hour)
		waits := workflow.New("waits", func(wf *workflow.Context, n int) (string, error) { return workflow.Receive(wf, proceed) })
		node := func(name string) *engine.Engine {
			c := w.config(long.workflow, long.activity, waits)
			c.Node, c.InboxEvery = name, time.Hour
			return w.startWith(c)
		}
		a := node("a")
		for i := range 8 {
			begin(t, a, long.workflow, fmt.Sprint("long ", i), i)
			begin(t, a, waits, fmt.Sprint("waits ", i), i)
		}
		settle()
		node("b")
		pass(500 * time.Millisecond) // one is closed for the time of its patience
		for i := range 8 {
			signal(t, a, fmt.Sprint("waits ", i), proceed.Name(), "", "go")
		}
		pass(time.Second)
		for i := range 8 {
			if d := describe(t, a, fmt.Sprint("waits ", i)); d.Status != "completed" {
				t.Errorf("run %d is %s", i, d.Status)
			}
		}
		w.wantShares(a, "a:2 b:0")
	})
}

// TestE83_ShortOutagesMoveNothing: an outage that is too short for the lease of one
// node, and long enough for that of another whose last sign of life was earlier, is
// no reason for the one to take what belongs to the other. By day every fourth length is played on
// a server too.
func TestE83_ShortOutagesMoveNothing(t *testing.T) {
	for i := range 21 {
		away := 6*time.Second + time.Duration(i)*150*time.Millisecond
		needs := needsNothing
		if i%4 == 2 {
			needs = needsFencing
		}
		t.Run(away.String(), func(t *testing.T) {
			needs.inAGroup(t, func(t *testing.T, w *world) {
				a, b := w.node("a"), w.node("b")
				pass(time.Second)
				w.plans[b].AtRenewal(w.plans[b].Renewals()+1, faulty.Slow(500*time.Millisecond)) // out of step with the other
				pass(19100 * time.Millisecond)
				w.plans[a].Outage(true)
				w.plans[b].Outage(true)
				pass(away)
				w.plans[a].Outage(false)
				w.plans[b].Outage(false)
				pass(5 * time.Second)
				w.wantShares(a, "a:8 b:8")
				if n := w.log.count("another node took"); n > 0 {
					t.Errorf("%d times a node lost partitions", n)
				}
			})
		})
	}
}

// TestE3_CrashAfterASurvivedLoss: that a node once lost a partition and lived on
// does not excuse it when it dies later: its attempts then belong on probation.
func TestE3_CrashAfterASurvivedLoss(t *testing.T) {
	inAGroupOf(t, 1, func(t *testing.T, w *world) {
		x := newErrands(1, time.Minute)
		a := w.node("a", x.workflow, x.activity)
		b := w.node("b", x.workflow, x.activity)
		w.plans[a].Outage(true)
		pass(20 * time.Second)
		w.plans[a].Outage(false)
		pass(5 * time.Second)
		w.wantShares(a, "a:0 b:1")
		stop(t, b)
		pass(5 * time.Second)
		w.wantShares(a, "a:1")
		begin(t, a, x.workflow, "run", 1)
		settle()
		w.kill(a)
		c := w.node("c", x.workflow, x.activity)
		pass(15 * time.Second)
		if got, err := finish[int](t, c, "run"); got != 2 || err != nil {
			t.Errorf("%d, %v", got, err)
		}
		at := attemptsOf(t, c, "run")
		if len(at) != 2 || at[0].Outcome != "lost" || at[0].Reason != string(retry.ReasonLeaseExpired) || at[0].Message != "" {
			t.Errorf("the attempts are %+v, want the first one lost when its node was silent", at)
		}
	})
}

// TestE80_SlowClaim: a database that takes its time to give partitions away, because
// a commit of their dead owner holds them, does not cost the claimant its lease.
func TestE80_SlowClaim(t *testing.T) {
	needsFencing.inAGroup(t, func(t *testing.T, w *world) {
		a, b := w.node("a"), w.node("b")
		pass(5 * time.Second)
		w.wantShares(b, "a:8 b:8")
		w.kill(a)
		plan := w.plans[b]
		for k := range 5 {
			plan.At(plan.Writes()+1+k, faulty.Slow(time.Minute))
		}
		for range 40 * 4 {
			pass(250 * time.Millisecond)
			if err := b.Health(); err != nil && strings.Contains(err.Error(), "lease") {
				t.Fatalf("after the writes %v: %v", plan.Ops(), err)
			}
		}
		w.wantShares(b, "b:16")
	})
}

// TestE64_DrainingGivesEverything: partitions that a node which drains could not
// give back at first do not wait for the end of its drain.
func TestE64_DrainingGivesEverything(t *testing.T) {
	needsFencing.inAGroup(t, func(t *testing.T, w *world) {
		long := newErrands(1, time.Minute)
		a := w.node("a", long.workflow, long.activity)
		begin(t, a, long.workflow, "long", 1)
		settle()
		b := w.node("b", long.workflow, long.activity)
		pass(5 * time.Second)
		w.wantShares(b, "a:8 b:8")
		plan := w.plans[a]
		plan.At(plan.Writes()+1, faulty.FailBefore)
		stopped := make(chan error, 1)
		go func() { stopped <- a.Stop(t.Context()) }()
		pass(5 * time.Second)
		w.wantShares(b, "a:1 b:15")
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		settle()
		w.wantShares(b, "b:16")
		if at := attemptsOf(t, b, "long"); len(at) != 1 || at[0].Outcome != "completed" {
			t.Errorf("the attempts are %+v", at)
		}
	})
}

// TestE64_DrainingKeepsNothingNew: a node that is about to take partitions over
// when it is told to stop passes them on.
func TestE64_DrainingKeepsNothingNew(t *testing.T) {
	inAGroup(t, func(t *testing.T, w *world) {
		long := newErrands(1, time.Minute)
		a := w.node("a", long.workflow, long.activity)
		begin(t, a, long.workflow, "long", 1)
		settle()
		b, c := w.node("b", long.workflow, long.activity), w.node("c", long.workflow, long.activity)
		pass(5 * time.Second)
		w.kill(b)
		plan := w.plans[a]
		plan.At(plan.Writes()+1, faulty.Slow(2*time.Second))
		for len(plan.Ops()) == 0 || !strings.Contains(plan.Ops()[plan.Writes()-1], "Claim, takes") {
			pass(100 * time.Millisecond)
		}
		stopped := make(chan error, 1)
		go func() { stopped <- a.Stop(t.Context()) }()
		pass(8 * time.Second)
		w.wantShares(c, "a:1 c:15")
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}

// TestE7_QueueWaitsForTheLease: while a node cannot renew its lease, but could
// write, the calls in its queue keep their places, and none is begun and given
// back.
func TestE7_QueueWaitsForTheLease(t *testing.T) {
	inAGroup(t, func(t *testing.T, w *world) {
		const runs = 40
		var order []int
		work := activity.New("work", func(ctx context.Context, n int) (int, error) {
			order = append(order, n) // there is one slot
			return n, busy(ctx, time.Second)
		})
		flow := calls(work)
		c := w.config(flow, work)
		c.Node, c.Concurrency = "a", 1
		a := w.startWith(c)
		for i := range runs {
			begin(t, a, flow, fmt.Sprint(i), i)
			settle()
		}
		plan := w.plans[a]
		for k := range 40 {
			plan.AtRenewal(plan.Renewals()+1+k, faulty.FailBefore)
		}
		pass(12 * time.Second)
		if err := a.Health(); err == nil || !strings.Contains(err.Error(), "lease") {
			t.Fatalf("the lease was to end: %v", err)
		}
		for i := range runs {
			if got, err := finish[int](t, a, fmt.Sprint(i)); got != i || err != nil {
				t.Errorf("run %d: %d, %v", i, got, err)
			}
			if at := attemptsOf(t, a, fmt.Sprint(i)); len(at) != 1 {
				t.Errorf("run %d has the attempts %+v", i, at)
			}
		}
		if !slices.IsSorted(order) {
			t.Errorf("the calls were served in the order %v", order)
		}
	})
}

// finds counts how often runs are looked for.
type finds struct {
	store.Opener
	n *atomic.Int64
}

func (f finds) Open(ctx context.Context) (store.Store, error) {
	s, err := f.Opener.Open(ctx)
	return foundStore{s, f.n}, err
}

type foundStore struct {
	store.Store
	n *atomic.Int64
}

func (f foundStore) Find(ctx context.Context, partition int, workflowID, run string) (*store.Run, error) {
	f.n.Add(1)
	return f.Store.Find(ctx, partition, workflowID, run)
}

// TestE80_WaitersOfOtherPartitionsWait: when partitions move, only callers that wait for runs
// in these partitions query again.
func TestE80_WaitersOfOtherPartitionsWait(t *testing.T) {
	inAGroup(t, func(t *testing.T, w *world) {
		sleeps := workflow.New("sleeps", func(wf *workflow.Context, n int) (int, error) { return n, workflow.Sleep(wf, time.Minute) })
		c := w.config(sleeps)
		var looked atomic.Int64
		c.Node, c.Store = "a", finds{w.db, &looked}
		a := w.startWith(c)
		const runs = 160
		var waiters sync.WaitGroup
		for i := range runs {
			begin(t, a, sleeps, fmt.Sprint(i), i)
			waiters.Go(func() {
				if got, err := finish[int](t, a, fmt.Sprint(i)); got != i || err != nil {
					t.Errorf("run %d: %d, %v", i, got, err)
				}
			})
		}
		pass(time.Second)
		w.node("b", sleeps)
		pass(5 * time.Second)
		w.wantShares(a, "a:8 b:8")
		before := looked.Load()
		d := w.node("d", sleeps)
		pass(5 * time.Second)
		if n := looked.Load() - before; n == 0 || n > runs/2 {
			t.Errorf("%d waiters looked %d times when the partitions were spread anew as %s", runs, n, shares(t, d))
		}
		waiters.Wait()
	})
}

// TestI7_MachinesClocksDecideNothing: when things happen is told by the database's
// clock, whatever the clocks of the machines say: that of a node, and that of a client
// which starts runs.
func TestI7_MachinesClocksDecideNothing(t *testing.T) {
	for _, ahead := range []time.Duration{-time.Hour, time.Hour} {
		t.Run(ahead.String(), func(t *testing.T) {
			needsFencing.inAGroup(t, func(t *testing.T, w *world) {
				w.ahead.Store(-int64(ahead))
				sleeps := workflow.New("sleeps", func(wf *workflow.Context, n int) (int, error) { return n, workflow.Sleep(wf, time.Minute) })
				a := w.node("a", sleeps)
				client := w.open(w.config())
				for i, from := range []*engine.Engine{a, client} {
					began := w.clock()
					begin(t, from, sleeps, fmt.Sprint(i), i)
					if got, err := finish[int](t, a, fmt.Sprint(i)); got != i || err != nil {
						t.Errorf("run %d: %d, %v", i, got, err)
					}
					if took := time.Duration(w.clock() - began); took < time.Minute || took > time.Minute+time.Second {
						t.Errorf("run %d slept for %s", i, took)
					}
					for _, e := range eventsOf(t, a, fmt.Sprint(i)) {
						if off := time.Duration(e.Time.UnixNano() - began); off < 0 || off > time.Minute+time.Second {
							t.Errorf("the turn of the event %s of run %d is %s after its start", e.Kind, i, off)
						}
					}
				}
			})
		})
	}
}

// TestE3_LostBodiesLeaveTheLane: a body on probation whose run another node took, and
// which does not listen, does not keep the lane closed.
func TestE3_LostBodiesLeaveTheLane(t *testing.T) {
	inAGroupOf(t, 1, func(t *testing.T, w *world) {
		work := activity.New("work", func(ctx context.Context, n int) (int, error) {
			switch info, _ := activity.FromContext(ctx); info.Attempt {
			case 1, 3:
				return n, busy(ctx, time.Hour)
			case 2:
				time.Sleep(2 * time.Hour)
			}
			return n, nil
		}, activity.Retry(retry.Policy{CrashLimit: 10}))
		flow := calls(work)
		a := w.node("a", flow, work)
		begin(t, a, flow, "run", 1)
		settle()
		w.kill(a)
		b := w.node("b", flow, work)
		pass(15 * time.Second)
		if p := onlyCall(t, b, "run"); p.Attempt != 2 || p.State != "running" {
			t.Fatalf("the call is %+v", p)
		}
		c := w.node("c", flow, work)
		w.plans[b].Outage(true)
		pass(15 * time.Second)
		w.plans[b].Outage(false)
		pass(10 * time.Second)
		if p := onlyCall(t, c, "run"); p.Attempt != 3 || p.State != "running" {
			t.Fatalf("the call is %+v", p)
		}
		w.kill(c)
		pass(time.Minute)
		if d := describe(t, b, "run"); d.Status != "completed" {
			t.Errorf("the run is %s, %+v", d.Status, d.Pending)
		}
		pass(2 * time.Hour)
		if holds := engine.Holds(b); holds != "" {
			t.Errorf("the node holds %s", holds)
		}
	})
}
