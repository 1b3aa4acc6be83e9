package storetest

import (
	"slices"

	"github.com/perdure/perdure/store"
)

// deleteChecks are about removing what is over.
var deleteChecks = []check{
	{"Delete/ARunGoesWithAllThatBelongsToIt", func(f *fixture) {
		var all []store.Run
		inLyon := []store.Attribute{{Name: "city", Value: "Lyon"}}
		for range 3 {
			left := task(1, 1) // by an owner that could not read its run
			run := f.newRun(func(r *store.Run) { r.Attributes, left.WorkflowID = inLyon, r.WorkflowID })
			t := f.first(run, calling(store.Call{Number: 1, State: store.Backoff, Due: 5}))
			t.Attempts = []store.Attempt{{Call: 1, Number: 1, Name: "a", Outcome: "failed", ErrorType: "net", Ended: 3}}
			t.Offered = []store.Task{left}
			f.commits(t)
			f.must(f.store.Post(f.Context(), store.Message{Partition: run.Partition, WorkflowID: run.WorkflowID, Run: run.ID, Key: "alone"}))
			f.must(f.store.Post(f.Context(), store.Message{Partition: run.Partition, WorkflowID: run.WorkflowID, Key: "latest"}))
			all = append(all, run)
		}
		for _, run := range all[:2] {
			f.closes(run, 2, store.Completed)
		}
		ids := []string{all[0].ID, all[2].ID, "nobody"}
		equal(f, f.deletes(store.Deletion{Partition: f.partition, Runs: ids}), 1) // one is open, one does not exist
		equal(f, f.deletes(store.Deletion{Partition: f.partition, Runs: ids}), 0)
		equal(f, f.list(store.Filter{}), []string{all[2].ID, all[1].ID})
		equal(f, f.list(store.Filter{Attributes: inLyon}), []string{all[2].ID, all[1].ID})
		f.none(all[0].WorkflowID, "")
		equal(f, len(f.history(all[0].ID)), 0)
		equal(f, len(f.calls(all[0].ID)), 0)
		equal(f, len(f.ledger(store.LedgerFilter{})), 2)
		for i, tasks := range []int{0, 1} {
			equal(f, len(f.tasks(store.TaskFilter{Run: all[i].ID})), tasks)
		}
		inbox := f.inbox()
		equal(f, slices.ContainsFunc(inbox, func(m store.Message) bool { return m.Run == all[0].ID }), false)
		equal(f, slices.ContainsFunc(inbox, func(m store.Message) bool { return m.Run == all[1].ID }), true)

		// The ID is free for another run, of another chain.
		again := f.started(rivaling(all[0]))
		equal(f, f.find(again.ID).WorkflowID, all[0].WorkflowID)
	}},
	{"Delete/TheEarlierRunOfAChainLeavesTheLatest", func(f *fixture) {
		run := f.created()
		next := f.newRun(following(run))
		f.commits(f.turn(run, 2, continuing(next)))
		equal(f, f.deletes(store.Deletion{Partition: f.partition, Runs: []string{run.ID, next.ID}}), 1)
		equal(f, f.latest(run.WorkflowID).ID, next.ID)
	}},
	{"Delete/CountersAndSwitchesOfLongAgo", func(f *fixture) {
		f.commits(f.first(f.newRun(), counting(store.Tally{TallyKey: tallyOf(100, "n"), FirstTry: 1}, store.Tally{TallyKey: tallyOf(200, "n"), FirstTry: 2})))
		off := f.switches(store.Switch{Name: "charge", Off: true, Request: "1"})
		on := f.switches(store.Switch{Name: "charge", Request: "2"})
		ship := f.switches(store.Switch{Name: "ship", Off: true, Request: "3"})
		f.deletes(store.Deletion{Partition: f.partition, TalliesBefore: 200, Group: off.Group, SwitchesBefore: off.Time})
		tallies := f.tallies(store.TallyFilter{})
		equal(f, len(tallies), 1)
		equal(f, tallies[0].FirstTry, int64(2))
		equal(f, len(f.switchLog(0)), 3) // not before that time
		f.deletes(store.Deletion{Partition: f.partition, Group: off.Group, SwitchesBefore: ship.Time + 1})
		equal(f, f.switchLog(0), []store.Switch{on, ship})
		last := f.switches(store.Switch{Name: "ship", Request: "4"})
		if last.Number <= ship.Number {
			f.Errorf("the number %d was given twice", last.Number)
		}
		equal(f, f.switchLog(ship.Number), []store.Switch{last})
	}},
	{"Delete/WhatNobodyCouldMeanIsRefused", func(f *fixture) {
		for _, d := range []store.Deletion{{Partition: -1}, {Runs: []string{"\xff"}}, {TalliesBefore: -1}, {SwitchesBefore: -1}} {
			f.malformed(errorOf(f.store.Delete(f.Context(), d)))
		}
	}},
}

// deletes returns how many runs were deleted.
func (f *fixture) deletes(d store.Deletion) int {
	f.Helper()
	return must(f.store.Delete(f.Context(), d))(f)
}
