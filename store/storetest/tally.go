package storetest

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/store"
)

// tallyChecks are about counters.
var tallyChecks = []check{
	{"Tallies/AreAddedUp", func(f *fixture) {
		run, other := f.created(), f.created()
		one := store.Tally{TallyKey: tallyOf(100, "charge"), FirstTry: 1, Recovered: 2, Exhausted: 3, Failed: 4, Canceled: 5, ByHand: 9, Attempts: 6, Retrying: 7}
		more := one
		more.Bucket, more.FirstTry = 200, 10
		ship := store.Tally{TallyKey: tallyOf(100, "ship"), FirstTry: 1, Attempts: 1}
		first, second := f.turn(run, 2, counting(one, more, one, ship)), f.turn(other, 2, counting(one))
		f.commits(first, second)
		f.commits(first, second) // again: they count once
		all := func(t store.Tally) store.Tally {
			t.Bucket = 0
			return t
		}
		equal(f, f.tallies(store.TallyFilter{}), []store.Tally{
			{TallyKey: tallyOf(0, "charge"), FirstTry: 13, Recovered: 8, Exhausted: 12, Failed: 16, Canceled: 20, ByHand: 36, Attempts: 24, Retrying: 28},
			all(ship),
		})
		three := one
		for i, n := range three.Counts() {
			*n += 2 * *one.Counts()[i]
		}
		equal(f, f.tallies(store.TallyFilter{ByBucket: true}), []store.Tally{three, ship, more})
		equal(f, f.tallies(store.TallyFilter{From: 101}), []store.Tally{all(more)})
		equal(f, f.tallies(store.TallyFilter{From: 100, Until: 200, Name: "ship"}), []store.Tally{all(ship)})
		equal(f, f.tallies(store.TallyFilter{Until: 100}), nil)
		equal(f, f.tallies(store.TallyFilter{Type: "refund"}), nil)
		equal(f, f.tallies(store.TallyFilter{Type: "\x00"}), nil)
	}},
	{"Tallies/OfRunsAndByTheTimeThatTheyTook", func(f *fixture) {
		runs, short := tallyOf(100, ""), tallyOf(100, "charge")
		short.Took = 10
		long := short
		long.Took = 20
		first, second, third := store.Tally{TallyKey: runs, Started: 2}, store.Tally{TallyKey: short, Failed: 3}, store.Tally{TallyKey: long, FirstTry: 1}
		f.commits(f.turn(f.created(), 2, counting(third, first, second)))
		equal(f, f.tallies(store.TallyFilter{ByBucket: true}), []store.Tally{first, second, third})
	}},
	{"Tallies/OfSeveralPartitions", func(f *fixture) {
		there := f.other()
		for i, at := range []*fixture{f, there} {
			own := store.Tally{TallyKey: tallyOf(0, fmt.Sprint("only-", i)), Failed: 1}
			at.commits(at.first(at.newRun(), counting(store.Tally{TallyKey: tallyOf(int64(2-i), "charge"), FirstTry: 1}, own)))
		}
		only := []store.Tally{{TallyKey: tallyOf(0, "only-0"), Failed: 1}, {TallyKey: tallyOf(0, "only-1"), Failed: 1}}
		equal(f, f.tallies(store.TallyFilter{}), []store.Tally{{TallyKey: tallyOf(0, "charge"), FirstTry: 2}, only[0], only[1]})
		equal(f, f.tallies(store.TallyFilter{Partitions: []int{f.partition}}), []store.Tally{{TallyKey: tallyOf(0, "charge"), FirstTry: 1}, only[0]})
		equal(f, f.tallies(store.TallyFilter{Partitions: []int{}}), nil)
	}},
	{"Tallies/OfRefusedTurnsDoNotCount", func(f *fixture) {
		run := f.created()
		one := counting(store.Tally{TallyKey: tallyOf(0, "charge"), FirstTry: 1})
		stale, hooked := f.turn(run, 1, one), f.turn(run, 3, one)
		stale.CommitID++
		hooked.Hook = func(any) error { return errors.New("refused") }
		errs := f.commit(f.turn(run, 2, one), stale, f.turn(run, 3, one, under(f.epoch-1)), hooked, f.turn(f.newRun(), 2, one))
		if errs[0] != nil || errs[1] == nil || errs[2] == nil || errs[3] == nil || errs[4] == nil {
			f.Fatal(errs)
		}
		equal(f, f.tallies(store.TallyFilter{}), []store.Tally{{TallyKey: tallyOf(0, "charge"), FirstTry: 1}})
	}},
	{"Tallies/MalformedOnesAreRefused", func(f *fixture) {
		run := f.created()
		for _, bad := range []store.Tally{
			{TallyKey: store.TallyKey{Name: "charge"}}, {TallyKey: tallyOf(0, "charge"), Failed: -1},
			{TallyKey: tallyOf(0, "\xc0")}, {TallyKey: store.TallyKey{Type: "order", Took: -1}},
		} {
			f.malformed(f.commit(f.turn(run, 2, counting(bad)))[0])
		}
		f.malformed(f.commit(f.turn(run, 0, counting(store.Tally{TallyKey: tallyOf(0, "charge")})))[0]) // which may be repeated
		equal(f, f.tallies(store.TallyFilter{}), nil)
	}},
}

// tallyOf is the key of a call of the workflow "order", or of its runs.
func tallyOf(bucket int64, name string) store.TallyKey {
	return store.TallyKey{Bucket: bucket, Type: "order", Name: name}
}

func (f *fixture) tallies(filter store.TallyFilter) []store.Tally {
	f.Helper()
	return must(f.store.Tallies(f.Context(), filter))(f)
}
