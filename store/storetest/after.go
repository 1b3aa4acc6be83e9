package storetest

import (
	"errors"
	"slices"

	"github.com/perdure/perdure/store"
)

// afterChecks are about chains that begin after another one under the same
// workflow ID (Run.After).
var afterChecks = []check{
	{"After/AClosedRunMakesRoomOnceForTheOneThatNamesIt", func(f *fixture) {
		for _, create := range f.waysToCreate() {
			run := f.created()
			next := f.newRunAfter(run)
			f.conflict(create(next), run) // it is open
			f.closes(run, 2, store.Failed)
			f.conflict(create(func() store.Run { r := next; r.After = ""; return r }()), f.find(run.ID))
			f.conflict(create(func() store.Run { r := next; r.After = "another"; return r }()), f.find(run.ID))
			f.must(create(next))
			f.must(create(next)) // asked again
			kept := next
			kept.After = ""
			latest := f.latest(run.WorkflowID)
			equal(f, latest, kept)
			equal(f, f.find(run.ID).Status, store.Failed)
			f.conflict(create(f.newRunAfter(run)), kept) // it is not the latest
			f.must(f.store.Create(f.Context(), run))     // known for ever
			f.closes(next, 2, store.Completed)
			third := f.newRunAfter(next)
			third.WorkflowID = run.WorkflowID
			f.must(create(third))
			equal(f, f.latest(run.WorkflowID).ID, third.ID)
		}
	}},
	{"After/NobodyIsThere", func(f *fixture) {
		for _, create := range f.waysToCreate() {
			run := f.newRun() // what came before may have been deleted
			run.After = "deleted"
			f.must(create(run))
			run.After = ""
			equal(f, f.find(run.ID), run)
		}
	}},
	{"After/MailStaysWithTheOneBefore", func(f *fixture) {
		for _, create := range f.waysToCreate() {
			run, other := f.created(), f.created()
			end := f.turn(run, 2, ending(store.Completed))
			for _, r := range []store.Run{run, other} {
				f.posts(r, "cancel")
			}
			f.must(f.store.Post(f.Context(), store.Message{Partition: f.partition, WorkflowID: run.WorkflowID, Run: run.ID, Key: "to " + run.ID}))
			f.commits(end)
			next := f.newRunAfter(run)
			f.must(create(next))
			for range 2 { // the key is free for the next, once
				f.posts(run, "cancel")
			}
			var read []string
			for _, m := range f.inbox() {
				if m.Kind != store.KindCreated {
					read = append(read, m.WorkflowID+" "+m.Run+" "+m.Key)
				}
			}
			slices.Sort(read)
			expected := []string{
				run.WorkflowID + " " + run.ID + " " + store.LeftKey(run.ID, "cancel"), other.WorkflowID + "  cancel",
				run.WorkflowID + " " + run.ID + " to " + run.ID, run.WorkflowID + "  cancel",
			}
			slices.Sort(expected)
			equal(f, read, expected)
			f.commits(f.turn(other, 2, consuming(f.inbox()...)))
		}
	}},
	{"After/OfManyAtOnceOneBegins", func(f *fixture) {
		const rivals = 6
		for range 5 {
			run := f.created()
			f.closes(run, 2, store.Completed)
			ways := f.waysToCreate()
			errs := make([]error, rivals)
			nexts := make([]store.Run, rivals)
			atOnce(rivals, func(i int) {
				nexts[i] = f.newRunAfter(run)
				errs[i] = ways[i%len(ways)](nexts[i])
			})
			latest := f.latest(run.WorkflowID)
			began := 0
			for i, err := range errs {
				conflict, is := errors.AsType[*store.ConflictError](err)
				switch {
				case err == nil:
					began++
					equal(f, latest.ID, nexts[i].ID)
				case !is || conflict.Existing.ID != latest.ID:
					f.Errorf("rival %d got %v, not that %s was first", i, err, latest.ID)
				}
			}
			equal(f, began, 1)
		}
	}},
}

// waysToCreate are those of a client and of the owner.
func (f *fixture) waysToCreate() []func(run store.Run) error {
	return []func(run store.Run) error{
		func(run store.Run) error { return f.store.Create(f.Context(), run) },
		func(run store.Run) error { return f.unblocked(f.first(run))[0] }, // it may have to wait for a rival
	}
}

// newRunAfter describes a run of another chain that takes a workflow ID over.
func (f *fixture) newRunAfter(run store.Run) store.Run {
	return f.newRun(rivaling(run), func(r *store.Run) { r.After = run.ID })
}
