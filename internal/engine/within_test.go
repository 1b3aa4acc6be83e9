package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/faulty"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// withTransactions runs a test in virtual time on every kind of database that has them.
func withTransactions(t *testing.T, test func(t *testing.T, w *world)) {
	for _, in := range everywhere {
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
