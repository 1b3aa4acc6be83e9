package storetest

import "github.com/perdure/perdure/store"

// baseChecks are about runs that begin with the history of another one (Run.Base).
var baseChecks = []check{
	{"Base/TurnsAreCopiedAndTheLastIsAdded", func(f *fixture) {
		source := f.longRun()
		for _, create := range f.waysToCreateBased() {
			for turns := range int64(3) {
				run := f.newRun()
				run.Base = f.base(source, turns)
				f.must(create(run))
				want := append(f.withoutEpoch(source, turns), run.Base.Last)
				equal(f, f.history(run.ID), want)
				f.must(create(run)) // asked again
				equal(f, f.history(run.ID), want)
				f.commits(f.turn(run, turns+2))
				equal(f, len(f.history(run.ID)), int(turns)+2)
				run.Base = nil
				equal(f, f.find(run.ID), run)
			}
		}
		equal(f, f.history(source.ID), []store.TurnRow{row(f.turn(source, 1)), row(f.turn(source, 2)), row(f.turn(source, 3))})
	}},
	{"Base/OfAnotherPartition", func(f *fixture) {
		source := f.longRun()
		run := f.newRun()
		run.Partition, run.Base = f.elsewhere(), f.base(source, 2)
		f.must(f.store.Create(f.Context(), run))
		equal(f, must(f.store.History(f.Context(), run.Partition, run.ID, 0, 0))(f), append(f.withoutEpoch(source, 2), run.Base.Last))
	}},
	{"Base/OfTheRunThatTheTurnCloses", func(f *fixture) {
		source := f.longRun()
		next := f.newRun()
		next.WorkflowID, next.Chain, next.Base = source.WorkflowID, source.ID, f.base(source, 2)
		t := f.turn(source, 4)
		t.State, t.Create = closed(store.Continued), &next
		f.commits(t, f.first(f.newRun()))
		f.commits(t)
		equal(f, f.history(next.ID), append(f.withoutEpoch(source, 2), next.Base.Last))
		equal(f, len(f.history(source.ID)), 4)
	}},
	{"Base/WhatIsNotThereIsNotFound", func(f *fixture) {
		source := f.longRun()
		for _, create := range f.waysToCreateBased() {
			for _, lacking := range []*store.Base{f.base(source, 4), f.base(f.newRun(), 1)} {
				run := f.newRun()
				run.Base = lacking
				f.is(create(run), store.ErrNotFound)
				f.none("", run.ID)
				equal(f, len(f.history(run.ID)), 0)
			}
			run := f.newRun() // nothing is copied
			run.Base = f.base(f.newRun(), 0)
			f.must(create(run))
			equal(f, f.history(run.ID), []store.TurnRow{run.Base.Last})
		}
	}},
	{"Base/MalformedIsRefused", func(f *fixture) {
		source := f.longRun()
		for _, spoil := range []func(b *store.Base){
			func(b *store.Base) { b.Run = "" },
			func(b *store.Base) { b.Run = "\x00" },
			func(b *store.Base) { b.Turns = -1 },
			func(b *store.Base) { b.Last.Number = 4 },
			func(b *store.Base) { b.Partition = -1 },
		} {
			run := f.newRun()
			run.Base = f.base(source, 2)
			spoil(run.Base)
			f.malformed(f.store.Create(f.Context(), run))
		}
		run := f.newRun()
		run.Base = f.base(source, 2)
		f.malformed(f.commit(f.first(run))[0]) // turn 1 is there
	}},
	{"After/ARunOfTheSameChainGoesOnOnce", func(f *fixture) {
		for _, create := range f.waysToCreate() {
			run := f.created()
			f.closes(run, 2, store.Failed)
			next, rival := f.newRunAfter(run), f.newRunAfter(run)
			next.Chain, rival.Chain = run.ID, run.ID
			f.must(create(next))
			f.closes(next, 2, store.Completed)
			f.conflict(create(rival), f.find(next.ID)) // although that has ended
		}
	}},
}

// longRun commits a run of three turns.
func (f *fixture) longRun() store.Run {
	f.Helper()
	run := f.created()
	f.commits(f.turn(run, 2))
	f.commits(f.turn(run, 3))
	return run
}

// base describes a history to begin with.
func (f *fixture) base(source store.Run, turns int64) *store.Base {
	return &store.Base{
		RunRef: store.RunRef{Partition: source.Partition, Run: source.ID}, Turns: turns,
		Last: store.TurnRow{Number: turns + 1, Time: 1_700_000_000_000_000_077, Events: []byte(`["cut"]`)},
	}
}

// withoutEpoch are the first turns of a run as they are copied.
func (f *fixture) withoutEpoch(source store.Run, turns int64) []store.TurnRow {
	f.Helper()
	rows := f.history(source.ID)[:turns]
	for i := range rows {
		rows[i].Epoch = 0
	}
	return rows
}

// waysToCreateBased are those of a client and of the owner, whose turn adds nothing to
// the history.
func (f *fixture) waysToCreateBased() []func(run store.Run) error {
	return []func(run store.Run) error{
		func(run store.Run) error { return f.store.Create(f.Context(), run) },
		func(run store.Run) error {
			t := f.turn(run, 0)
			t.Create, t.Events = &run, nil
			return f.commit(t)[0]
		},
	}
}
