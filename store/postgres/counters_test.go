package postgres

import (
	"testing"

	"github.com/perdure/perdure/store"
)

// TestRunsThatEndTogetherShareACounter: whatever their partitions, a row is written for
// what they count, and not one for each. Groups of nodes have counters of their own.
func TestRunsThatEndTogetherShareACounter(t *testing.T) {
	w := newWorld(t)
	other, err := w.Group(w.Context(), "others")
	w.must(err)
	tally := store.Tally{TallyKey: store.TallyKey{Bucket: 1, Type: "order", Name: "charge"}, FirstTry: 1, Attempts: 1}
	node := w.describe("node-2")
	node.Group = "others"
	w.must(w.Join(w.Context(), node))
	owned, err := w.Claim(w.Context(), node.ID, other.All())
	w.must(err)
	var ends []store.Turn
	for i := range 20 {
		r := w.newRun()
		end := w.first(r)
		if i >= 16 {
			end.Create.Partition = other.First + i%4
			end.Partition, end.Epoch = end.Create.Partition, owned[i%4].Epoch
		}
		end.Tallies = []store.Tally{tally}
		ends = append(ends, end)
	}
	w.commits(ends...)
	w.commits(ends...) // again, as after a lost answer: they count once
	if got := w.value(`SELECT string_agg(first_try::text, ' ' ORDER BY partition) FROM perdure.tallies`); got != "16 4" {
		t.Errorf("the counters are %s", got)
	}
	for _, of := range []struct {
		partitions []int
		want       int64
	}{{nil, 20}, {[]int{0, 1, 2, 3}, 16}, {other.All(), 4}} {
		got, err := w.Tallies(w.Context(), store.TallyFilter{Partitions: of.partitions})
		w.must(err)
		if len(got) != 1 || got[0].FirstTry != of.want {
			t.Errorf("of partitions %v: %+v, want %d", of.partitions, got, of.want)
		}
	}
}
