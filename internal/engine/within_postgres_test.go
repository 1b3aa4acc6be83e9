//go:build !race || databases

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/pgbubble"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/workflow"
)

// stranger is a program with a connection and an open transaction of its own.
func stranger(t *testing.T, w *world) pgbubble.Stranger {
	t.Helper()
	tx, err := w.bare.(*pgbubble.Database).Stranger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tx.Close(context.Background()) })
	return tx
}

// onThePostgres runs a test where others have connections, too.
func onThePostgres(t *testing.T, test func(t *testing.T, w *world)) {
	for _, in := range everywhere {
		if in.onDisk && in.shared && in.plays(needsTransactions) && (!in.resident || extent.Nightly()) {
			in.run(t, 1, func(t *testing.T, w *world) {
				w.patient = false
				test(t, w)
			})
		}
	}
}

// TestE28_ALateCommitIsFound: messages that become visible long after later ones of
// the same inbox were read are read, too.
func TestE28_ALateCommitIsFound(t *testing.T) {
	onThePostgres(t, func(t *testing.T, w *world) {
		flow := waits()
		e := w.start(flow)
		begin(t, e, flow, "there", "a")
		tx := stranger(t, w)
		if _, _, err := startIn(e, tx, "late", "l"); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"late", "there"} {
			if err := signalIn(e, tx, id, "!"); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 5 { // whose messages have higher numbers
			id := fmt.Sprint("between", i)
			begin(t, e, flow, id, "x")
			signal(t, e, id, "poke", "", "!")
			if out, err := finish[string](t, e, id); out != "x!" || err != nil {
				t.Fatalf("%q, %v", out, err)
			}
			pass(time.Minute)
		}
		unheardOf(t, e, "late")
		if s := describe(t, e, "there").Status; s != "running" {
			t.Errorf("it is %s before the commit", s)
		}
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]string{"late": "l!", "there": "a!"} {
			if out, err := finish[string](t, e, id); out != want || err != nil {
				t.Errorf("%s: %q, %v", id, out, err)
			}
		}
	})
}

// TestE28_AnOpenTransactionHoldsUpOnlyItsRivals: a start under an ID that the transaction has
// taken waits, whether the owner, a parent or a client makes it. All other runs continue. In
// the end the transaction decides which run has the ID.
func TestE28_AnOpenTransactionHoldsUpOnlyItsRivals(t *testing.T) {
	onThePostgres(t, func(t *testing.T, w *world) {
		flow := waits()
		parent := workflow.New("parent", func(wf *workflow.Context, id string) (string, error) {
			return workflow.RunChild(wf, flow, "c", workflow.ChildID(id))
		})
		e := w.start(flow, parent)
		client := w.open(w.config())
		for _, commits := range []bool{true, false} {
			ids := []string{"owner", "client", "child"}
			for i := range ids {
				ids[i] += fmt.Sprint(commits)
			}
			tx := stranger(t, w)
			for _, id := range ids {
				if _, _, err := startIn(e, tx, id, "tx"); err != nil {
					t.Fatal(err)
				}
			}
			type answer struct {
				run      string
				attached bool
				err      error
			}
			answers := map[string]chan answer{}
			for id, by := range map[string]*engine.Engine{ids[0]: e, ids[1]: client} {
				answers[id] = make(chan answer, 1)
				go func() {
					run, attached, err := tryBegin(t.Context(), by, flow, id, "rival")
					answers[id] <- answer{run, attached, err}
				}()
			}
			begin(t, e, parent, "parent of "+ids[2], ids[2])
			for i := range 7 {
				id := fmt.Sprint("bystander", i, commits)
				began := time.Now()
				begin(t, e, flow, id, "x")
				signal(t, e, id, "poke", "", "!")
				if out, err := finish[string](t, e, id); out != "x!" || err != nil || time.Since(began) > 5*time.Second {
					t.Errorf("a bystander came to %q, %v, after %s", out, err, time.Since(began))
				}
				pass(time.Second)
			}
			for id, a := range answers {
				select {
				case got := <-a:
					t.Errorf("%s: answered early: %+v", id, got)
				default:
				}
			}
			if n := w.log.count("waits for an open transaction of another client"); n == 0 {
				t.Error("nobody was told")
			}
			if err := e.Health(); err != nil {
				t.Errorf("health: %v", err)
			}
			end, started := tx.Rollback, "rival"
			if commits {
				end, started = tx.Commit, "tx"
			}
			if err := end(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, id := range ids[:2] {
				got := <-answers[id]
				if _, refused := errors.AsType[*request.IDInUseError](got.err); refused != commits || !commits && got.err != nil {
					t.Errorf("%s: %+v", id, got)
				}
				signal(t, e, id, "poke", "", "!")
				if out, err := finish[string](t, e, id); out != started+"!" || err != nil {
					t.Errorf("%s came to %q, %v", id, out, err)
				}
			}
			if !commits {
				pass(time.Minute)
				signal(t, e, ids[2], "poke", "", "!")
			}
			out, err := finish[string](t, e, "parent of "+ids[2])
			if refused := err != nil; refused != commits || !commits && out != "c!" {
				t.Errorf("the parent came to %q, %v", out, err)
			}
		}
	})
}

// TestE28_OneOfManyMakesIt: of many concurrent transactions and starts of one ID exactly one
// creates the run; all others attach or are refused.
func TestE28_OneOfManyMakesIt(t *testing.T) {
	onThePostgres(t, func(t *testing.T, w *world) {
		flow := waits()
		e := w.start(flow)
		for round := range 5 {
			id := fmt.Sprint("round", round)
			const rivals = 6
			runs := make(chan string, rivals)
			for i := range rivals {
				if i%2 == 0 {
					go func() {
						run, _, err := tryBegin(t.Context(), e, flow, id, "a")
						if err != nil {
							t.Error(err)
						}
						runs <- run
					}()
					continue
				}
				tx := stranger(t, w)
				go func() {
					run, _, err := startIn(e, tx, id, "a")
					if err = errors.Join(err, tx.Commit(t.Context())); err != nil {
						t.Error(err)
					}
					runs <- run
				}()
			}
			var all []string
			for range rivals {
				all = append(all, <-runs)
			}
			if slices.Sort(all); len(slices.Compact(all)) != 1 {
				t.Errorf("there are the runs %v", all)
			}
			signal(t, e, id, "poke", "", "!")
			if out, err := finish[string](t, e, id); out != "a!" || err != nil {
				t.Errorf("%q, %v", out, err)
			}
		}
	})
}
