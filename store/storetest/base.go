package storetest

import "github.com/perdure/perdure/store"

// baseChecks are about runs that begin with the history of another one (Run.Base).
var baseChecks = []check{
	{"Base/TurnsAreCopiedAndTheLastIsAdded", func(f *fixture) {
		source := f.longRun()
		for _, create := range f.waysToCreateBased() {
			for turns := range int64(3) {
				run := f.newRun(f.based(source, turns))
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
		run := f.started(in(f.elsewhere()), f.based(source, 2))
		equal(f, must(f.store.History(f.Context(), run.Partition, run.ID, 0, 0))(f), append(f.withoutEpoch(source, 2), run.Base.Last))
	}},
	{"Base/OfTheRunThatTheTurnCloses", func(f *fixture) {
		source := f.longRun()
		next := f.newRun(following(source), f.based(source, 2))
		t := f.turn(source, 4, continuing(next))
		f.commits(t, f.first(f.newRun()))
		f.commits(t)
		equal(f, f.history(next.ID), append(f.withoutEpoch(source, 2), next.Base.Last))
		equal(f, len(f.history(source.ID)), 4)
	}},
	{"Base/WhatIsNotThereIsNotFound", func(f *fixture) {
		source := f.longRun()
		for _, create := range f.waysToCreateBased() {
			for _, lacking := range []func(r *store.Run){f.based(source, 4), f.based(f.newRun(), 1)} {
				run := f.newRun(lacking)
				f.is(create(run), store.ErrNotFound)
				f.none("", run.ID)
				equal(f, len(f.history(run.ID)), 0)
			}
			run := f.newRun(f.based(f.newRun(), 0)) // nothing is copied
			f.must(create(run))
			equal(f, f.history(run.ID), []store.TurnRow{run.Base.Last})
		}
	}},
	{"Base/MalformedIsRefused", func(f *fixture) {
		source := f.longRun()
		run := f.newRun(f.based(source, 2))
		create := func(b store.Base) error {
			run.Base = &b
			return f.store.Create(f.Context(), run)
		}
		spoiled(f, *run.Base, create,
			func(b *store.Base) { b.Run = "" },
			func(b *store.Base) { b.Run = "\x00" },
			func(b *store.Base) { b.Turns = -1 },
			func(b *store.Base) { b.Last.Number = 4 },
			func(b *store.Base) { b.Partition = -1 },
		)
		f.malformed(f.commit(f.first(f.newRun(f.based(source, 2))))[0]) // turn 1 is there
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

// based is a run that begins with a history.
func (f *fixture) based(source store.Run, turns int64) func(r *store.Run) {
	return func(r *store.Run) {
		r.Base = &store.Base{
			RunRef: store.RunRef{Partition: source.Partition, Run: source.ID}, Turns: turns,
			Last: store.TurnRow{Number: turns + 1, Time: 1_700_000_000_000_000_077, Events: []byte(`["cut"]`)},
		}
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
			return f.commit(f.turn(run, 0, creating(run), func(t *store.Turn) { t.Events = nil }))[0]
		},
	}
}
