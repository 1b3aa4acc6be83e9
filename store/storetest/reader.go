package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/store"
)

// readerChecks are about the verbs that only look.
var readerChecks = []check{
	{"Reader/Find", func(f *fixture) {
		run := f.created()
		equal(f, *must(f.store.Find(f.Context(), f.partition, "whatever", run.ID))(f), run)
		equal(f, f.latest(run.WorkflowID), run)
		for _, key := range [][2]string{{"unknown", ""}, {run.WorkflowID, "unknown"}, {"", ""}, {run.WorkflowID + "\x00", ""}} {
			f.none(key[0], key[1])
		}
	}},
	{"Reader/LatestIsWhatNoneCameAfter", func(f *fixture) {
		run := f.created(func(r *store.Run) { r.Latest = false }) // only reads set it
		latest := func(run store.Run) bool {
			found := f.find(run.ID)
			listed := must(f.store.List(f.Context(), store.Filter{Partitions: []int{f.partition}, IDPrefix: run.WorkflowID, Above: run.ID[:len(run.ID)-1]}))(f)
			for _, row := range listed {
				if row.ID == run.ID {
					equal(f, row.Latest, found.Latest)
				}
			}
			return found.Latest
		}
		equal(f, latest(run), true)
		f.closes(run, 2, store.Failed)
		equal(f, latest(run), true)
		next := f.newRunAfter(run)
		f.commits(f.first(next))
		equal(f, latest(run), false)
		equal(f, latest(next), true)
	}},
	{"Reader/Ended", func(f *fixture) {
		var refs []store.RunRef
		want := map[string]store.Run{}
		for i := range 9 {
			run := f.created()
			refs = append(refs, store.RunRef{Partition: f.partition, Run: run.ID})
			if i%3 == 0 {
				f.closes(run, 2, store.Failed)
				run.RunState = closed(store.Failed)
				want[run.ID] = run
			}
		}
		refs = append(refs, store.RunRef{Partition: f.partition, Run: "nobody"}, store.RunRef{Partition: f.partition + 1_000_000, Run: refs[0].Run})
		ended := must(f.store.Ended(f.Context(), refs))(f)
		got := map[string]store.Run{}
		for _, run := range ended {
			got[run.ID] = run
		}
		equal(f, len(ended), len(want))
		equal(f, got, want)
		equal(f, len(must(f.store.Ended(f.Context(), nil))(f)), 0)
	}},
	{"Reader/UnknownRunsHaveNothing", func(f *fixture) {
		equal(f, len(f.history("nobody"))+len(f.calls("nobody"))+len(f.attempts("nobody")), 0)
	}},
	{"Reader/PartitionsThatDoNotExistHoldNothing", func(f *fixture) {
		run := f.created()
		for name, l := range looks(f.Context(), f.store, run, f.partition+1000) {
			var want error
			if name == "Find" || name == "Load" {
				want = store.ErrNotFound
			}
			f.is(l.err, want)
			equal(f, l.held, 0)
		}
		for _, l := range looks(f.Context(), f.store, run, -1) { // which could never exist
			f.malformed(l.err)
		}
		held := 0
		for _, l := range looks(f.Context(), f.store, run, f.partition) {
			held += l.held
		}
		if held == 0 {
			f.Error("the run is not where it should be")
		}
	}},
	{"Reader/HistoryPages", func(f *fixture) {
		run := f.created()
		for n := int64(2); n <= 10; n++ {
			f.commits(f.turn(run, n))
		}
		page := func(after int64, limit int) []int64 {
			turns := must(f.store.History(f.Context(), f.partition, run.ID, after, limit))(f)
			return each(turns, func(t store.TurnRow) int64 { return t.Number })
		}
		equal(f, page(0, 3), []int64{1, 2, 3})
		equal(f, page(3, 4), []int64{4, 5, 6, 7})
		equal(f, page(7, 0), []int64{8, 9, 10})
		equal(f, page(10, 5), nil)
	}},
	{"Reader/ListNewestFirstByPages", func(f *fixture) {
		ids := f.newest(7)
		equal(f, f.list(store.Filter{}), ids)
		equal(f, f.list(store.Filter{Limit: 3}), ids[:3])
		equal(f, f.list(store.Filter{Limit: 3, Before: ids[2]}), ids[3:6])
		equal(f, f.list(store.Filter{Limit: 3, Before: ids[5]}), ids[6:])
		equal(f, f.list(store.Filter{Before: ids[6]}), nil)
		equal(f, must(f.store.List(f.Context(), store.Filter{Limit: 1}))(f)[0], f.find(ids[0]))
	}},
	{"Reader/FloorOfTheNewest", func(f *fixture) {
		ids := f.newest(7)
		floor := func(before string, each int) string {
			return must(f.store.Floor(f.Context(), []int{f.partition}, before, each))(f)
		}
		equal(f, floor("", 1), ids[0])
		equal(f, floor("", 0), ids[0])
		equal(f, floor("", 3), ids[2])
		equal(f, floor(ids[2], 3), ids[5])
		equal(f, floor("", 7), ids[6])
		equal(f, floor("", 8), "")
		equal(f, floor(ids[2], 5), "")
		equal(f, floor(ids[6], 1), "")
		equal(f, must(f.store.Floor(f.Context(), nil, "", 3))(f) >= ids[2], true)
	}},
	{"Reader/ListOfAHundredByDefault", func(f *fixture) {
		for range 3 {
			var batch []store.Turn
			for range 40 {
				batch = append(batch, f.first(f.newRun()))
			}
			f.commits(batch...)
		}
		equal(f, len(f.list(store.Filter{})), 100)
		equal(f, len(f.list(store.Filter{Limit: 110})), 110)
		equal(f, len(f.list(store.Filter{Limit: 1000, Status: []store.Status{store.Running, store.Failed}})), 120)
	}},
	{"Reader/ListFilters", func(f *fixture) {
		statuses := []store.Status{store.Running, store.Parked, store.Completed, store.Failed}
		states := []store.CallState{store.Backoff, store.Paused}
		var ids []string
		for i := range 24 {
			run := f.newRun()
			run.Status, run.Type, run.WorkflowID = statuses[i%4], fmt.Sprintf("type-%d", i%3), fmt.Sprintf("%d-%s", i%2, run.WorkflowID)
			t := f.first(run)
			if i%4 < 2 {
				t.Calls = []store.Call{{Number: 1, State: states[i%4]}, {Number: 2, State: states[i%4]}}
			}
			f.commits(t)
			ids = append(ids, run.ID)
		}
		pick := newestFirst(ids)
		equal(f, f.list(store.Filter{Status: []store.Status{store.Parked}}), pick(func(i int) bool { return i%4 == 1 }))
		equal(f, f.list(store.Filter{Status: []store.Status{store.Failed, store.Running, store.Failed}}), pick(func(i int) bool { return i%4 == 3 || i%4 == 0 }))
		equal(f, f.list(store.Filter{Status: []store.Status{store.Failed, store.Running}, Limit: 5, Before: ids[20]}),
			pick(func(i int) bool { return (i%4 == 3 || i%4 == 0) && i < 20 })[:5])
		equal(f, f.list(store.Filter{Type: "type-2"}), pick(func(i int) bool { return i%3 == 2 }))
		equal(f, f.list(store.Filter{IDPrefix: "1-"}), pick(func(i int) bool { return i%2 == 1 }))
		equal(f, f.list(store.Filter{IDPrefix: "%"}), nil)
		equal(f, f.list(store.Filter{Call: store.Paused}), pick(func(i int) bool { return i%4 == 1 }))
		equal(f, f.list(store.Filter{Call: store.Paused, Type: "type-1", Status: []store.Status{store.Parked}, IDPrefix: "1-", Before: ids[13]}),
			pick(func(i int) bool { return i%4 == 1 && i%3 == 1 && i < 13 }))
		equal(f, f.list(store.Filter{ErrorType: "net"}), nil)
		for i, last := range []string{"net", "card", "", "net"} {
			t := f.turn(f.find(ids[i]), 2)
			t.Attempts = []store.Attempt{{Call: 1, Number: 1, ErrorType: "net"}, {Call: 1, Number: 2, ErrorType: last}, {Call: 2, Number: 1}}
			f.commits(t)
		}
		equal(f, f.list(store.Filter{ErrorType: "net"}), pick(func(i int) bool { return i == 0 || i == 3 }))
		equal(f, f.list(store.Filter{ErrorType: "net", Status: []store.Status{store.Failed}}), pick(func(i int) bool { return i == 3 }))
		equal(f, f.list(store.Filter{ErrorType: "net", Before: ids[3]}), pick(func(i int) bool { return i == 0 }))
		equal(f, f.list(store.Filter{ErrorType: "net", Above: ids[0], Before: ids[9]}), pick(func(i int) bool { return i == 3 }))
		equal(f, f.list(store.Filter{ErrorType: "\x00"}), nil)
		equal(f, f.list(store.Filter{Status: []store.Status{"unheard of"}}), nil)
		equal(f, f.list(store.Filter{Status: []store.Status{""}}), nil)
	}},
	{"Reader/RunsAtWorkAndAtRestAreOneStatus", func(f *fixture) {
		wakes := []int64{store.Hot, 77, store.Never, store.Hot, store.InLine(0, 5000), 99}
		var ids []string
		for _, wake := range wakes {
			ids = append([]string{f.created(waking(wake)).ID}, ids...)
		}
		running := func(want ...string) {
			f.Helper()
			filter := store.Filter{Status: []store.Status{store.Running}, Limit: 2}
			for page := range slices.Chunk(want, filter.Limit) {
				equal(f, f.list(filter), page)
				filter.Before = page[len(page)-1]
			}
			equal(f, f.list(filter), nil)
			equal(f, f.counts([]int{f.partition}, 0).Runs[store.Running], len(want))
		}
		running(ids...)
		state := func(id string, number int64, s store.RunState) {
			f.Helper()
			f.commits(f.turn(f.find(id), number, stating(s)))
		}
		for i, id := range ids { // who was at work rests, and the other way round
			wake := store.Hot
			if wakes[len(wakes)-1-i] == store.Hot {
				wake = 50
			}
			state(id, 2, store.RunState{Status: store.Running, Wake: wake})
		}
		running(ids...)
		state(ids[1], 3, store.RunState{Status: store.Completed, Wake: store.Never, Closed: 1})
		state(ids[2], 3, store.RunState{Status: store.Failed, Wake: store.Never, Closed: 1})
		state(ids[3], 3, store.RunState{Status: store.OnHold, Wake: store.Hot})
		state(ids[4], 3, store.RunState{Status: store.OnHold, Wake: 60})
		running(ids[0], ids[5])
		equal(f, f.list(store.Filter{Status: []store.Status{store.OnHold, store.Running}}), []string{ids[0], ids[3], ids[4], ids[5]})
		equal(f, f.list(store.Filter{Status: []store.Status{store.Completed, store.Failed}}), []string{ids[1], ids[2]})
	}},
	{"Reader/ListByAttributes", func(f *fixture) {
		var ids []string
		for i := range 12 {
			run := f.newRun()
			run.Attributes = []store.Attribute{{Name: "city", Value: []string{"Lyon", "Oslo", "Łódź"}[i%3]}, {Name: "half", Value: fmt.Sprint(i % 2)}}
			if i%2 == 0 {
				f.commits(f.first(run))
			} else {
				f.must(f.store.Create(f.Context(), run))
				f.must(f.store.Create(f.Context(), run)) // again
			}
			ids = append(ids, run.ID)
			equal(f, f.find(run.ID), run)
		}
		pick := newestFirst(ids)
		by := func(pairs ...string) store.Filter {
			var filter store.Filter
			for i := 0; i < len(pairs); i += 2 {
				filter.Attributes = append(filter.Attributes, store.Attribute{Name: pairs[i], Value: pairs[i+1]})
			}
			return filter
		}
		equal(f, f.list(by("city", "Oslo")), pick(func(i int) bool { return i%3 == 1 }))
		equal(f, f.list(by("city", "Łódź", "half", "0")), pick(func(i int) bool { return i%3 == 2 && i%2 == 0 }))
		equal(f, f.list(by("half", "1", "city", "Łódź")), pick(func(i int) bool { return i%3 == 2 && i%2 == 1 }))
		equal(f, f.list(by("city", "Lyon", "city", "Oslo")), nil)
		equal(f, f.list(by("city", "oslo")), nil)
		equal(f, f.list(by("Oslo", "city")), nil)
		equal(f, f.list(by("city", "\x00")), nil)
		page := by("half", "0")
		page.Limit, page.Before, page.Above, page.Status = 2, ids[10], ids[2], []store.Status{store.Running, store.Failed}
		equal(f, f.list(page), pick(func(i int) bool { return i%2 == 0 && i > 2 && i < 10 })[:2])
		unnamed := f.newRun(func(r *store.Run) { r.Attributes = []store.Attribute{{Value: "x"}} })
		if err := f.store.Create(f.Context(), unnamed); err == nil {
			f.Error("an attribute has no name")
		}
	}},
	{"Reader/ListByTime", func(f *fixture) {
		var ids []string
		for i := range 6 {
			ids = append(ids, f.created(func(r *store.Run) { r.Created = int64(100 + 10*i) }).ID)
		}
		at := func(ns int64) time.Time { return time.Unix(0, ns) }
		equal(f, f.list(store.Filter{Since: at(120)}), []string{ids[5], ids[4], ids[3], ids[2]})
		equal(f, f.list(store.Filter{Until: at(120)}), []string{ids[1], ids[0]})
		equal(f, f.list(store.Filter{Since: at(111), Until: at(131), Status: []store.Status{store.Running}}), []string{ids[3], ids[2]})
		equal(f, f.list(store.Filter{Above: ids[1], Before: ids[4]}), []string{ids[3], ids[2]})
	}},
	{"Reader/WaitingCalls", func(f *fixture) {
		gate := f.newEntity(func(r *store.Run) { r.Type = "#gate" })
		f.commits(f.creation(gate, calling(store.Call{Number: 9, State: store.TicketWaiting, Name: "ticket"})))
		var want []store.WaitingCall
		for i := range 6 {
			run := f.newRun()
			c := store.Call{Number: 2, State: store.Backoff, Name: "charge", Queue: "q", Attempt: i, Due: int64(1000 - i), Data: fmt.Appendf(nil, `{"n":%d}`, i)}
			f.commits(f.first(run, calling(store.Call{Number: 1, State: store.Paused}, c)))
			c.Partition, c.Run = f.partition, run.ID
			want = append([]store.WaitingCall{{Call: c, WorkflowID: run.WorkflowID, Type: run.Type, Key: "ann"}}, want...)
		}
		ask := func(filter store.CallFilter) []store.WaitingCall {
			return must(f.store.Waiting(f.Context(), filter))(f)
		}
		equal(f, ask(store.CallFilter{State: store.Backoff}), want)
		equal(f, ask(store.CallFilter{State: store.Backoff, Limit: 2}), want[:2])
		equal(f, ask(store.CallFilter{State: store.Backoff, Partitions: []int{f.partition}}), want)
		equal(f, ask(store.CallFilter{State: store.Backoff, Partitions: []int{}}), nil)
		equal(f, len(ask(store.CallFilter{State: store.Paused, Limit: 4})), 4)
		tickets := ask(store.CallFilter{State: store.TicketWaiting})
		equal(f, len(tickets), 1)
		equal(f, tickets[0].Run, gate.ID)
		equal(f, tickets[0].WorkflowID, gate.WorkflowID)
		equal(f, ask(store.CallFilter{State: store.Quarantined}), nil)
		equal(f, ask(store.CallFilter{State: "\x00"}), nil)
	}},
	{"Reader/PagesNeitherRepeatNorSkip", func(f *fixture) {
		there := map[string]bool{} // all the time
		for range 20 {
			there[f.created().ID] = true
		}
		seen := map[string]int{}
		for before := ""; ; {
			page := f.list(store.Filter{Limit: 3, Before: before})
			for _, id := range page {
				seen[id]++
				f.closes(f.find(id), 2, store.Failed) // what changes stays where it is
			}
			if len(page) < 3 {
				break
			}
			before = page[2]
			f.created() // a new one
		}
		for id := range there {
			equal(f, seen[id], 1)
		}
	}},
	{"Reader/Counts", func(f *fixture) {
		counts := func(partitions []int) store.Counts {
			f.Helper()
			return f.counts(partitions, 0)
		}
		empty := store.Counts{Runs: map[store.Status]int{}, Calls: map[store.CallState]int{}}
		equal(f, counts(nil), empty)
		for i := range 6 {
			run := f.newRun()
			if i >= 4 {
				run.Status = store.Parked
			}
			t := f.first(run)
			t.Calls = []store.Call{{Number: 1, State: store.Backoff, Due: int64(100 + i)}, {Number: 2, State: store.Queued}, {Number: 3, State: store.Gated, Due: 1}, {Number: 9, First: 4, State: store.InDoubt}}
			if i%2 == 1 {
				t.Calls = nil
			}
			f.commits(t)
		}
		want := store.Counts{
			Runs:      map[store.Status]int{store.Running: 4, store.Parked: 2},
			Calls:     map[store.CallState]int{store.Backoff: 3, store.Queued: 3, store.Gated: 3, store.InDoubt: 18},
			NextRetry: 100,
		}
		equal(f, counts(nil), want)
		there := f.elsewhere()
		f.started(in(there))
		equal(f, counts([]int{f.partition}), want)
		equal(f, counts([]int{there, there}).Runs, map[store.Status]int{store.Running: 1})
		equal(f, counts([]int{}), empty)
		want.Runs[store.Running]++
		equal(f, counts(nil), want)
		equal(f, counts([]int{there, f.partition}), want)
		f.created(func(r *store.Run) { r.Status, r.Closed = store.Completed, 1 })
		want.Runs[store.Completed] = 1
		for _, most := range []int{6, 4, 1} {
			got := f.counts(nil, most)
			want.Bound(most)
			equal(f, got, want)
			_, has := got.Runs[store.Completed]
			equal(f, has, most == 6)
		}
	}},
	{"Reader/ListByPartitions", func(f *fixture) {
		here, there := f.created(), f.elsewhere()
		away := f.started(in(there))
		later := f.created()
		equal(f, f.list(store.Filter{}), []string{later.ID, away.ID, here.ID})
		equal(f, f.list(store.Filter{Partitions: []int{there, f.partition, there}}), []string{later.ID, away.ID, here.ID})
		equal(f, f.list(store.Filter{Partitions: []int{f.partition}}), []string{later.ID, here.ID})
		equal(f, f.list(store.Filter{Partitions: []int{there}, Status: []store.Status{store.Running}}), []string{away.ID})
		equal(f, f.list(store.Filter{Partitions: []int{there, f.partition}, Limit: 1, Before: later.ID}), []string{away.ID})
		equal(f, f.list(store.Filter{Partitions: []int{}}), nil)
	}},
	{"Reader/CanceledContextIsHeeded", func(f *fixture) {
		run := f.created()
		if _, err := f.store.Load(canceled(), f.partition, run.ID); err == nil || store.Unavailable(err) {
			f.Errorf("Load answered %v", err)
		}
		if _, err := f.store.List(canceled(), store.Filter{}); err == nil || store.Unavailable(err) {
			f.Errorf("List answered %v", err)
		}
		equal(f, len(f.history(run.ID)), 1)
	}},
}

// list reads the IDs of the runs that a filter selects.
func (f *fixture) list(filter store.Filter) []string {
	f.Helper()
	return each(must(f.store.List(f.Context(), filter))(f), func(r store.Run) string { return r.ID })
}

// newest makes runs and returns their IDs, the last one first.
func (f *fixture) newest(n int) []string {
	f.Helper()
	ids := make([]string, n)
	for i := range ids {
		ids[n-1-i] = f.created().ID
	}
	return ids
}

// newestFirst returns a function that picks some of the IDs, the last one first.
func newestFirst(ids []string) func(keep func(i int) bool) []string {
	return func(keep func(i int) bool) (list []string) {
		for i := len(ids) - 1; i >= 0; i-- {
			if keep(i) {
				list = append(list, ids[i])
			}
		}
		return list
	}
}
