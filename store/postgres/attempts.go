package postgres

import (
	"slices"
	"strings"

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
	"bytea, bigint, bigint, text, text, text, text, bigint, bigint, text", "ON CONFLICT DO NOTHING")

func (b *batch) insertAttempts(attempts []of[store.Attempt]) {
	n := len(attempts)
	b.put(intoAttempts,
		column(n, func(i int) int64 { return int64(attempts[i].turn.Partition) }),
		runColumn(n, func(i int) string { return attempts[i].turn.Run }),
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

var deleteAttempts = forms(`DELETE FROM perdure.attempts a USING unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[]) AS d (partition, run, call, number)
			WHERE a.partition =@ d.partition AND a.run = d.run AND a.call = d.call AND a.number = d.number`)

func (b *batch) pruneAttempts(attempts []of[store.Attempt]) {
	attempts = slices.DeleteFunc(slices.Clone(attempts), func(a of[store.Attempt]) bool { return a.part.Prune == 0 })
	if n := len(attempts); n > 0 {
		b.put(deleteAttempts,
			column(n, func(i int) int64 { return int64(attempts[i].turn.Partition) }),
			runColumn(n, func(i int) string { return attempts[i].turn.Run }),
			column(n, func(i int) int64 { return attempts[i].part.Call }),
			column(n, func(i int) int64 { return int64(attempts[i].part.Prune) }))
	}
}

const tallyKey = "bucket, type, name, took"

var intoTallies = func() statement {
	var adds []string
	for _, n := range strings.Split(store.TallyCounts, ", ") {
		adds = append(adds, n+" = t."+n+" + excluded."+n)
	}
	return insertion("tallies", tallyKey+", "+store.TallyCounts, "bigint, text, text, bigint"+strings.Repeat(", bigint", len(adds)),
		"ON CONFLICT (partition, "+tallyKey+") DO UPDATE SET "+strings.Join(adds, ", "))
}()

// count adds to the counters. What the turns count in one place becomes one row. Tallies of
// different partitions of one group also go to one place, because counters are only read
// per group; otherwise each closed run would write a row. In a distributed database each
// partition has its own counters. Rows are written in one order, so that two commits cannot
// deadlock.
func (b *batch) count(turns []*store.Turn) {
	chosen := map[int]int{} // by the group's index: the partition
	b.addTallies(store.AddUp(func(yield func(store.TallyKey, *store.Tally) bool) {
		for _, c := range collect(turns, func(t *store.Turn) []store.Tally { return t.Tallies }) {
			key := c.part.TallyKey
			key.Partition = c.turn.Partition
			if group := key.Partition / b.h.info.Partitions; !b.h.distributed {
				if _, is := chosen[group]; !is {
					chosen[group] = key.Partition
				}
				key.Partition = chosen[group]
			}
			if !yield(key, c.part) {
				return
			}
		}
	}))
}

// addTallies adds to counters, each of which is named once.
func (b *batch) addTallies(sums []store.Tally) {
	n := len(sums)
	if n == 0 {
		return
	}
	columns := []any{
		column(n, func(i int) int64 { return int64(sums[i].Partition) }),
		column(n, func(i int) int64 { return sums[i].Bucket }),
		column(n, func(i int) string { return sums[i].Type }),
		column(n, func(i int) string { return sums[i].Name }),
		column(n, func(i int) int64 { return sums[i].Took }),
	}
	for c := range sums[0].Counts() {
		columns = append(columns, column(n, func(i int) int64 { return *sums[i].Counts()[c] }))
	}
	b.put(intoTallies, columns...)
}
