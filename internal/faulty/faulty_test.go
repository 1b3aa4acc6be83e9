package faulty_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/faulty"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
)

func open(t *testing.T, opener store.Opener) store.Store {
	t.Helper()
	s, err := opener.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func newRun(id string) store.Run {
	return store.Run{ID: id, WorkflowID: "workflow-" + id, Type: "test", Chain: id, Attempt: 1, RunState: store.RunState{Status: store.Running}}
}

func exists(t *testing.T, s store.Store, id string) bool {
	t.Helper()
	_, err := s.Find(t.Context(), 0, "", id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	return err == nil
}

func TestFailBeforeDoesNothing(t *testing.T) {
	db := memory.New()
	plan := faulty.NewPlan().At(2, faulty.FailBefore)
	s := open(t, faulty.Wrap(db, plan))
	if err := s.Create(t.Context(), newRun("a")); err != nil {
		t.Fatal(err)
	}
	if err := s.Create(t.Context(), newRun("b")); !store.Unavailable(err) {
		t.Fatalf("the second write answered %v, want an Unavailable error", err)
	}
	if !exists(t, s, "a") || exists(t, s, "b") {
		t.Error("want run a and not run b")
	}
	if err := s.Create(t.Context(), newRun("b")); err != nil {
		t.Errorf("the same call does not work later: %v", err)
	}
	if n := plan.Writes(); n != 3 {
		t.Errorf("counted %d writes, want 3: %v", n, plan.Ops())
	}
}

func TestFailAfterLosesOnlyTheAnswer(t *testing.T) {
	s := open(t, faulty.Wrap(memory.New(), faulty.NewPlan().At(1, faulty.FailAfter).At(2, faulty.FailAfter)))
	if err := s.Create(t.Context(), newRun("a")); !store.Unavailable(err) {
		t.Fatalf("got %v, want an Unavailable error", err)
	}
	if !exists(t, s, "a") {
		t.Error("the work was not done")
	}
	taken := newRun("b")
	taken.WorkflowID = "workflow-a"
	var conflict *store.ConflictError
	if err := s.Create(t.Context(), taken); !errors.As(err, &conflict) {
		t.Errorf("a refusal was replaced by %v", err)
	}
}

func TestCrashIsFinal(t *testing.T) {
	for _, after := range []bool{false, true} {
		fault := faulty.CrashBefore
		if after {
			fault = faulty.CrashAfter
		}
		db := memory.New()
		plan := faulty.NewPlan().At(1, fault)
		s := open(t, faulty.Wrap(db, plan))
		bystander := open(t, db)
		if err := s.Create(t.Context(), newRun("a")); !errors.Is(err, faulty.ErrCrashed) || store.Unavailable(err) {
			t.Fatalf("got %v, want ErrCrashed", err)
		}
		<-plan.Crashed()
		for name, err := range everyVerb(t.Context(), s) {
			if !errors.Is(err, faulty.ErrCrashed) {
				t.Errorf("%s of a dead process answered %v", name, err)
			}
		}
		if got := exists(t, bystander, "a"); got != after {
			t.Errorf("crash after the work: %v, work done: %v", after, got)
		}
		if n := plan.Writes(); n != 1 {
			t.Errorf("a dead process went on to write: %v", plan.Ops())
		}
	}
}

func everyVerb(ctx context.Context, s store.Store) map[string]error {
	errs := map[string]error{
		"Join":    s.Join(ctx, node("n")),
		"Leave":   s.Leave(ctx, "n"),
		"Release": s.Release(ctx, "n", []int{0}),
		"Create":  s.Create(ctx, newRun("z")),
		"Post":    s.Post(ctx, store.Message{WorkflowID: "workflow-a", Key: "k"}),
		"Listen":  s.Listen(ctx, func(store.News) {}),
	}
	_, errs["Renew"] = s.Renew(ctx, store.Renewal{Node: "n", Next: 1})
	_, errs["Group"] = s.Group(ctx, "g")
	_, errs["Secret"] = s.Secret(ctx)
	_, errs["Claim"] = s.Claim(ctx, "n", []int{0})
	_, errs["Commit"] = s.Commit(ctx, nil)
	_, errs["Due"] = s.Due(ctx, []int{0}, 0, 1, 1)
	_, errs["Inbox"] = s.Inbox(ctx, []int{0}, store.InboxRead{Limit: 1})
	_, errs["Load"] = s.Load(ctx, 0, "a")
	_, errs["Find"] = s.Find(ctx, 0, "", "a")
	_, errs["List"] = s.List(ctx, store.Filter{})
	_, errs["History"] = s.History(ctx, 0, "a", 0, 0)
	_, errs["Calls"] = s.Calls(ctx, 0, "a")
	_, errs["Waiting"] = s.Waiting(ctx, store.CallFilter{})
	_, errs["Attempts"] = s.Attempts(ctx, 0, "a", store.AttemptRange{})
	_, errs["Ledger"] = s.Ledger(ctx, store.LedgerFilter{})
	_, errs["Errors"] = s.Errors(ctx, store.LedgerFilter{})
	_, errs["Tallies"] = s.Tallies(ctx, store.TallyFilter{})
	_, errs["Owners"] = s.Owners(ctx, 0)
	_, errs["Nodes"] = s.Nodes(ctx)
	_, errs["Floor"] = s.Floor(ctx, nil, "", 1)
	_, errs["Counts"] = s.Counts(ctx, nil, 0)
	return errs
}

func node(id string) store.Node {
	return store.Node{ID: id, Name: "test", Lease: time.Minute}
}

func TestReapedNodeStaysUntilItsLeaseRunsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := memory.New()
		plan := faulty.NewPlan()
		first, second := open(t, faulty.Wrap(db, plan)), open(t, db)
		claim := func(s store.Store, node string) []store.Ownership {
			t.Helper()
			owned, err := s.Claim(t.Context(), node, []int{0})
			if err != nil {
				t.Fatal(err)
			}
			return owned
		}
		for i, s := range []store.Store{first, second} {
			if err := s.Join(t.Context(), node([]string{"one", "two"}[i])); err != nil {
				t.Fatal(err)
			}
		}
		claim(first, "one")
		if err := plan.Reap(); err != nil {
			t.Fatal(err)
		}
		if err := first.Join(t.Context(), node("one")); !errors.Is(err, faulty.ErrCrashed) {
			t.Errorf("got %v, want ErrCrashed", err)
		}
		if owned := claim(second, "two"); len(owned) != 0 {
			t.Errorf("the node of the dead process lost its partition before its lease was over: %v", owned)
		}
		time.Sleep(time.Minute)
		if owned := claim(second, "two"); len(owned) != 1 {
			t.Error("the node of the dead process owns its partition for ever")
		}
	})
}

func TestRenewalsAreCountedApart(t *testing.T) {
	plan := faulty.NewPlan().AtRenewal(2, faulty.FailBefore).AtRenewal(3, faulty.FailAfter).At(2, faulty.FailBefore)
	s := open(t, faulty.Wrap(memory.New(), plan))
	if err := s.Join(t.Context(), node("n")); err != nil {
		t.Fatal(err)
	}
	for i, fails := range []bool{false, true, true, false} {
		last := int64(max(0, min(i, 1))) // the second and third have no answer, so their numbers come again
		members, err := s.Renew(t.Context(), store.Renewal{Node: "n", Last: last, Next: last + 1})
		if store.Unavailable(err) != fails || (members == nil) != fails {
			t.Errorf("renewal %d answered %v, %v", i+1, members, err)
		}
	}
	if err := s.Create(t.Context(), newRun("a")); !store.Unavailable(err) {
		t.Errorf("the second write answered %v, want an Unavailable error", err)
	}
	if plan.Renewals() != 4 || plan.Writes() != 2 {
		t.Errorf("counted %d renewals and %d writes, want 4 and 2: %v", plan.Renewals(), plan.Writes(), plan.Ops())
	}
	plan.AtRenewal(5, faulty.CrashAfter)
	if _, err := s.Renew(t.Context(), store.Renewal{Node: "n", Last: 2, Next: 3}); !errors.Is(err, faulty.ErrCrashed) {
		t.Errorf("got %v, want ErrCrashed", err)
	}
	<-plan.Crashed()
}

func TestOutageStopsEveryVerb(t *testing.T) {
	plan := faulty.NewPlan()
	opener := faulty.Wrap(memory.New(), plan)
	s := open(t, opener)
	plan.Outage(true)
	for name, err := range everyVerb(t.Context(), s) {
		if !store.Unavailable(err) {
			t.Errorf("%s answered %v during an outage", name, err)
		}
	}
	if _, err := opener.Open(t.Context()); !store.Unavailable(err) {
		t.Errorf("Open answered %v during an outage", err)
	}
	plan.Outage(false)
	if err := s.Create(t.Context(), newRun("a")); err != nil {
		t.Error(err)
	}
}

func TestCutOffIsAnOutageFromOneWriteOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan := faulty.NewPlan().At(2, faulty.CutOff(time.Minute))
		s := open(t, faulty.Wrap(memory.New(), plan))
		if err := s.Create(t.Context(), newRun("a")); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"b", "c"} {
			if err := s.Create(t.Context(), newRun(id)); !store.Unavailable(err) {
				t.Errorf("run %q: got %v, want an outage", id, err)
			}
		}
		if _, err := s.Counts(t.Context(), nil, 0); !store.Unavailable(err) {
			t.Errorf("a read answered %v during the outage", err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		counts, err := s.Counts(t.Context(), nil, 0)
		if err != nil || counts.Runs[store.Running] != 1 {
			t.Errorf("after the outage: %+v, %v, want the one run of before", counts, err)
		}
	})
}

func TestSlowTakesVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan := faulty.NewPlan().At(1, faulty.Slow(time.Hour)).At(2, faulty.Slow(time.Hour)).At(3, faulty.Slow(time.Hour), faulty.FailAfter)
		s := open(t, faulty.Wrap(memory.New(), plan))
		start := time.Now()
		if err := s.Create(t.Context(), newRun("a")); err != nil || time.Since(start) != time.Hour {
			t.Errorf("answered %v after %v, want nil after an hour", err, time.Since(start))
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.Create(impatient, newRun("b")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the caller's deadline", err)
		}
		go func() {
			time.Sleep(time.Minute)
			plan.Crash()
		}()
		if err := s.Create(t.Context(), newRun("c")); !errors.Is(err, faulty.ErrCrashed) {
			t.Errorf("got %v, want ErrCrashed", err)
		}
	})
}

func TestListenEndsWithTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := memory.New()
		plan := faulty.NewPlan()
		s := open(t, faulty.Wrap(db, plan))
		client := open(t, db)
		heard := 0
		ended := make(chan error, 1)
		go func() { ended <- s.Listen(t.Context(), func(store.News) { heard++ }) }()
		synctest.Wait()
		heard = 0
		if err := client.Create(t.Context(), newRun("a")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if heard == 0 {
			t.Error("a new run was not heard of")
		}
		plan.Outage(true)
		heard = 0
		if err := client.Create(t.Context(), newRun("b")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if heard != 0 {
			t.Error("a new run was heard of during an outage")
		}
		plan.Crash()
		if err := <-ended; !errors.Is(err, faulty.ErrCrashed) {
			t.Errorf("Listen ended with %v, want ErrCrashed", err)
		}
	})
}

func TestEveryConcurrentWriteHasItsNumber(t *testing.T) {
	const writers, each, victim = 8, 20, 77
	plan := faulty.NewPlan().At(victim, faulty.FailBefore)
	s := open(t, faulty.Wrap(memory.New(), plan))
	var wg sync.WaitGroup
	var mu sync.Mutex
	failed := 0
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if err := s.Create(t.Context(), newRun(string(rune('a'+w))+string(rune('a'+i)))); err != nil {
					mu.Lock()
					failed++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if plan.Writes() != writers*each || failed != 1 {
		t.Errorf("%d writes and %d failures, want %d and 1", plan.Writes(), failed, writers*each)
	}
}

func TestPlanRefusesWhatCannotHappen(t *testing.T) {
	plan := faulty.NewPlan()
	s := open(t, faulty.Wrap(memory.New(), plan))
	if err := s.Create(t.Context(), newRun("a")); err != nil {
		t.Fatal(err)
	}
	for name, add := range map[string]func(){
		"in the past":     func() { plan.At(1, faulty.FailBefore) },
		"never counted":   func() { plan.AtRenewal(0, faulty.FailBefore) },
		"two ways to end": func() { plan.At(5, faulty.FailBefore, faulty.CrashAfter) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a fault %s was accepted", name)
				}
			}()
			add()
		}()
	}
}
