package postgres

import (
	"slices"
	"sync"
	"testing"

	"github.com/perdure/perdure/store"
)

// BenchmarkDomains commits groups of turns on the Citus cluster that PERDURE_TEST_URL
// names: each as one transaction over all workers, and as one for each worker, which is
// what Domain says. Run it with -count: the two take turns.
func BenchmarkDomains(b *testing.B) {
	url, options := anyServer(b)
	if len(options) == 0 {
		b.Skip("The server that PERDURE_TEST_URL names has no Citus.")
	}
	var r recycled
	w := newWorldAt(b, url, slices.Concat(options, []Option{Schema(r.at(b, url)), Partitions(64)})...)
	all := column(64, func(i int) int { return i })
	owned, err := w.Claim(b.Context(), w.node, all)
	w.must(err)
	epochs := map[int]int64{}
	for _, o := range owned {
		epochs[o.Partition] = o.Epoch
	}
	group := func() (turns []store.Turn) {
		for range 64 {
			run := w.newRun()
			run.Partition = w.runs % 64
			turn := w.first(run)
			turn.Epoch = epochs[run.Partition]
			turns = append(turns, turn)
		}
		return turns
	}
	b.Run("together", func(b *testing.B) {
		for b.Loop() {
			w.commits(group()...)
		}
	})
	b.Run("apart", func(b *testing.B) {
		for b.Loop() {
			parts := map[int][]store.Turn{}
			for _, t := range group() {
				d := w.Info().Domain(t.Partition)
				parts[d] = append(parts[d], t)
			}
			var all sync.WaitGroup
			for _, part := range parts {
				all.Go(func() { w.commits(part...) })
			}
			all.Wait()
		}
	})
	b.Run("one", func(b *testing.B) {
		for b.Loop() {
			w.commits(group()[:1]...)
		}
	})
}
