package storetest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/perdure/perdure/store"
)

// ledgerChecks are about attempts across runs.
var ledgerChecks = []check{
	{"Ledger/LatestFirstByPages", func(f *fixture) {
		all := f.manyAttempts()
		equal(f, f.ledger(store.LedgerFilter{Limit: 1000}), all)
		equal(f, f.ledger(store.LedgerFilter{}), all[:100])
		for _, size := range []int{1, 7, 1000} {
			var got []store.LedgerEntry
			filter := store.LedgerFilter{Limit: size}
			for {
				page := f.ledger(filter)
				if got = append(got, page...); len(page) < size {
					break
				}
				last := page[len(page)-1].Key()
				filter.Before = &last
				if size == 7 && len(got) == 7 { // what comes about meanwhile moves nothing
					f.attempted(f.created(), store.Attempt{Call: 1, Number: 1, Ended: 1_000_000})
				}
			}
			if size == 7 {
				equal(f, got, all)
				all = f.ledger(store.LedgerFilter{Limit: 1000})
				continue
			}
			equal(f, got, all)
		}
	}},
	{"Ledger/Filters", func(f *fixture) {
		all := f.manyAttempts()
		some := all[len(all)/2].Key()
		for _, filter := range []store.LedgerFilter{
			{Name: "name-1"}, {ErrorType: "error-2"}, {Outcome: "completed"}, {Reason: "reason-0"}, {Type: "type-1"},
			{From: 10}, {Until: 10}, {From: 10, Until: 11}, {From: 11, Until: 10}, {Above: 2}, {Latest: true}, {Latest: true, Above: 3},
			{Latest: true, Outcome: "completed"}, {Partitions: []int{f.partition}}, {Partitions: []int{}},
			{Name: "name-1", ErrorType: "error-2", Type: "type-1", Reason: "reason-0", Before: &some},
			{Name: "unheard of"}, {Type: "name-1"}, {Reason: "\x00"}, {Attributes: kinds(0)}, {Attributes: kinds(1), Type: "type-1"},
			{Attributes: kinds(0, 1)}, {Attributes: []store.Attribute{{Name: "\x00"}}}, {Attributes: kinds(1), Latest: true, Partitions: []int{f.partition}},
			{Latest: true, From: 5, Before: &some, Name: "name-0"},
		} {
			filter.Limit = 1000
			want := slices.DeleteFunc(slices.Clone(all), func(e store.LedgerEntry) bool { return !selects(all, &filter, &e) })
			if len(want) == 0 {
				want = nil
			}
			equal(f, f.ledger(filter), want)
			if filter.Limit = 3; len(want) > 3 {
				equal(f, f.ledger(filter), want[:3])
			}
		}
	}},
	{"Ledger/PrunedAttemptsAreGone", func(f *fixture) {
		run := f.created()
		for n := 1; n <= 5; n++ {
			a := store.Attempt{Call: 1, Number: n, ErrorType: "net", Ended: int64(n)}
			if n > 3 {
				a.Prune = n - 2
			}
			f.attempted(run, a)
		}
		kept := each(f.ledger(store.LedgerFilter{}), func(e store.LedgerEntry) [2]int { return [2]int{e.Number, e.Prune} })
		equal(f, kept, [][2]int{{5, 0}, {4, 0}, {1, 0}})
		equal(f, must(f.store.Errors(f.Context(), store.LedgerFilter{}))(f)[0].Attempts, 3)
	}},
	{"Ledger/ErrorsAreGrouped", func(f *fixture) {
		all := f.manyAttempts()
		for _, filter := range []store.LedgerFilter{
			{}, {Name: "name-1"}, {ErrorType: "error-2"}, {Type: "type-0"}, {Outcome: "failed", Reason: "reason-1"}, {From: 5, Until: 12},
			{Partitions: []int{f.partition}}, {Partitions: []int{}}, {Name: "unheard of"}, {Name: "\x00"}, {Attributes: kinds(1)}, {Attributes: kinds(0, 1)},
			{Limit: 1}, {Limit: 7}, {Limit: 9, ErrorType: "error-2"}, {Limit: 1000, From: 3}, {Limit: 5, Until: 12, Partitions: []int{f.partition}},
			{Latest: true, Above: 2, Limit: 1, Before: &store.LedgerKey{Ended: 3}},
		} {
			got := must(f.store.Errors(f.Context(), filter))(f)
			filter.Latest, filter.Above, filter.Before = false, 0, nil
			equal(f, got, errorGroups(all, &filter))
		}
	}},
}

// manyAttempts writes attempts of several runs in two partitions, many of which
// ended at the same time, and returns them as Ledger should.
func (f *fixture) manyAttempts() []store.LedgerEntry {
	f.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	word := func(what string, n int) string { return fmt.Sprint(what, "-", random.IntN(n)) }
	var all []store.LedgerEntry
	other := f.other()
	for i := range 12 {
		here := f
		if i%3 == 0 {
			here = other
		}
		run := here.newRun()
		run.Type, run.Attributes = word("type", 2), append(kinds(i/2%2), store.Attribute{Name: "for all", Value: "it"})
		t := here.first(run)
		for call := int64(1); call <= 4; call++ {
			name, ended := word("name", 3), int64(random.IntN(10))
			for n := range 1 + random.IntN(5) {
				ended += int64(random.IntN(3))
				a := store.Attempt{
					Call: call, Number: n + 1, Name: name, Outcome: "failed", ErrorType: word("error", 4), Reason: word("reason", 2),
					Started: 1, Ended: ended, Data: fmt.Append(nil, i/2%2, " ", n), // its kind, see kinds
				}
				if random.IntN(4) == 0 {
					a.Outcome, a.ErrorType = store.OutcomeCompleted, ""
				}
				t.Attempts = append(t.Attempts, a)
				a.Partition, a.Run = here.partition, run.ID
				all = append(all, store.LedgerEntry{Attempt: a, WorkflowID: run.WorkflowID, Type: run.Type})
			}
		}
		here.commits(t)
	}
	slices.SortFunc(all, func(a, b store.LedgerEntry) int { return b.Key().Compare(a.Key()) })
	return all
}

// kinds are attributes of which a run of manyAttempts has one, the first or the second: each has
// the same name.
func kinds(which ...int) (all []store.Attribute) {
	for _, n := range which {
		all = append(all, store.Attribute{Name: "kind", Value: fmt.Sprint(n)})
	}
	return all
}

// other is the same node as the owner of another partition.
func (f *fixture) other() *fixture {
	f.Helper()
	group := f.makeGroup("another group")
	o := *f
	o.partition = group.First
	node := f.describe("node of another group", grouped(group))
	if f.store.Info().Shared {
		f.must(f.store.Join(f.Context(), node))
		o.node = node.ID
	}
	o.epoch = 0
	o.claim()
	return &o
}

// attempted writes an attempt with the next turn of a run.
func (f *fixture) attempted(run store.Run, a store.Attempt) {
	f.Helper()
	f.commits(f.turn(run, int64(len(f.history(run.ID)))+1, attempting(a)))
}

func (f *fixture) ledger(filter store.LedgerFilter) []store.LedgerEntry {
	f.Helper()
	return must(f.store.Ledger(f.Context(), filter))(f)
}

// selects is what the filter of the ledger means.
func selects(all []store.LedgerEntry, filter *store.LedgerFilter, e *store.LedgerEntry) bool {
	later := func(o store.LedgerEntry) bool { return o.Run == e.Run && o.Call == e.Call && o.Number > e.Number }
	return filter.Selects(&e.Attempt) && hasKinds(e, filter.Attributes) && (filter.Type == "" || filter.Type == e.Type) &&
		(filter.Partitions == nil || slices.Contains(filter.Partitions, e.Partition)) &&
		!(filter.Latest && slices.ContainsFunc(all, later))
}

// hasKinds reports whether the run of an entry of manyAttempts has attributes of kinds.
func hasKinds(e *store.LedgerEntry, all []store.Attribute) bool {
	return !slices.ContainsFunc(all, func(a store.Attribute) bool { return a != kinds(int(e.Data[0] - '0'))[0] })
}

// errorGroups is what Errors means.
func errorGroups(all []store.LedgerEntry, filter *store.LedgerFilter) (groups []store.ErrorGroup) {
	calls := map[string]bool{}
	n, last := 0, int64(0)
	for i := range all { // the latest first
		e := &all[i]
		if e.ErrorType == "" || !selects(all, filter, e) {
			continue
		}
		if filter.Limit > 0 && n >= filter.Limit && e.Ended < last {
			break
		}
		n, last = n+1, e.Ended
		at := slices.IndexFunc(groups, func(g store.ErrorGroup) bool { return g.Name == e.Name && g.ErrorType == e.ErrorType })
		if at < 0 {
			at = len(groups)
			groups = append(groups, store.ErrorGroup{Name: e.Name, ErrorType: e.ErrorType, Last: e.Ended, Example: *e})
		}
		g := &groups[at]
		g.Attempts++
		g.First = e.Ended
		key := fmt.Sprint(e.Name, e.ErrorType, e.Run, e.Call)
		if calls[key] {
			continue
		}
		calls[key] = true
		g.Calls++
		ending := e
		for j := range all {
			if o := &all[j]; o.Run == e.Run && o.Call == e.Call && o.Number > ending.Number {
				ending = o
			}
		}
		if ending.Outcome == store.OutcomeCompleted {
			g.Recovered++
		}
	}
	slices.SortFunc(groups, func(a, b store.ErrorGroup) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ErrorType, b.ErrorType))
	})
	return groups
}
