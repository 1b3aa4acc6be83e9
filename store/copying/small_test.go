package copying_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/faulty"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/copying"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

var (
	approve = activity.Declare[string, string]("approve", activity.Retry(retry.Policy{AttemptTimeout: time.Hour}))
	buy     = workflow.New("buy", func(wf *workflow.Context, item string) (string, error) {
		return workflow.Call(wf, approve, item)
	})
)

// pending gets a token, and leaves the attempt to whoever has it.
func pending(token *string) activity.Activity[string, string] {
	return approve.Impl(func(ctx context.Context, _ string) (string, error) {
		*token = activity.Token(ctx)
		return "", activity.ErrPending
	})
}

func opened(t *testing.T, db store.Opener, options ...perdure.Option) *perdure.Engine {
	t.Helper()
	e, err := perdure.Open(t.Context(), db, options...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func started(t *testing.T, db store.Opener, options ...perdure.Option) *perdure.Engine {
	t.Helper()
	e := opened(t, db, options...)
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return e
}

// between returns the copy of one database in memory into another.
func between(t *testing.T, from, to *memory.Database) *copying.Copy {
	t.Helper()
	c := &copying.Copy{Now: time.Now}
	for opener, db := range map[*memory.Database]*store.Store{from: &c.From, to: &c.To} {
		opened, err := opener.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { opened.Close() })
		*db = place{opened, fmt.Sprintf("%p", opener)}
	}
	return c
}

// place is a store with a location of its own: copies tell databases apart by it.
type place struct {
	store.Store
	name string
}

func (p place) Info() store.Info {
	info := p.Store.Info()
	info.Location = p.name
	return info
}

func parts(n int) *memory.Database { return memory.New(memory.Partitions(n)) }

// TestG1_ClientsAreToldAndTokensHold: a copy is refused under a running engine and says what to
// do; a client that waits is told where the database went; tokens hold in the new one.
func TestG1_ClientsAreToldAndTokensHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, token := t.Context(), ""
		from, to := parts(1), parts(256)
		e := started(t, from, perdure.Register(buy, pending(&token)))
		h, err := perdure.Start(ctx, e, buy, "order-1", "tea")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		c := between(t, from, to)
		if _, err := c.Run(ctx); !isInUse(err) {
			t.Fatalf("a copy under a running engine: %v", err)
		}
		client := opened(t, from)
		waits := make(chan error, 1)
		go func() {
			_, err := perdure.Attach[string](client, h.ID()).Result(ctx)
			waits <- err
		}()
		synctest.Wait()
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if sealed, is := errors.AsType[*store.SealedError](<-waits); !is || sealed.Seal.Other != c.To.Info().Location {
			t.Errorf("a client that waits: %v", sealed)
		}
		if err := client.Workflow("order-1").Cancel(ctx, "late"); !isSealed(err) {
			t.Errorf("a client that asks: %v", err)
		}
		client.Close()
		if _, err := perdure.Open(ctx, from); !isSealed(err) {
			t.Errorf("an engine opens the source: %v", err)
		}
		e = started(t, to, perdure.Register(buy, pending(&token)))
		defer e.Close()
		if err := e.Complete(ctx, token, "paid"); err != nil {
			t.Fatal(err)
		}
		if got, err := perdure.Attach[string](e, "order-1").Result(ctx); err != nil || got != "paid" {
			t.Errorf("%q, %v", got, err)
		}
	})
}

func isSealed(err error) bool { _, is := errors.AsType[*store.SealedError](err); return is }
func isInUse(err error) bool  { _, is := errors.AsType[*store.InUseError](err); return is }

// TestG1_ACopyIsUndoneUnlessSomethingRan: the source opens again, and the target stays closed;
// once an engine has run in the target, it does not.
// TestG1_ADryRunCountsWhatIsCopied and not what stays behind: the book of code that ended its processes.
func TestG1_ADryRunCountsWhatIsCopied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, token := t.Context(), ""
		from, to := parts(1), parts(3)
		e := started(t, from, perdure.Register(buy, pending(&token)))
		if _, err := perdure.Start(ctx, e, buy, "order-1", "tea"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		e.Close()
		c := between(t, from, to)
		g, err := c.From.Group(ctx, "")
		if err != nil {
			t.Fatal(err)
		}
		book, err := entity.Find(g, entity.Book, "shop").Row(1)
		if err == nil {
			book.RunState = store.RunState{Status: store.Standing, Wake: store.Never}
			err = c.From.Create(ctx, book)
		}
		if err != nil {
			t.Fatal(err)
		}
		would, err := c.Count(ctx)
		if err != nil {
			t.Fatal(err)
		}
		did, err := c.Run(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if differences := did.Sums.Differ(would); would["runs"].Rows != 1 || did.Sums["runs"].Rows != 1 || did.Left != 1 {
			t.Errorf("%d would be copied, %d were, %d left: %q", would["runs"].Rows, did.Sums["runs"].Rows, did.Left, differences)
		}
	})
}

func TestG1_ACopyIsUndoneUnlessSomethingRan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, token := t.Context(), ""
		from, to, third := parts(1), parts(3), parts(5)
		e := started(t, from, perdure.Register(buy, pending(&token)))
		if _, err := perdure.Start(ctx, e, buy, "order-1", "tea"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		e.Close()
		c := between(t, from, to)
		if _, err := c.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if err := c.Undo(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := perdure.Open(ctx, to); !isSealed(err) {
			t.Errorf("the target of a copy that was undone: %v", err)
		}
		if _, err := c.Run(ctx); err == nil {
			t.Error("the target was used again")
		}
		if c.Undo(ctx) == nil {
			t.Error("undone twice")
		}
		started(t, from, perdure.Register(buy, pending(&token))).Close()

		again := between(t, from, third)
		if _, err := again.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := between(t, from, parts(1)).Run(ctx); err == nil {
			t.Error("copied to two databases")
		}
		if again.To = c.To; again.Undo(ctx) == nil {
			t.Error("undone with another target")
		}
		again = between(t, from, third)
		e = started(t, third, perdure.Register(buy, pending(&token)))
		if err := again.Undo(ctx); !isInUse(err) {
			t.Errorf("undone under an engine: %v", err)
		}
		e.Close()
		if refused, is := errors.AsType[*copying.RefusedError](again.Undo(ctx)); !is || !strings.Contains(refused.What, "has run") {
			t.Errorf("undone after an engine had run: %v", refused)
		}
		started(t, third, perdure.Register(buy, pending(&token))).Close() // it is open again
	})
}

// TestG1_ATargetInUseLeavesTheSourceOpen: what can be known before the first row closes nothing.
func TestG1_ATargetInUseLeavesTheSourceOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		from, to := parts(1), parts(3)
		token := ""
		busy := started(t, to, perdure.Register(buy, pending(&token)))
		c := between(t, from, to)
		if _, err := c.Run(ctx); !isInUse(err) {
			t.Errorf("copied under an engine of the target: %v", err)
		}
		opened(t, from).Close()
		if _, err := perdure.Start(ctx, busy, buy, "order-1", "tea"); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		busy.Close()
		if refused, is := errors.AsType[*copying.RefusedError](second(c.Run(ctx))); !is || !strings.Contains(refused.What, "not empty") {
			t.Errorf("copied into a database with runs: %v", refused)
		}
		opened(t, from).Close()
		opened(t, to).Close()
	})
}

// TestG1_AChangedTargetIsNotOpened: what does not arrive is found by the checksums.
func TestG1_AChangedTargetIsNotOpened(t *testing.T) {
	ctx := t.Context()
	from, to := parts(1), parts(3)
	e := opened(t, from)
	for _, id := range []string{"a", "b"} {
		if _, err := perdure.Start(ctx, e, buy, id, "tea"); err != nil {
			t.Fatal(err)
		}
	}
	e.Close()
	c := between(t, from, to)
	c.To = lossy{c.To}
	if refused, is := errors.AsType[*copying.RefusedError](second(c.Run(ctx))); !is || !strings.Contains(refused.What, "runs: 2 rows") {
		t.Fatalf("a run was lost: %v", refused)
	}
	if _, err := perdure.Open(ctx, to); !isSealed(err) {
		t.Errorf("the target opens: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// lossy loses a run of each transaction.
type lossy struct{ store.Store }

func (l lossy) Seal(ctx context.Context, before, after store.Seal, rows *store.Rows) error {
	if rows != nil && len(rows.Runs) > 0 {
		less := *rows
		less.Runs = rows.Runs[1:]
		rows = &less
	}
	return l.Store.Seal(ctx, before, after, rows)
}

// TestG2_RunsGoThroughAFile: an exported run is replayed, imported once, and read as it was; a
// redacted one has no words of users.
func TestG2_RunsGoThroughAFile(t *testing.T) {
	ctx := t.Context()
	say := workflow.New("say", func(wf *workflow.Context, text string) (string, error) {
		return workflow.Do(wf, "shout", func(ctx context.Context) (string, error) {
			if info, _ := activity.FromContext(ctx); info.Attempt == 1 {
				return "", retry.After(errors.New("the word is <swordfish>"), 0)
			}
			return text + "!", nil
		})
	})
	from := memory.New(memory.Partitions(7))
	e := started(t, from, perdure.Register(say))
	for _, id := range []string{"one", "two"} {
		if _, err := perdure.Run(ctx, e, say, id, "swordfish", workflow.Attributes(map[string]string{"kind": "secret"})); err != nil {
			t.Fatal(err)
		}
	}
	want, err := e.Workflow("one").Attempts(ctx)
	if err != nil || len(want) != 2 {
		t.Fatal(want, err)
	}
	runs, err := e.List(ctx, view.Filter{})
	e.Close()
	if err != nil || len(runs) != 2 {
		t.Fatal(runs, err)
	}
	db, err := from.Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	file, redacted := &bytes.Buffer{}, &bytes.Buffer{}
	for _, r := range runs {
		rows, err := copying.Read(ctx, db, "", r.WorkflowID, r.RunID)
		if err == nil {
			err = errors.Join(copying.Write(file, rows, false), copying.Write(redacted, rows, true))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(file.String(), "swordfish") || strings.Contains(redacted.String(), "swordfish") {
		t.Errorf("redacted: %s", redacted)
	}
	if err := perduretest.Replay(file.Bytes(), say); err != nil {
		t.Error(err)
	}
	changed := workflow.New("say", func(wf *workflow.Context, text string) (string, error) { return text, nil })
	if err := perduretest.Replay(file.Bytes(), changed); err == nil || !strings.Contains(err.Error(), "workflow "+runs[0].WorkflowID) {
		t.Errorf("changed code: %v", err)
	}

	path := filepath.Join(t.TempDir(), "lab.db")
	opener, _ := store.Named(path)
	to, err := opener.Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	all, err := copying.Parse(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{2, 0} {
		if added, err := copying.Import(ctx, to, "runs.jsonl", all, 1); err != nil || added != n {
			t.Fatalf("%d runs were imported: %v", added, err)
		}
	}
	to.Close()
	e = opened(t, opener, perdure.Register(say))
	defer e.Close()
	got, err := e.Workflow("one").Attempts(ctx)
	if err != nil || len(got) != 2 || got[0].Message == "" || got[0].Message != want[0].Message || !got[1].Ended.Equal(*want[1].Ended) {
		t.Errorf("%+v, %v", got, err)
	}
	if result, err := perdure.Attach[string](e, "one").Result(ctx); err != nil || result != "swordfish!" {
		t.Errorf("%q, %v", result, err)
	}
	if _, err := copying.Parse(redacted); err == nil || !strings.Contains(err.Error(), "redacted") {
		t.Errorf("a redacted run is imported: %v", err)
	}
	if _, err := copying.Parse(strings.NewReader(`{"kind":"perdure.history","start":{},"turns":[]}`)); err == nil {
		t.Error("a recording without rows was read for an import")
	}
}

// TestG1_WhatAWorkerHeldIsOfferedAgain: an attempt that a worker ran when its process and the
// engine died is lost by the copy, with this reason, and offered again.
func TestG1_WhatAWorkerHeldIsOfferedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		from, to := parts(1), parts(16)
		film := workflow.New("film", func(wf *workflow.Context, tk task) (string, error) { return workflow.Call(wf, render, tk) })
		shoot := func(hang bool) activity.Activity[task, string] {
			return render.Impl(func(ctx context.Context, _ task) (string, error) {
				if hang {
					<-ctx.Done()
					return "", ctx.Err()
				}
				return "a picture", nil
			})
		}
		var plans []*faulty.Plan
		doomed := func(options ...perdure.Option) *perdure.Engine {
			plan := faulty.NewPlan()
			plans = append(plans, plan)
			return started(t, faulty.Wrap(from, plan), options...)
		}
		engine := doomed(perdure.NodeName("engine"), perdure.Register(film))
		worker := doomed(perdure.NodeName("worker"), perdure.ServeQueue("gpu", 1), perdure.Register(shoot(true)))
		if _, err := perdure.Start(ctx, engine, film, "metropolis", task{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		for _, plan := range plans {
			plan.Crash()
		}
		_, _ = engine.Close(), worker.Close() // nothing that they write arrives
		c := between(t, from, to)
		if _, err := c.Run(ctx); !isInUse(err) {
			t.Fatalf("copied before the leases expired: %v", err)
		}
		time.Sleep(time.Minute)
		if result, err := c.Run(ctx); err != nil || result.Sums["tasks"].Rows != 1 {
			t.Fatalf("%+v, %v", result, err)
		}
		e := started(t, to, perdure.Register(film, shoot(false)), perdure.ServeQueue("gpu", 1))
		defer e.Close()
		if got, err := perdure.Attach[string](e, "metropolis").Result(ctx); err != nil || got != "a picture" {
			t.Fatalf("%q, %v", got, err)
		}
		attempts, err := e.Workflow("metropolis").Attempts(ctx)
		if err != nil || len(attempts) != 2 || attempts[0].Reason != string(retry.ReasonCopied) {
			t.Errorf("%+v, %v", attempts, err)
		}
	})
}

// TestG1_AnEngineThatWasCutOffDoesNothingMore: an engine whose lease had expired when its
// database was copied comes back, finds the database closed, and starts nothing.
func TestG1_AnEngineThatWasCutOffDoesNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		from, to := parts(1), parts(16)
		bodies := map[string]int{}
		late := func(where string) []perdure.Option {
			ship := activity.New("ship", func(context.Context, string) (string, error) { bodies[where]++; return where, nil })
			return []perdure.Option{perdure.NodeName(where), perdure.Logger(slog.New(slog.DiscardHandler)), perdure.Register(ship, workflow.New("late", func(wf *workflow.Context, item string) (string, error) {
				if err := workflow.Sleep(wf, time.Hour); err != nil {
					return "", err
				}
				return workflow.Call(wf, ship, item)
			}))}
		}
		plan := faulty.NewPlan()
		old := started(t, faulty.Wrap(from, plan), late("old")...)
		w := workflow.Declare[string, string]("late")
		if _, err := perdure.Start(ctx, old, w, "order-1", "tea"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		plan.Outage(true)
		time.Sleep(time.Minute)
		if _, err := between(t, from, to).Run(ctx); err != nil {
			t.Fatal(err)
		}
		plan.Outage(false)
		e := started(t, to, late("new")...)
		time.Sleep(70 * time.Minute)
		if got, err := perdure.Attach[string](e, "order-1").Result(ctx); err != nil || got != "new" || bodies["old"] != 0 || bodies["new"] != 1 {
			t.Errorf("%q, %v, %v", got, err, bodies)
		}
		if old.Health() == nil {
			t.Error("the old engine takes itself for healthy")
		}
		_, _ = old.Close(), e.Close()
	})
}
