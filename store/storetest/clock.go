package storetest

import (
	"testing"
	"time"

	"github.com/perdure/perdure/store"
)

// Clock checks what depends on the database's clock. open returns an opener for a
// new, empty database with the given clock.
func Clock(t *testing.T, open func(t *testing.T, clock func() int64) store.Opener) {
	t.Run("NeverGoesBack", func(t *testing.T) { testClockNeverGoesBack(t, open) })
	t.Run("WhoLeavesAtTimeZeroHasLeft", func(t *testing.T) {
		now := int64(1_000)
		f := start(t, open(t, func() int64 { return now }))
		now = 0
		node := f.node
		f.must(f.store.Leave(f.Context(), node))
		if m := f.member(node); m.Live || m.Left <= 0 {
			f.Errorf("a node that left is %+v", m)
		}
		equal(f, f.ended(), []bool{true})
	})
	t.Run("ASignOfLifeInTheFutureIsOfNow", func(t *testing.T) { testWorkersByTheClock(t, open) })
	var now int64 = 1_000_000
	f := start(t, open(t, func() int64 { return now }))
	if f.store.Info().Shared {
		t.Run("Lease", func(t *testing.T) {
			f.T = t
			testLeaseByTheClock(f, &now)
		})
	}
}

// testLeaseByTheClock demands that a lease is over when it is, not sooner or later.
func testLeaseByTheClock(f *fixture, now *int64) {
	const lease = 1_000
	f.must(f.store.Release(f.Context(), f.node, []int{f.partition}))
	node := f.describe("timed", leased(lease))
	timed := f.peer(node)
	timed.claim()
	expires := func(at int64) {
		f.Helper()
		for _, early := range []int64{-lease, -1} {
			*now = at + early
			m := f.member(node.ID)
			equal(f, [2]any{m.Live, m.Expires}, [2]any{true, at})
			equal(f, len(f.claims(f.partition)), 0)
		}
		*now = at
		m := f.member(node.ID)
		equal(f, [2]any{m.Live, m.Expires}, [2]any{false, at})
	}
	joined := *now
	expires(joined + lease)
	f.must(timed.store.Join(f.Context(), node)) // is not a sign of life
	expires(joined + lease)
	*now = joined + lease/2
	seen := timed.renew()
	equal(f, seen.Now, joined+lease/2)
	expires(joined + lease/2 + lease)
	timed.renew() // after it ran out
	expires(joined + lease/2 + 2*lease)
	f.claim()
	equal(f, f.owners()[2].Since, *now)
}

// testWorkersByTheClock demands that the clock can be set back: a worker has a lease from then
// on, and is lost when that is over.
func testWorkersByTheClock(t *testing.T, open func(t *testing.T, clock func() int64) store.Opener) {
	now := int64(100 * time.Hour)
	f := start(t, open(t, func() int64 { return now }))
	f.attend("dead")
	f.offer(task(1, 1))
	ref := f.claimTasks("dead", 1)[0].TaskRef
	lost := func(want int) {
		t.Helper()
		tasks := f.tasks(store.TaskFilter{Lost: true})
		if len(tasks) != want || want > 0 && tasks[0].TaskRef != ref {
			t.Fatalf("these are lost: %+v; want %d", tasks, want)
		}
	}
	lost(0)
	now = int64(40 * time.Hour)
	lost(0)
	now += int64(time.Hour) - 1
	lost(0)
	now++
	lost(1)
	now = int64(20 * time.Hour) // and it was heard of by others alone
	f.attend("alive")
	now += int64(time.Hour)
	lost(1)
}

func testClockNeverGoesBack(t *testing.T, open func(t *testing.T, clock func() int64) store.Opener) {
	now := int64(1_000)
	f := start(t, open(t, func() int64 { return now }))
	result := func(turns ...store.Turn) int64 {
		t.Helper()
		return must(f.store.Commit(f.Context(), turns))(f).Now
	}
	claim := func() store.Ownership {
		t.Helper()
		owned := f.claims(f.partition)
		f.epoch = owned[0].Epoch
		return owned[0]
	}
	run := f.newRun()
	now = 5_000
	equal(f, result(f.first(run)), 5_000)
	now = 4_000 // somebody set it back
	equal(f, result(f.turn(run, 2)), 5_000)
	old := f.turn(run, 3)
	o := claim()
	equal(f, [2]int64{o.Since, o.Clock}, [2]int64{5_000, 5_000})
	f.posts(run, "k")
	equal(f, f.inbox()[0].Posted, 5_000)
	now = 9_000
	f.is(f.commit(old)[0], store.ErrFenced)
	now = 4_000
	equal(f, claim().Clock, 5_000) // what was fenced moved nothing
	now = 6_000
	f.posts(run, "l")
	equal(f, f.inbox()[1].Posted, 6_000)
	// A turn of a partition that is ahead takes the one along to which it sends.
	there := f.elsewhere()
	now = 3_000
	epoch := f.claims(there)[0].Epoch
	ahead := f.turn(run, 3, sending(store.Message{Partition: there, WorkflowID: "w", Key: "first"}))
	neighbour := f.newRun(in(there), func(r *store.Run) { r.Group = "another group" })
	behind := f.first(neighbour, sending(store.Message{Partition: there, WorkflowID: "w", Key: "second"}))
	behind.Partition, behind.Epoch = there, epoch
	result(ahead, behind)
	if waiting := f.inbox(there); waiting[0].Posted < 5_000 || waiting[1].Posted < waiting[0].Posted {
		f.Errorf("posted at %d, then at %d", waiting[0].Posted, waiting[1].Posted)
	}
	now = 6_000
	f.must(f.store.Close())
	now = 2_000 // and the machine started with a wrong date
	f.store = f.open()
	node := f.member(f.node).Node
	node.ID = "node-2"
	f.must(f.store.Join(f.Context(), node))
	f.node = node.ID
	o = claim()
	equal(f, [2]int64{o.Since, o.Clock}, [2]int64{6_000, 6_000})
	equal(f, result(f.turn(run, 4)), 6_000)
	now = 7_000
	equal(f, result(), 7_000)
}
