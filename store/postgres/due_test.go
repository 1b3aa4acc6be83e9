package postgres

import (
	"cmp"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/store"
)

// TestDueInPages reads pages of all sizes from partitions that hold very
// different numbers of runs, many of which share a wake time, and demands that
// each is the beginning of what follows, complete up to its last wake time.
func TestDueInPages(t *testing.T) {
	t.Run("one server", func(t *testing.T) { dueInPages(newWorld(t)) })
	t.Run("distributed", func(t *testing.T) {
		schema := freshSchema()
		distributedHere(t, schema, 4)
		dueInPages(newWorldAt(t, pgtest.Shared(t).DSN("postgres"), Schema(schema)))
	})
}

func dueInPages(w *world) {
	random := rand.New(rand.NewPCG(1, 2))
	var all []store.Wake
	var turns []store.Turn
	for n := range 1200 {
		r := w.newRun()
		r.Partition = []int{0, 0, 0, 0, 0, 0, 1, 1, 3}[n%9]
		r.Wake = []int64{random.Int64N(200), 1000 + random.Int64N(10), int64(n), 5000}[random.IntN(4)]
		all = append(all, store.Wake{Partition: r.Partition, Run: r.ID, Time: r.Wake})
		turns = append(turns, w.first(r))
	}
	w.commits(turns...)
	order := func(a, b store.Wake) int { return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Run, b.Run)) }
	slices.SortFunc(all, order)
	for _, limit := range []int{1, 2, 7, 50, 400, 1199, 1200, 5000} {
		for _, until := range []int64{150, 1004, store.Never} {
			rest := slices.DeleteFunc(slices.Clone(all), func(a store.Wake) bool { return a.Time > until })
			for after := int64(-1); len(rest) > 0; {
				page, err := w.Due(w.Context(), []int{3, 2, 1, 0}, after, until, limit)
				w.must(err)
				n := min(limit, len(rest))
				for n < len(rest) && rest[n].Time == rest[n-1].Time {
					n++
				}
				slices.SortFunc(page, order)
				if !reflect.DeepEqual(page, rest[:n]) {
					w.Fatalf("limit %d, after %d until %d: got %d runs, want %d", limit, after, until, len(page), n)
				}
				after, rest = page[n-1].Time, rest[n:]
			}
		}
	}
}
