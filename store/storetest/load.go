package storetest

import (
	"fmt"

	"github.com/perdure/perdure/store"
)

// loadChecks are about reading one run, and about finding runs by their IDs.
var loadChecks = []check{
	{"Load/EverythingOfARun", func(f *fixture) {
		run := f.newRun()
		call := store.Call{Number: 3, State: store.Backoff, Name: "charge", Attempt: 2, Due: 55, Data: []byte("x")}
		first, second := f.first(run), f.turn(run, 2, calling(call))
		f.commits(f.first(f.newRun()), first, second, f.first(f.newRun()))
		call.Partition, call.Run = f.partition, run.ID
		equal(f, f.load(run.ID), store.Record{Run: run, Turns: []store.TurnRow{row(first), row(second)}, Calls: []store.Call{call}})
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
			record := f.load(run.ID)
			calls := f.calls(run.ID)
			equal(f, record.Calls, calls)
			equal(f, len(calls), len(rows))
			for _, c := range calls {
				want := rows[c.Number]
				want.Partition, want.Run = f.partition, run.ID
				equal(f, c, want)
			}
		}
		got := must(f.store.Waiting(f.Context(), store.CallFilter{Partitions: []int{f.partition}, State: store.Paused}))(f)
		equal(f, len(got), 1)
		equal(f, got[0].First, 0)
	}},
	{"Load/UnknownRun", func(f *fixture) {
		f.is(errorOf(f.store.Load(f.Context(), f.partition, "nobody")), store.ErrNotFound)
	}},
	{"Load/RunWithoutHistory", func(f *fixture) {
		run := f.started()
		equal(f, f.load(run.ID), store.Record{Run: run})
	}},
	{"Load/RunsByTheirIDs", func(f *fixture) { // a store may keep IDs of this form in another one
		const form = "0198c1d2-0000-7000-8000-0000000000%02x"
		for i := range 3 {
			f.started(func(r *store.Run) { r.ID = fmt.Sprintf(form, 16*(i+1)) })
		}
		for i := range 3 {
			at := func(offset int) string { return fmt.Sprintf(form, 16*(i+1)+offset) }
			for _, c := range []struct {
				filter store.Filter
				want   int
			}{{store.Filter{Above: at(-1)}, 3 - i}, {store.Filter{Above: at(0)}, 2 - i}, {store.Filter{Before: at(0)}, i}, {store.Filter{Before: at(1)}, i + 1}} {
				c.filter.Partitions = []int{f.partition}
				if listed := f.list(c.filter); len(listed) != c.want {
					f.Errorf("by %+v there are %d runs, want %d", c.filter, len(listed), c.want)
				}
			}
		}
	}},
}
