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
	{"Load/CallsThatShareARow", func(f *fixture) {
		run := f.newRun()
		first, second, third := f.first(run), f.turn(run, 2), f.turn(run, 3)
		first.Calls = []store.Call{{Number: 1, State: store.Backoff}, {Number: 1000, First: 2, State: store.Queued, Name: "charge", Attempt: 1, Data: []byte("x")}}
		second.Calls = []store.Call{{Number: 1000, First: 130, State: store.Queued, Name: "charge", Attempt: 1, Data: []byte("x")}, {Number: 129, First: 2, State: store.Dispatched, Name: "charge", Attempt: 1}}
		third.Calls = []store.Call{{Number: 1000, State: store.Paused}}
		third.Closed = []int64{1, 129}
		rows := CallRows{}
		for _, t := range []store.Turn{first, second, third} {
			f.commits(t)
			rows.Take(&t)
			record, err := f.store.Load(f.Context(), f.partition, run.ID)
			f.must(err)
			calls, err := f.store.Calls(f.Context(), f.partition, run.ID)
			f.must(err)
			equal(f, record.Calls, calls)
			equal(f, len(calls), len(rows))
			for _, c := range calls {
				want := rows[c.Number]
				want.Partition, want.Run = f.partition, run.ID
				equal(f, c, want)
			}
		}
		got, err := f.store.Waiting(f.Context(), store.CallFilter{Partitions: []int{f.partition}, State: store.Paused})
		f.must(err)
		equal(f, len(got), 1)
		equal(f, got[0].First, 0)
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
