package storetest

import (
	"errors"
	"runtime"
	"strings"

	"github.com/perdure/perdure/store"
)

// withinChecks are about Within of every store.
var withinChecks = []check{
	{"Transaction/WhatIsNoneIsRefused", func(f *fixture) {
		var none *struct{}
		for _, tx := range []any{nil, none, 7, "tx", f.store, struct{}{}} {
			f.is(errorOf(f.store.Within(tx)), store.ErrTx)
		}
	}},
}

// transactionChecks are about Within and Transact of a store that has transactions.
var transactionChecks = []check{
	{"Transaction/CommitsAllOrNothing", func(f *fixture) {
		started, dropped := f.newRun(), f.newRun()
		f.must(f.transact(func(in store.Transaction) error {
			f.must(in.Create(f.Context(), started))
			f.must(in.Create(f.Context(), started)) // twice is once
			equal(f, f.found(in, started.WorkflowID), started)
			f.must(in.Post(f.Context(), store.Message{Partition: f.partition, WorkflowID: started.WorkflowID, Key: "k", Kind: "x", Data: []byte("{}")}))
			return nil
		}))
		equal(f, f.find(started.ID), started)
		equal(f, keys(f.inbox()), []string{store.CreatedKey(started.ID), "k"})
		boom := errors.New("boom")
		err := f.transact(func(in store.Transaction) error {
			f.must(in.Create(f.Context(), dropped))
			f.must(in.Post(f.Context(), store.Message{Partition: f.partition, WorkflowID: started.WorkflowID, Key: "no"}))
			return boom
		})
		f.is(err, boom)
		if _, ok := errors.AsType[*store.HookError](err); !ok {
			f.Errorf("got %v, want a HookError", err)
		}
		f.none(dropped.WorkflowID, "")
		equal(f, len(f.inbox()), 2)
	}},
	{"Transaction/GoesOnAfterARefusal", func(f *fixture) {
		taken, over, fresh := f.created(), f.created(), f.newRun()
		f.closes(over, 2, store.Completed)
		f.must(f.transact(func(in store.Transaction) error {
			f.conflict(in.Create(f.Context(), f.newRun(rivaling(taken))), taken)
			stolen := f.newRun(func(r *store.Run) { r.ID, r.Chain = taken.ID, taken.ID })
			if err := in.Create(f.Context(), stolen); err == nil || !strings.Contains(err.Error(), "exists already") {
				f.Errorf("got %v", err)
			}
			f.is(in.Post(f.Context(), store.Message{Partition: f.partition, WorkflowID: "nobody", Key: "k"}), store.ErrNotFound)
			f.is(in.Post(f.Context(), store.Message{Partition: f.partition, WorkflowID: over.WorkflowID, Key: "k"}), store.ErrClosed)
			f.is(errorOf(in.Find(f.Context(), f.partition, "nobody", "")), store.ErrNotFound)
			spoiled(f, f.newRun(), func(r store.Run) error { return in.Create(f.Context(), r) },
				func(r *store.Run) { r.WorkflowID = "a\x00b" },
				func(r *store.Run) { r.Partition += 1000 },
			)
			return in.Create(f.Context(), fresh)
		}))
		equal(f, f.find(fresh.ID), fresh)
		equal(f, keys(f.inbox()), []string{store.CreatedKey(fresh.ID)})
	}},
	{"Transaction/ANewChainLeavesTheMailOfTheOldOne", func(f *fixture) {
		old := f.created()
		f.posts(old, "for the old one")
		f.closes(old, 2, store.Failed)
		next, late := f.newRunAfter(old), f.newRunAfter(old)
		f.must(f.transact(func(in store.Transaction) error {
			f.must(in.Create(f.Context(), next))
			next := next
			next.After = ""
			f.conflict(in.Create(f.Context(), late), next)
			return nil
		}))
		for _, m := range f.inbox() {
			if m.Key == "for the old one" && m.Run != old.ID {
				f.Errorf("it is for %q", m.Run)
			}
		}
		equal(f, f.latest(old.WorkflowID).ID, next.ID)
	}},
	{"Transaction/OfAHookIsItsTurn", func(f *fixture) {
		run, started, dropped := f.created(), f.newRun(), f.newRun()
		boom := errors.New("boom")
		f.is(f.commit(f.turn(run, 2, f.starting(dropped, boom)))[0], boom)
		f.commits(f.turn(run, 2, f.starting(started, nil)))
		equal(f, f.find(started.ID), started)
		equal(f, keys(f.inbox()), []string{store.CreatedKey(started.ID)})
	}},
	{"Transaction/ListenersAreTold", func(f *fixture) {
		l := f.listen(f.open())
		run := f.created()
		for _, start := range []func(next store.Run){
			func(next store.Run) {
				f.must(f.transact(func(in store.Transaction) error { return in.Create(f.Context(), next) }))
			},
			func(next store.Run) { f.commits(f.turn(run, 2, f.starting(next, nil))) },
		} {
			l.settle()
			start(f.newRun())
			l.expect(store.NewsMessage)
		}
	}},
	{"Transaction/ThatHasEndedIsRefused", func(f *fixture) {
		var kept store.Transaction
		f.must(f.transact(func(in store.Transaction) error {
			kept = in
			return nil
		}))
		run := f.newRun()
		if err := kept.Create(f.Context(), run); !errors.Is(err, store.ErrTx) || store.Unavailable(err) {
			f.Errorf("got %v, want that it has ended", err)
		}
		f.must(f.store.Create(f.Context(), run))
	}},
	{"Transact/MayFailInEveryWay", func(f *fixture) {
		for name, fail := range map[string]func(){
			"panic":  func() { panic("ouch") },
			"goexit": runtime.Goexit,
		} {
			run := f.newRun()
			over := make(chan error, 1)
			go func() {
				err := errors.New("its goroutine ended")
				defer func() { over <- err }()
				err = f.store.Transact(f.Context(), func(tx any) error {
					in, err := f.store.Within(tx)
					if err := errors.Join(err, in.Create(f.Context(), run)); err != nil {
						return err
					}
					fail()
					return nil
				})
			}()
			if err := <-over; err == nil {
				f.Errorf("%s: no error", name)
			}
			f.none(run.WorkflowID, "")
		}
		f.is(f.store.Transact(canceled(), func(any) error { return nil }), canceled().Err())
		f.created() // nobody holds anything
	}},
}

// transacts reports whether the store has transactions; one that has none says so.
func (f *fixture) transacts() bool {
	f.Helper()
	err := f.store.Transact(f.Context(), func(any) error { return nil })
	if errors.Is(err, store.ErrTx) {
		return false
	}
	f.must(err)
	return true
}

// starting is a turn whose hook creates a run and then answers.
func (f *fixture) starting(next store.Run, answer error) func(t *store.Turn) {
	return func(t *store.Turn) {
		t.Hook = func(tx any) error {
			in, err := f.store.Within(tx)
			return errors.Join(err, in.Create(f.Context(), next), answer)
		}
	}
}

// transact runs a function within a transaction of the store.
func (f *fixture) transact(do func(in store.Transaction) error) error {
	return f.store.Transact(f.Context(), func(tx any) error {
		in, err := f.store.Within(tx)
		if err != nil {
			return err
		}
		return do(in)
	})
}

// found is the latest run of a workflow ID as a transaction sees it.
func (f *fixture) found(in store.Transaction, workflowID string) store.Run {
	f.Helper()
	return *must(in.Find(f.Context(), f.partition, workflowID, ""))(f)
}
