package postgres

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

// eventually waits until the condition holds.
func (w *world) eventually(what string, condition func() bool) {
	w.Helper()
	for end := time.Now().Add(time.Minute); !condition(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			w.Fatalf("%s: not after a minute", what)
		}
	}
}

// waiting reports whether a session of this schema waits for a lock.
func (w *world) waiting() bool {
	return w.value(`SELECT count(*)::text FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%'`, w.schema) != "0"
}

// TestE7_ClaimWaitsForCommitsUnderWay holds a commit open by its hook. Its owner
// has lost the lease meanwhile, but what it began is finished before another
// gets the partition, and what it begins later is refused.
func TestE7_ClaimWaitsForCommitsUnderWay(t *testing.T) {
	for _, how := range []struct {
		name string
		take func(w *world) error
	}{
		{"Claim", func(w *world) error {
			owned, err := w.Claim(w.Context(), "node-2", []int{0, 1, 2, 3})
			if len(owned) != 4 {
				w.Errorf("claimed %+v", owned)
			}
			return err
		}},
		{"Release", func(w *world) error { return w.Release(w.Context(), w.node, []int{0, 1, 2, 3}) }},
		{"Leave", func(w *world) error { return w.Leave(w.Context(), w.node) }},
		{"Supersede", func(w *world) error {
			n := w.describe("node-3")
			n.Supersede = true
			return w.Join(w.Context(), n)
		}},
	} {
		t.Run(how.name, func(t *testing.T) {
			w := newWorld(t)
			w.must(w.Join(t.Context(), w.describe("node-2")))
			run := w.created()
			if how.name == "Claim" {
				w.exec(`UPDATE perdure.nodes SET seen = 0, lease = 1 WHERE id = $1`, w.node)
			}
			slow := w.turn(run, 2)
			inside, goOn := make(chan struct{}), make(chan struct{})
			slow.Hook = func(any) error {
				close(inside)
				<-goOn
				return nil
			}
			committed := make(chan error, 1)
			go func() { committed <- w.committing(slow)() }()
			<-inside
			taken := make(chan error, 1)
			go func() { taken <- how.take(w) }()
			w.eventually("somebody waits", w.waiting)
			select {
			case err := <-taken:
				t.Fatalf("it did not wait: %v", err)
			default:
			}
			close(goOn)
			w.must(<-committed)
			w.must(<-taken)
			for _, late := range []store.Turn{w.turn(run, 3), w.first(w.newRun())} {
				result, err := w.Commit(t.Context(), []store.Turn{late})
				w.must(err)
				if !errors.Is(result.Errors[0], store.ErrFenced) {
					t.Errorf("a turn after it was answered %v", result.Errors[0])
				}
			}
			w.commits(slow) // is durable, whoever asks
		})
	}
}

// TestE7_NothingIsWrittenUnderAnOldEpoch lets two nodes take the partitions from
// each other while both commit to them as fast as they can. When a claim was
// answered, there are as many turns of older epochs as there will ever be.
func TestE7_NothingIsWrittenUnderAnOldEpoch(t *testing.T) {
	w := newWorld(t)
	w.exec(`UPDATE perdure.nodes SET seen = 0, lease = 1`) // anybody may claim
	var current atomic.Int64                               // the epoch
	current.Store(w.epoch)
	nodes := []*handle{w.another(), w.another()}
	for i, h := range nodes {
		n := store.Node{ID: []string{"a", "b"}[i], Lease: time.Nanosecond}
		w.must(h.Join(t.Context(), n))
	}
	// Without a member that may be silent for so long, a transaction that is slow on a busy
	// machine would count as that of a stalled process, and its session would be ended.
	w.must(w.another().Join(t.Context(), store.Node{ID: "c", Lease: time.Hour}))
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var durable, fenced atomic.Int64
	var serial atomic.Int64
	runs := &world{}
	var mu sync.Mutex
	for _, h := range nodes {
		for range 2 {
			wg.Go(func() {
				for ctx.Err() == nil {
					mu.Lock()
					r := runs.newRun()
					mu.Unlock()
					turn := store.Turn{Partition: r.Partition, Epoch: current.Load() - serial.Add(1)%2, Run: r.ID, Number: 1, CommitID: 1, Create: &r}
					result, err := h.Commit(t.Context(), []store.Turn{turn})
					switch {
					case err != nil:
						t.Error(err)
						return
					case result.Errors[0] == nil:
						durable.Add(1)
					case errors.Is(result.Errors[0], store.ErrFenced):
						fenced.Add(1)
					default:
						t.Error(result.Errors[0])
					}
				}
			})
		}
	}
	counts := map[int64]string{} // of turns under older epochs, when the epoch began
	older := func(epoch int64) string {
		return w.value(`SELECT count(*)::text FROM perdure.turns WHERE epoch < $1`, epoch)
	}
	for n := range 40 {
		id := []string{"a", "b"}[n%2]
		owned, err := nodes[n%2].Claim(t.Context(), id, []int{0, 1, 2, 3})
		w.must(err)
		if len(owned) != 4 {
			t.Fatalf("only these could be claimed: %+v", owned)
		}
		epoch := owned[0].Epoch
		counts[epoch] = older(epoch)
		current.Store(epoch)
		had := durable.Load()
		w.eventually("somebody commits", func() bool { return durable.Load() > had+2 || t.Failed() })
	}
	stop()
	wg.Wait()
	for epoch, n := range counts {
		if now := older(epoch); now != n {
			t.Errorf("when epoch %d began there were %s older turns, now there are %s", epoch, n, now)
		}
	}
	if fenced.Load() == 0 {
		t.Error("nobody was fenced: the test proves nothing")
	}
}

// TestATurnLocksTasksBeforeItConsumes: an attempt may have ended in two ways, by its token
// and by its worker, which tell so under one key. A turn that reads the one waits while the
// worker settles, and holds nothing then that settling needs: each would wait for the other
// until one of them gave up.
func TestATurnLocksTasksBeforeItConsumes(t *testing.T) {
	for _, distributed := range []bool{false, true} {
		b := batch{h: &handle{schema: "perdure", distributed: distributed}}
		b.write([]*store.Turn{{Run: "r", Consumed: []int64{1}, Over: []store.TaskRef{{Run: "r", Number: 1, Attempt: 1}}}})
		place := func(begin string) int {
			return slices.IndexFunc(b.QueuedQueries, func(q *pgx.QueuedQuery) bool { return strings.HasPrefix(q.SQL, begin) })
		}
		if task, inbox := place("DELETE FROM perdure.tasks"), place("DELETE FROM perdure.inbox"); task < 0 || inbox < task {
			t.Errorf("distributed %t: tasks are deleted in statement %d, messages in %d", distributed, task, inbox)
		}
	}
}
