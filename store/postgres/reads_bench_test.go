package postgres

import (
	"slices"
	"testing"

	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/store"
)

// BenchmarkReadsOfAllPartitions reads what is about all 256 partitions, which hold 25,600 runs,
// a tenth of them open: on one server, and on the Citus cluster that PERDURE_TEST_URL names.
func BenchmarkReadsOfAllPartitions(b *testing.B) {
	url, options := anyServer(b)
	if len(options) == 0 {
		b.Skip("The server that PERDURE_TEST_URL names has no Citus.")
	}
	var r recycled
	apart := filled(newWorldAt(b, url, slices.Concat(options, []Option{Schema(r.at(b, url)), Partitions(256)})...))
	whole := filled(newWorldAt(b, pgtest.Shared(b).DSN("postgres"), Schema(freshSchema()), Partitions(256)))
	all := column(256, func(i int) int { return i })
	for _, read := range []struct {
		name string
		do   func(w *world) error
	}{
		{"list, the newest 50", func(w *world) error {
			_, err := w.List(b.Context(), store.Filter{Limit: 50})
			return err
		}},
		{"list, the newest 50 that run", func(w *world) error {
			_, err := w.List(b.Context(), store.Filter{Status: []store.Status{store.Running}, Limit: 50})
			return err
		}},
		{"counts", func(w *world) error { _, err := w.Counts(b.Context(), nil, 0); return err }},
		{"due, 100 of 256 partitions", func(w *world) error { _, err := w.Due(b.Context(), all, -1, store.Never, 100); return err }},
		{"inbox of 256 partitions, empty", func(w *world) error { _, err := w.Inbox(b.Context(), all, store.InboxRead{Limit: 100}); return err }},
		{"one run with its history", func(w *world) error { _, err := w.Load(b.Context(), 0, "run-000001"); return err }},
	} {
		for name, w := range map[string]*world{"one server": whole, "Citus": apart} {
			b.Run(read.name+"/"+name, func(b *testing.B) {
				for b.Loop() {
					w.must(read.do(w))
				}
			})
		}
	}
}

// filled gives a world runs in all of its partitions.
func filled(w *world) *world {
	w.Helper()
	partitions := w.Info().Partitions
	owned, err := w.Claim(w.Context(), w.node, column(partitions, func(i int) int { return i }))
	w.must(err)
	epochs := map[int]int64{}
	for _, o := range owned {
		epochs[o.Partition] = o.Epoch
	}
	for range 100 {
		var turns []store.Turn
		for p := range partitions {
			run := w.newRun()
			run.Partition = p
			turn := w.first(run)
			turn.Epoch = epochs[p]
			if w.runs%10 != 0 {
				turn.State = &store.RunState{Status: store.Completed, Wake: store.Never, Closed: 7}
			}
			turns = append(turns, turn)
		}
		w.commits(turns...)
	}
	return w
}
