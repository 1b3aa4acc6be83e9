package storetest

import (
	"testing"

	"github.com/perdure/perdure/store"
)

// Clock checks that a database's time never goes back, whatever its clock does.
// open returns an opener for a new, empty database with the given clock.
func Clock(t *testing.T, open func(t *testing.T, clock func() int64) store.Opener) {
	now := int64(1_000)
	f := start(t, open(t, func() int64 { return now }))
	result := func(turns ...store.Turn) int64 {
		t.Helper()
		r, err := f.store.Commit(f.Context(), turns)
		f.must(err)
		return r.Now
	}
	claim := func() store.Ownership {
		t.Helper()
		owned, err := f.store.Claim(f.Context(), f.node, []int{f.partition})
		f.must(err)
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
	f.must(f.store.Post(f.Context(), store.Message{Partition: f.partition, WorkflowID: run.WorkflowID, Key: "k"}))
	equal(f, f.inbox()[0].Posted, 5_000)
	now = 9_000
	f.is(f.commit(old)[0], store.ErrFenced)
	now = 4_000
	equal(f, claim().Clock, 5_000) // what was fenced moved nothing
	now = 6_000
	f.must(f.store.Post(f.Context(), store.Message{Partition: f.partition, WorkflowID: run.WorkflowID, Key: "l"}))
	equal(f, f.inbox()[1].Posted, 6_000)
	f.must(f.store.Close())
	now = 2_000 // and the machine started with a wrong date
	f.store = f.open()
	f.must(f.store.Join(f.Context(), store.Node{ID: "node-2"}))
	f.node = "node-2"
	o = claim()
	equal(f, [2]int64{o.Since, o.Clock}, [2]int64{6_000, 6_000})
	equal(f, result(f.turn(run, 3)), 6_000)
	now = 7_000
	equal(f, result(), 7_000)
}
