package store_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/perdure/perdure/store"
	"pgregory.net/rapid"
)

type row struct {
	key    string
	weight int
	number int
}

func keyOf(r *row) (string, int) { return r.key, r.weight }

// Whatever the limits of the reads, keys get as many as their weights say, within a turn.
func TestT2_TurnsOfReadsAreFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := map[string]int{"a": 1, "ab": 3, "b": 1, "c": 2}
		served := map[string]int{}
		var turns store.Turns
		for range 60 {
			turns.Limit = rapid.IntRange(1, 9).Draw(t, "limit")
			var rows []row // all keys have more than anybody takes
			for _, key := range []string{"a", "ab", "b", "c"} {
				for n := range 40 {
					rows = append(rows, row{key, weights[key], n})
				}
			}
			taken := store.Take(turns, rows, keyOf)
			if len(taken) != turns.Limit {
				t.Fatalf("%d of %d were taken", len(taken), turns.Limit)
			}
			for _, r := range taken {
				served[r.key]++
			}
			turns = store.After(turns, taken, keyOf)
		}
		for a, wa := range weights {
			for b, wb := range weights {
				if d := float64(served[a])/float64(wa) - float64(served[b])/float64(wb); d > 3 {
					t.Fatalf("%s got %d with weight %d, %s %d with weight %d", a, served[a], wa, b, served[b], wb)
				}
			}
		}
	})
}

// What a store may leave out makes no difference.
func TestT4_TakeNeedsNoMoreThanItSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rows []row
		for _, key := range []string{"", "a", "b", "c", "d"} {
			weight := rapid.IntRange(0, 3).Draw(t, "weight")
			for n := range rapid.IntRange(0, 6).Draw(t, "rows") {
				rows = append(rows, row{key, weight, n})
			}
		}
		turns := store.Turns{From: rapid.SampledFrom([]string{"", "a", "aa", "d", "z"}).Draw(t, "from"), Spent: rapid.IntRange(0, 2).Draw(t, "spent"), Limit: rapid.IntRange(1, 9).Draw(t, "limit")}
		whole := store.Take(turns, rows, keyOf)
		var keys []string
		for _, r := range rows {
			if !slices.Contains(keys, r.key) {
				keys = append(keys, r.key)
			}
		}
		at := slices.IndexFunc(keys, func(k string) bool { return k >= turns.From })
		if at > 0 {
			keys = slices.Concat(keys[at:], keys[:at])
		}
		keys = keys[:min(len(keys), turns.Limit)]
		few := slices.DeleteFunc(slices.Clone(rows), func(r row) bool {
			return !slices.Contains(keys, r.key) || r.number >= turns.Keys(len(keys))*max(r.weight, 1)
		})
		if got := store.Take(turns, few, keyOf); fmt.Sprint(got) != fmt.Sprint(whole) {
			t.Fatalf("%+v: of few %v, of all %v", turns, got, whole)
		}
	})
}
