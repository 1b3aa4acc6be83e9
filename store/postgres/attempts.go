package postgres

import (
	"cmp"
	"maps"
	"slices"

	"github.com/perdure/perdure/store"
)

// writeAttempts inserts into the ledger and prunes it.
func (b *batch) writeAttempts(turns []*store.Turn) {
	rest := collect(turns, func(t *store.Turn) []store.Attempt { return t.Attempts })
	for len(rest) > 0 {
		n := rounds(rest)
		b.insertAttempts(rest[:n])
		b.pruneAttempts(rest[:n])
		rest = rest[n:]
	}
}

// rounds returns how many of the attempts can be inserted before any is pruned: those
// before the first one that an earlier attempt prunes. That is an unusual input, but its
// meaning is clear.
func rounds(attempts []of[store.Attempt]) int {
	type key struct {
		turn   *store.Turn
		call   int64
		number int
	}
	pruned := map[key]bool{}
	for i, a := range attempts {
		if pruned[key{a.turn, a.part.Call, a.part.Number}] {
			return i
		}
		if a.part.Prune > 0 {
			pruned[key{a.turn, a.part.Call, a.part.Prune}] = true
		}
	}
	return len(attempts)
}

var intoAttempts = insertion("attempts", "run, call, number, name, outcome, error_type, reason, started, ended, data",
	"text, bigint, bigint, text, text, text, text, bigint, bigint, text", "ON CONFLICT DO NOTHING")

func (b *batch) insertAttempts(attempts []of[store.Attempt]) {
	n := len(attempts)
	b.put(intoAttempts,
		column(n, func(i int) int64 { return int64(attempts[i].turn.Partition) }),
		column(n, func(i int) string { return attempts[i].turn.Run }),
		column(n, func(i int) int64 { return attempts[i].part.Call }),
		column(n, func(i int) int64 { return int64(attempts[i].part.Number) }),
		column(n, func(i int) string { return attempts[i].part.Name }),
		column(n, func(i int) string { return attempts[i].part.Outcome }),
		column(n, func(i int) string { return attempts[i].part.ErrorType }),
		column(n, func(i int) string { return attempts[i].part.Reason }),
		column(n, func(i int) int64 { return attempts[i].part.Started }),
		column(n, func(i int) int64 { return attempts[i].part.Ended }),
		column(n, func(i int) string { return payload(attempts[i].part.Data) }))
}

var deleteAttempts = forms(`DELETE FROM perdure.attempts a USING unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[]) AS d (partition, run, call, number)
			WHERE a.partition =@ d.partition AND a.run = d.run AND a.call = d.call AND a.number = d.number`)

func (b *batch) pruneAttempts(attempts []of[store.Attempt]) {
	attempts = slices.DeleteFunc(slices.Clone(attempts), func(a of[store.Attempt]) bool { return a.part.Prune == 0 })
	if n := len(attempts); n > 0 {
		b.put(deleteAttempts,
			column(n, func(i int) int64 { return int64(attempts[i].turn.Partition) }),
			column(n, func(i int) string { return attempts[i].turn.Run }),
			column(n, func(i int) int64 { return attempts[i].part.Call }),
			column(n, func(i int) int64 { return int64(attempts[i].part.Prune) }))
	}
}

var intoTallies = insertion("tallies", "bucket, type, name, first_try, recovered, exhausted, failed, canceled, by_hand, attempts, retrying",
	"bigint, text, text, bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint",
	`ON CONFLICT (partition, bucket, type, name) DO UPDATE SET first_try = t.first_try + excluded.first_try,
			recovered = t.recovered + excluded.recovered, exhausted = t.exhausted + excluded.exhausted, failed = t.failed + excluded.failed,
			canceled = t.canceled + excluded.canceled, by_hand = t.by_hand + excluded.by_hand, attempts = t.attempts + excluded.attempts, retrying = t.retrying + excluded.retrying`)

// count adds to the counters. What the turns count in one place becomes one row. Tallies of
// different partitions of one group also go to one place, because counters are only read
// per group; otherwise each closed run would write a row. In a distributed database each
// partition has its own counters. Rows are written in one order, so that two commits cannot
// deadlock.
func (b *batch) count(turns []*store.Turn) {
	type place struct {
		partition  int
		bucket     int64
		kind, name string
	}
	sums := map[place]*store.Tally{}
	chosen := map[int]int{} // by the group's index: the partition
	for _, c := range collect(turns, func(t *store.Turn) []store.Tally { return t.Tallies }) {
		partition := c.turn.Partition
		if group := partition / b.h.info.Partitions; !b.h.distributed {
			if _, is := chosen[group]; !is {
				chosen[group] = partition
			}
			partition = chosen[group]
		}
		at := place{partition, c.part.Bucket, c.part.Type, c.part.Name}
		if sums[at] == nil {
			sums[at] = &store.Tally{}
		}
		sums[at].Add(c.part)
	}
	n := len(sums)
	if n == 0 {
		return
	}
	places := slices.SortedFunc(maps.Keys(sums), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.bucket, b.bucket), cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name))
	})
	counts := func(which func(t *store.Tally) int64) []int64 {
		return column(n, func(i int) int64 { return which(sums[places[i]]) })
	}
	b.put(intoTallies,
		column(n, func(i int) int64 { return int64(places[i].partition) }),
		column(n, func(i int) int64 { return places[i].bucket }),
		column(n, func(i int) string { return places[i].kind }),
		column(n, func(i int) string { return places[i].name }),
		counts(func(t *store.Tally) int64 { return t.FirstTry }),
		counts(func(t *store.Tally) int64 { return t.Recovered }),
		counts(func(t *store.Tally) int64 { return t.Exhausted }),
		counts(func(t *store.Tally) int64 { return t.Failed }),
		counts(func(t *store.Tally) int64 { return t.Canceled }),
		counts(func(t *store.Tally) int64 { return t.ByHand }),
		counts(func(t *store.Tally) int64 { return t.Attempts }),
		counts(func(t *store.Tally) int64 { return t.Retrying }))
}
