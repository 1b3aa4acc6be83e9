package storetest

import "github.com/perdure/perdure/store"

// loadChecks are about Load.
var loadChecks = []check{
	{"Load/EverythingOfARun", func(f *fixture) {
		run := f.newRun()
		first, second := f.first(run), f.turn(run, 2)
		second.Calls = []store.Call{{Number: 3, State: store.Backoff, Name: "charge", Attempt: 2, Due: 55, Data: []byte("x")}}
		f.commits(f.first(f.newRun()), first, second, f.first(f.newRun()))
		record, err := f.store.Load(f.Context(), f.partition, run.ID)
		f.must(err)
		call := second.Calls[0]
		call.Partition, call.Run = f.partition, run.ID
		equal(f, *record, store.Record{Run: run, Turns: []store.TurnRow{row(first), row(second)}, Calls: []store.Call{call}})
	}},
	{"Load/UnknownRun", func(f *fixture) {
		_, err := f.store.Load(f.Context(), f.partition, "nobody")
		f.is(err, store.ErrNotFound)
	}},
	{"Load/RunWithoutHistory", func(f *fixture) {
		run := f.newRun()
		f.must(f.store.Create(f.Context(), run))
		record, err := f.store.Load(f.Context(), f.partition, run.ID)
		f.must(err)
		equal(f, *record, store.Record{Run: run})
	}},
}
