package postgres

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/store"
)

var benchEvents = []byte(`[{"type":"step","result":"` + strings.Repeat("x", 170) + `"}]`)

// BenchmarkCommit commits groups of turns of about 200 bytes, flushed to the
// disk: 512 runs in rotation, five turns each, the first of which creates the
// run. The floor is the same rows in one insert of many rows a transaction, with
// neither runs nor any rule; floor/rows is what the store adds. Rows are history
// rows; Turns leaves the creation of runs out.
func BenchmarkCommit(b *testing.B) {
	server := pgtest.Start(b, pgtest.Durable(), pgtest.Set("shared_buffers", "256MB"))
	for _, group := range []int{1, 16, 128, 512} {
		b.Run(fmt.Sprintf("Floor/%d", group), func(b *testing.B) { benchFloor(b, benchOpen(b, server), group) })
		b.Run(fmt.Sprintf("Turns/%d", group), func(b *testing.B) { benchCommit(b, benchOpen(b, server), group, false) })
		b.Run(fmt.Sprintf("Runs/%d", group), func(b *testing.B) { benchCommit(b, benchOpen(b, server), group, true) })
	}
}

func benchOpen(b *testing.B, server *pgtest.Cluster) *handle {
	s, err := URL(server.Database(b)).Open(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s.(*handle)
}

// benchRun is a run of the rotation and its last turn.
type benchRun struct {
	id        string
	partition int
	turn      int64
}

// rotation returns the run that has its next turn.
func rotation(partitions int) func() *benchRun {
	runs := make([]benchRun, 512)
	next, created := 0, 0
	return func() *benchRun {
		r := &runs[next%len(runs)]
		next++
		if r.id == "" || r.turn == 5 {
			created++
			*r = benchRun{id: fmt.Sprintf("0192f000-%04x-7%03x-8000-%012x", created>>12, created&0xfff, created), partition: created * 7 % partitions}
		}
		r.turn++
		return r
	}
}

func report(b *testing.B) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	b.ReportAllocs()
}

func benchFloor(b *testing.B, h *handle, group int) {
	ctx := context.Background()
	err := h.hold(ctx, "floor", func(c *conn) error {
		if err := c.script(ctx, `CREATE TABLE perdure.floor (partition bigint NOT NULL, run text COLLATE "C" NOT NULL, number bigint NOT NULL,
			commit_id bigint NOT NULL, epoch bigint NOT NULL, time bigint NOT NULL, events text NOT NULL, PRIMARY KEY (partition, run, number))`); err != nil {
			return err
		}
		next := rotation(h.info.Partitions)
		b.ResetTimer()
		for n := 0; n < b.N; n += group {
			parts, runs, numbers, times, events := make([]int64, group), make([]string, group), make([]int64, group), make([]int64, group), make([]string, group)
			for i := range group {
				r := next()
				parts[i], runs[i], numbers[i], times[i], events[i] = int64(r.partition), r.id, r.turn, int64(n), string(benchEvents)
			}
			if _, err := c.exec(ctx, `INSERT INTO perdure.floor SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[])`,
				parts, runs, numbers, times, times, times, events); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	report(b)
}

func benchCommit(b *testing.B, h *handle, group int, runs bool) {
	ctx := context.Background()
	if err := h.Join(ctx, store.Node{ID: "bench", Lease: time.Hour}); err != nil {
		b.Fatal(err)
	}
	all, err := h.Group(ctx, "")
	if err != nil {
		b.Fatal(err)
	}
	owned, err := h.Claim(ctx, "bench", all.All())
	if err != nil {
		b.Fatal(err)
	}
	next := rotation(h.info.Partitions)
	turns := make([]store.Turn, 0, group)
	commit := func(turns []store.Turn) {
		result, err := h.Commit(ctx, turns)
		if err != nil {
			b.Fatal(err)
		}
		for _, err := range result.Errors {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ResetTimer()
	for n := 0; n < b.N; n += group {
		turns = turns[:0]
		var created []store.Turn
		for range group {
			r := next()
			t := store.Turn{Partition: r.partition, Epoch: owned[0].Epoch, Run: r.id, Number: r.turn, CommitID: int64(n), Time: int64(n), Events: benchEvents}
			if r.turn == 1 {
				create := &store.Run{Partition: r.partition, ID: r.id, WorkflowID: "order-" + r.id, Type: "bench", Chain: r.id, Attempt: 1, Start: benchEvents[:60],
					RunState: store.RunState{Status: store.Running}}
				if runs {
					t.Create = create
				} else {
					created = append(created, store.Turn{Partition: r.partition, Epoch: t.Epoch, Run: r.id, Create: create})
				}
			}
			if runs && r.turn == 5 {
				t.State = &store.RunState{Status: store.Completed, Wake: store.Never, Closed: int64(n)}
			}
			turns = append(turns, t)
		}
		if len(created) > 0 {
			b.StopTimer()
			commit(created)
			b.StartTimer()
		}
		commit(turns)
	}
	report(b)
}
