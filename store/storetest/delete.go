package storetest

import (
	"errors"
	"slices"

	"github.com/perdure/perdure/store"
)

// deleteChecks are about removing what is over.
var deleteChecks = []check{
	{"Delete/ARunGoesWithAllThatBelongsToIt", func(f *fixture) {
		var all []store.Run
		for range 3 {
			run := f.newRun()
			run.Attributes = []store.Attribute{{Name: "city", Value: "Lyon"}}
			t := f.first(run)
			t.Calls = []store.Call{{Number: 1, State: store.Backoff, Due: 5}}
			t.Attempts = []store.Attempt{{Call: 1, Number: 1, Name: "a", Outcome: "failed", ErrorType: "net", Ended: 3}}
			left := task(1, 1) // by an owner that could not read its run
			left.WorkflowID = run.WorkflowID
			t.Offered = []store.Task{left}
			f.commits(t)
			f.must(f.store.Post(f.Context(), store.Message{Partition: run.Partition, WorkflowID: run.WorkflowID, Run: run.ID, Key: "alone"}))
			f.must(f.store.Post(f.Context(), store.Message{Partition: run.Partition, WorkflowID: run.WorkflowID, Key: "latest"}))
			all = append(all, run)
		}
		for _, run := range all[:2] {
			end := f.turn(run, 2)
			end.State = closed(store.Completed)
			f.commits(end)
		}
		ids := []string{all[0].ID, all[2].ID, "nobody"}
		n, err := f.store.Delete(f.Context(), store.Deletion{Partition: f.partition, Runs: ids})
		f.must(err)
		equal(f, n, 1) // one is open, one does not exist
		n, err = f.store.Delete(f.Context(), store.Deletion{Partition: f.partition, Runs: ids})
		f.must(err)
		equal(f, n, 0)
		equal(f, f.list(store.Filter{}), []string{all[2].ID, all[1].ID})
		equal(f, f.list(store.Filter{Attributes: []store.Attribute{{Name: "city", Value: "Lyon"}}}), []string{all[2].ID, all[1].ID})
		_, err = f.store.Find(f.Context(), f.partition, all[0].WorkflowID, "")
		f.is(err, store.ErrNotFound)
		turns, err := f.store.History(f.Context(), f.partition, all[0].ID, 0, 0)
		f.must(err)
		equal(f, len(turns), 0)
		calls, err := f.store.Calls(f.Context(), f.partition, all[0].ID)
		f.must(err)
		equal(f, len(calls), 0)
		ledger, err := f.store.Ledger(f.Context(), store.LedgerFilter{})
		f.must(err)
		equal(f, len(ledger), 2)
		for i, tasks := range []int{0, 1} {
			equal(f, len(f.tasks(store.TaskFilter{Run: all[i].ID})), tasks)
		}
		inbox, err := f.store.Inbox(f.Context(), []int{f.partition}, store.InboxRead{})
		f.must(err)
		equal(f, slices.ContainsFunc(inbox, func(m store.Message) bool { return m.Run == all[0].ID }), false)
		equal(f, slices.ContainsFunc(inbox, func(m store.Message) bool { return m.Run == all[1].ID }), true)

		// The ID is free for another run, of another chain.
		again := f.newRun()
		again.WorkflowID = all[0].WorkflowID
		f.must(f.store.Create(f.Context(), again))
		equal(f, f.find(again.ID).WorkflowID, all[0].WorkflowID)
	}},
	{"Delete/TheEarlierRunOfAChainLeavesTheLatest", func(f *fixture) {
		run := f.created()
		next := f.newRun()
		next.WorkflowID, next.Chain = run.WorkflowID, run.Chain
		end := f.turn(run, 2)
		end.State, end.Create = closed(store.Continued), &next
		f.commits(end)
		n, err := f.store.Delete(f.Context(), store.Deletion{Partition: f.partition, Runs: []string{run.ID, next.ID}})
		f.must(err)
		equal(f, n, 1)
		latest, err := f.store.Find(f.Context(), f.partition, run.WorkflowID, "")
		f.must(err)
		equal(f, latest.ID, next.ID)
	}},
	{"Delete/CountersAndSwitchesOfLongAgo", func(f *fixture) {
		t := f.first(f.newRun())
		t.Tallies = []store.Tally{{TallyKey: store.TallyKey{Bucket: 100, Type: "t", Name: "n"}, FirstTry: 1}, {TallyKey: store.TallyKey{Bucket: 200, Type: "t", Name: "n"}, FirstTry: 2}}
		f.commits(t)
		off := f.switches(store.Switch{Name: "charge", Off: true, Request: "1"})
		on := f.switches(store.Switch{Name: "charge", Request: "2"})
		ship := f.switches(store.Switch{Name: "ship", Off: true, Request: "3"})
		_, err := f.store.Delete(f.Context(), store.Deletion{Partition: f.partition, TalliesBefore: 200, Group: off.Group, SwitchesBefore: off.Time})
		f.must(err)
		tallies, err := f.store.Tallies(f.Context(), store.TallyFilter{})
		f.must(err)
		equal(f, len(tallies), 1)
		equal(f, tallies[0].FirstTry, int64(2))
		equal(f, len(f.switchLog(0)), 3) // not before that time
		_, err = f.store.Delete(f.Context(), store.Deletion{Partition: f.partition, Group: off.Group, SwitchesBefore: ship.Time + 1})
		f.must(err)
		equal(f, f.switchLog(0), []store.Switch{on, ship})
		last := f.switches(store.Switch{Name: "ship", Request: "4"})
		if last.Number <= ship.Number {
			f.Errorf("the number %d was given twice", last.Number)
		}
		equal(f, f.switchLog(ship.Number), []store.Switch{last})
	}},
	{"Delete/WhatNobodyCouldMeanIsRefused", func(f *fixture) {
		for _, d := range []store.Deletion{{Partition: -1}, {Runs: []string{"\xff"}}, {TalliesBefore: -1}, {SwitchesBefore: -1}} {
			if _, err := f.store.Delete(f.Context(), d); err == nil || errors.Is(err, store.ErrNotFound) {
				f.Errorf("%+v: %v", d, err)
			}
		}
	}},
}
