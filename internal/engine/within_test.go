package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/faulty"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/pgbubble"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// withTransactions runs a test in virtual time on every kind of database that has them.
func withTransactions(t *testing.T, test func(t *testing.T, w *world)) {
	for _, in := range settings {
		if in.onDisk && in.plays(needsTransactions) && (!in.resident || extent.Nightly()) {
			in.run(t, 1, func(t *testing.T, w *world) {
				w.patient = false
				test(t, w)
			})
		}
	}
}

// waits is a workflow that returns the first signal of its own, after its input.
func waits() workflow.Workflow[string, string] {
	return workflow.New("waits", func(wf *workflow.Context, in string) (string, error) {
		poked, err := workflow.Receive(wf, poke)
		return in + poked, err
	})
}

// startIn starts a run inside a transaction.
func startIn(e *engine.Engine, tx any, id, input string, options ...func(*request.Start)) (run string, attached bool, err error) {
	payload, err := history.Encode(input)
	if err != nil {
		return "", false, err
	}
	req := request.Start{WorkflowID: id, Type: "waits", Input: payload}
	for _, o := range options {
		o(&req)
	}
	return e.StartRunWithin(context.Background(), tx, req)
}

func signalIn(e *engine.Engine, tx any, id, value string) error {
	payload, err := history.Encode(value)
	if err != nil {
		return err
	}
	return e.SignalWithin(context.Background(), tx, id, "poke", "", payload)
}

// transact runs a function in a transaction of the engine.
func transact(t *testing.T, e *engine.Engine, do func(tx any) error) error {
	t.Helper()
	return e.Transact(t.Context(), func(_ context.Context, tx any) error { return do(tx) })
}

// unheardOf demands that no run has the workflow ID.
func unheardOf(t *testing.T, e *engine.Engine, id string) {
	t.Helper()
	if _, err := e.Describe(t.Context(), id, ""); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("of %q is known: %v", id, err)
	}
}

// TestE28_StartedAndSignalledWithTheCommitOrNotAtAll, by an engine that serves the run
// and by a client.
func TestE28_StartedAndSignalledWithTheCommitOrNotAtAll(t *testing.T) {
	withTransactions(t, func(t *testing.T, w *world) {
		flow := waits()
		e := w.start(flow)
		boom := errors.New("boom")
		for name, by := range map[string]*engine.Engine{"owner": e, "client": w.open(w.config())} {
			err := transact(t, by, func(tx any) error {
				if _, _, err := startIn(by, tx, name, "a"); err != nil {
					return err
				}
				return errors.Join(signalIn(by, tx, name, "b"), boom)
			})
			if !errors.Is(err, boom) {
				t.Errorf("got %v", err)
			}
			pass(time.Minute)
			unheardOf(t, e, name)
			if err := transact(t, by, func(tx any) error {
				if err := signalIn(by, tx, name, "early"); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("got %v", err)
				}
				run, attached, err := startIn(by, tx, name, "a")
				if err != nil || attached {
					t.Errorf("%v %v", attached, err)
				}
				if again, attached, err := startIn(by, tx, name, "a"); err != nil || !attached || again != run {
					t.Errorf("started again is %q %v %v, not %q", again, attached, err, run)
				}
				return signalIn(by, tx, name, "b")
			}); err != nil {
				t.Fatal(err)
			}
			if out, err := finish[string](t, e, name); out != "ab" || err != nil {
				t.Errorf("%q, %v", out, err)
			}
		}
		if holds := engine.Holds(e); holds != "" {
			t.Errorf("in the end the engine holds %s", holds)
		}
	})
}

// TestE28_OptionsHoldInATransaction as they do without.
func TestE28_OptionsHoldInATransaction(t *testing.T) {
	withTransactions(t, func(t *testing.T, w *world) {
		flow := waits()
		e := w.start(flow)
		begin(t, e, flow, "open", "a")
		begin(t, e, flow, "over", "a")
		signal(t, e, "over", "poke", "", "b")
		finish[string](t, e, "over")
		old := describe(t, e, "over").RunID
		inUse := func(err error, why string) {
			t.Helper()
			if refused, ok := errors.AsType[*request.IDInUseError](err); !ok || !strings.Contains(refused.Difference, why) {
				t.Errorf("got %v, want that %s", err, why)
			}
		}
		began := time.Now()
		if err := transact(t, e, func(tx any) error {
			_, _, err := startIn(e, tx, "open", "other")
			inUse(err, "its input differs")
			_, _, err = startIn(e, tx, "open", "a", func(r *request.Start) { r.MustBeNew = true })
			inUse(err, "the start requires a new run")
			_, _, err = startIn(e, tx, "open", "a", func(r *request.Start) { r.Type = "another" })
			inUse(err, "it is of workflow")
			if run, attached, err := startIn(e, tx, "over", "a", func(r *request.Start) { r.NewAfter = request.Failure }); run != old || !attached || err != nil {
				t.Errorf("%q %v %v", run, attached, err)
			}
			if _, attached, err := startIn(e, tx, "over", "new", func(r *request.Start) { r.NewAfter = request.AnyEnd }); attached || err != nil {
				t.Errorf("%v %v", attached, err)
			}
			_, _, err = startIn(e, tx, "late", "l", func(r *request.Start) {
				r.Delay, r.Attributes = time.Hour, map[string]string{"a": "b"}
			})
			for _, id := range []string{"", "#gate/x", strings.Repeat("x", 2000)} {
				if _, _, err := startIn(e, tx, id, "a"); err == nil {
					t.Errorf("the workflow ID %.10q was taken", id)
				}
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		signal(t, e, "over", "poke", "", "!")
		signal(t, e, "late", "poke", "", "!")
		if out, _ := finish[string](t, e, "over"); out != "new!" || describe(t, e, "over").RunID == old {
			t.Errorf("the new run came to %q", out)
		}
		if out, _ := finish[string](t, e, "late"); out != "l!" || time.Since(began) < time.Hour {
			t.Errorf("the late one came to %q after %s", out, time.Since(began))
		}
		if found, err := e.List(t.Context(), view.Filter{Attributes: map[string]string{"a": "b"}}); len(found) != 1 || err != nil {
			t.Errorf("found by its attribute is %+v, %v", found, err)
		}
	})
}

// TestE28_StepsStartRunsWithTheirResult: of attempts whose transaction failed nothing
// is left, and the one that counts starts its run exactly once.
func TestE28_StepsStartRunsWithTheirResult(t *testing.T) {
	withTransactions(t, func(t *testing.T, w *world) {
		var e *engine.Engine
		step := activity.New("step", func(ctx context.Context, in string) (string, error) {
			return in, activity.OnCommit(ctx, func(ctx context.Context, tx any) error {
				info, _ := activity.FromContext(ctx)
				id := fmt.Sprint(in, info.Attempt)
				if _, _, err := startIn(e, tx, id, id); err != nil {
					return err
				}
				if err := signalIn(e, tx, id, "!"); err != nil {
					return err
				}
				if info.Attempt < 3 {
					return errRefused
				}
				return nil
			})
		}, activity.Retry(retry.Policy{MaxAttempts: 3, Backoff: retry.None}))
		steps := workflow.New("steps", func(wf *workflow.Context, in string) (string, error) { return workflow.Call(wf, step, in) })
		e = w.start(waits(), steps, step)
		complete(t, e, steps, "s", "run")
		if out, err := finish[string](t, e, "run3"); out != "run3!" || err != nil {
			t.Errorf("%q, %v", out, err)
		}
		unheardOf(t, e, "run1")
		unheardOf(t, e, "run2")
	})
}

// TestE28_ACrashAfterTheCommitLosesNothing: the next engine finds the run even if no engine
// was notified of it.
func TestE28_ACrashAfterTheCommitLosesNothing(t *testing.T) {
	withTransactions(t, func(t *testing.T, w *world) {
		flow := waits()
		for _, fault := range []faulty.Fault{faulty.CrashBefore, faulty.CrashAfter} {
			e := w.start(flow)
			settle()
			id := fault.String()
			// The write that is Transact's comes first, those within it after it.
			w.plans[e].At(w.plans[e].Writes()+1, fault)
			err := transact(t, e, func(tx any) error {
				if _, _, err := startIn(e, tx, id, "a"); err != nil {
					return err
				}
				return signalIn(e, tx, id, "b")
			})
			if !errors.Is(err, faulty.ErrCrashed) {
				t.Errorf("got %v", err)
			}
			w.kill(e)
			e = w.start(flow)
			if fault == faulty.CrashBefore {
				pass(time.Minute)
				unheardOf(t, e, id)
			} else if out, err := finish[string](t, e, id); out != "ab" || err != nil {
				t.Errorf("%q, %v", out, err)
			}
			w.kill(e)
		}
	})
}

// TestE28_TransactionsMayFailInEveryWay, and nothing is left of them.
func TestE28_TransactionsMayFailInEveryWay(t *testing.T) {
	withTransactions(t, func(t *testing.T, w *world) {
		e := w.start(waits())
		stopped, stop := context.WithCancel(t.Context())
		ways := map[string]func(ctx context.Context) error{
			"error": func(context.Context) error { return errRefused },
			"panic": func(context.Context) error { panic("ouch") },
			"slow":  func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
			"deaf":  func(context.Context) error { <-stopped.Done(); return nil },
		}
		for name, fail := range ways {
			err := e.Transact(t.Context(), func(ctx context.Context, tx any) error {
				if _, _, err := startIn(e, tx, name, "a"); err != nil {
					return err
				}
				return fail(ctx)
			})
			if err == nil || (name == "error") != errors.Is(err, errRefused) {
				t.Errorf("%s: got %v", name, err)
			}
			unheardOf(t, e, name)
		}
		stop()
		settle()
		for _, tx := range []any{nil, 7, e} {
			if _, _, err := startIn(e, tx, "none", "a"); !errors.Is(err, store.ErrTx) {
				t.Errorf("%v: got %v", tx, err)
			}
		}
	})
}

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
	for _, in := range settings {
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

// TestE48_WhatAFullRunWaitsForPassesWithinATransaction: also through a transaction of the sender,
// which goes on after a refusal.
func TestE48_WhatAFullRunWaitsForPassesWithinATransaction(t *testing.T) {
	withTransactions(t, func(t *testing.T, w *world) {
		flow := waits()
		c := w.config(flow)
		c.MaxSignalBacklog = 1
		e := w.startWith(c)
		begin(t, e, flow, "w", "a")
		value, _ := history.Encode("noise")
		if err := e.Signal(t.Context(), "w", "noise", "", value); err != nil {
			t.Fatal(err)
		}
		settle()
		err := transact(t, e, func(tx any) error {
			if err := e.SignalWithin(t.Context(), tx, "w", "noise", "", value); !errors.As(err, new(*history.LimitError)) {
				t.Errorf("another one: %v", err)
			}
			return signalIn(e, tx, "w", "b")
		})
		if got, end := finish[string](t, e, "w"); got != "ab" || err != nil || end != nil {
			t.Errorf("%q, %v, %v", got, err, end)
		}
	})
}
