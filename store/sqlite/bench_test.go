package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/store"
)

var benchEvents = []byte(`[{"type":"step","result":"` + strings.Repeat("x", 170) + `"}]`)

// BenchmarkCommit commits groups of turns of about 200 bytes: 512 runs in
// rotation, five turns each, the first of which creates the run. The floor is
// the same rows through plain prepared inserts of one row, in transactions of
// the same size, with neither runs nor any rule; floor/rows is what the store
// adds. Rows are history rows; Turns leaves the creation of runs out.
func BenchmarkCommit(b *testing.B) {
	for _, group := range []int{1, 16, 128, 512} {
		b.Run(fmt.Sprintf("Floor/%d", group), func(b *testing.B) { benchFloor(b, group) })
		b.Run(fmt.Sprintf("Turns/%d", group), func(b *testing.B) { benchCommit(b, group, false) })
		b.Run(fmt.Sprintf("Runs/%d", group), func(b *testing.B) { benchCommit(b, group, true) })
	}
}

// benchRun is a run of the rotation and its last turn.
type benchRun struct {
	id   string
	turn int64
}

// rotation returns the run that has its next turn.
func rotation() func() *benchRun {
	runs := make([]benchRun, 512)
	next, created := 0, 0
	return func() *benchRun {
		r := &runs[next%len(runs)]
		next++
		if r.id == "" || r.turn == 5 {
			created++
			*r = benchRun{id: fmt.Sprintf("0192f000-%04x-7%03x-8000-%012x", created>>12, created&0xfff, created)}
		}
		r.turn++
		return r
	}
}

func report(b *testing.B) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	b.ReportAllocs()
}

func benchFloor(b *testing.B, group int) {
	ctx := context.Background()
	s, err := File(filepath.Join(b.TempDir(), "floor.db"), Exclusive()).Open(ctx)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	h := s.(*handle)
	if err := h.write(ctx, "schema", func(c *conn) error {
		return c.script(`CREATE TABLE floor (partition INTEGER NOT NULL, run TEXT NOT NULL, number INTEGER NOT NULL, commit_id INTEGER NOT NULL,
			epoch INTEGER NOT NULL, time INTEGER NOT NULL, events ANY, PRIMARY KEY (partition, run, number)) STRICT`)
	}); err != nil {
		b.Fatal(err)
	}
	next := rotation()
	b.ResetTimer()
	for n := 0; n < b.N; n += group {
		err := h.write(ctx, "floor", func(c *conn) error {
			for range group {
				r := next()
				if _, err := c.exec(`INSERT INTO floor VALUES (?, ?, ?, ?, ?, ?, ?)`, int64(0), r.id, r.turn, int64(n), int64(1), int64(n), string(benchEvents)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	report(b)
}

func benchCommit(b *testing.B, group int, runs bool) {
	ctx := context.Background()
	s, err := File(filepath.Join(b.TempDir(), "bench.db"), Exclusive()).Open(ctx)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if err := s.Join(ctx, store.Node{ID: "bench"}); err != nil {
		b.Fatal(err)
	}
	owned, err := s.Claim(ctx, "bench", []int{0})
	if err != nil {
		b.Fatal(err)
	}
	next := rotation()
	turns := make([]store.Turn, 0, group)
	commit := func(turns []store.Turn) {
		result, err := s.Commit(ctx, turns)
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
			t := store.Turn{Epoch: owned[0].Epoch, Run: r.id, Number: r.turn, CommitID: int64(n), Time: int64(n), Events: benchEvents}
			if r.turn == 1 {
				create := &store.Run{ID: r.id, WorkflowID: "order-" + r.id, Type: "bench", Chain: r.id, Attempt: 1, Start: benchEvents[:60],
					RunState: store.RunState{Status: store.Running}}
				if runs {
					t.Create = create
				} else {
					created = append(created, store.Turn{Epoch: t.Epoch, Run: r.id, Create: create})
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
