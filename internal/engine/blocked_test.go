package engine_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

// blocking is a database in which an open transaction of another client is in the way of the turns
// of one run, and of no others.
type blocking struct {
	store.Opener
	run atomic.Pointer[string]
}

// blockTurns lets the engines of a world commit to such a database.
func blockTurns(w *world) *blocking {
	b := &blocking{Opener: w.db}
	w.db = b
	return b
}

func (b *blocking) block(run string) { b.run.Store(&run) }
func (b *blocking) release()         { b.run.Store(nil) }

func (b *blocking) Open(ctx context.Context) (store.Store, error) {
	inner, err := b.Opener.Open(ctx)
	return &blockable{inner, b}, err
}

type blockable struct {
	store.Store
	by *blocking
}

func (s *blockable) Commit(ctx context.Context, turns []store.Turn) (store.Result, error) {
	run := s.by.run.Load()
	if run == nil {
		return s.Store.Commit(ctx, turns)
	}
	var taken []store.Turn
	for i := range turns {
		if turns[i].Run != *run {
			taken = append(taken, turns[i])
		}
	}
	some, err := s.Store.Commit(ctx, taken)
	if err != nil {
		return some, err
	}
	all := store.Result{Now: some.Now, Errors: make([]error, len(turns))}
	for i, next := 0, 0; i < len(turns); i++ {
		if turns[i].Run == *run {
			all.Errors[i] = &store.UnavailableError{Op: "commit", Err: errors.New("another transaction is in the way")}
			continue
		}
		all.Errors[i] = some.Errors[next]
		next++
	}
	return all, nil
}

// TestE94_ARunKeepsNoSlotWhileItsTurnWaits: a slot that comes free while a turn of its run waits for
// the transaction of another client goes to a call that waits. The run has no use for it before
// that, which may last.
func TestE94_ARunKeepsNoSlotWhileItsTurnWaits(t *testing.T) {
	both := workflow.New("both", func(wf *workflow.Context, d time.Duration) (int, error) {
		held := workflow.Async(wf, hold, d)
		if _, err := workflow.Receive(wf, poke); err != nil {
			return 0, err
		}
		return held.Get(wf)
	})
	inVirtualTime(t, func(t *testing.T, w *world) {
		db := blockTurns(w)
		config := w.config(both, holding, hold)
		config.Concurrency = 1
		e := w.startWith(config)
		run := begin(t, e, both, "both", time.Minute)
		settle()
		begin(t, e, holding, "waits", time.Minute)
		inLine()
		same(t, "the second call", onlyCall(t, e, "waits").State, "queued")
		db.block(run)
		signal(t, e, "both", poke.Name(), "", "now")
		pass(61 * time.Second)
		same(t, "the second call, when the first has ended", onlyCall(t, e, "waits").State, "running")
		db.release()
		for _, id := range []string{"both", "waits"} {
			if _, err := finish[int](t, e, id); err != nil {
				t.Error(err)
			}
		}
		demandSlots(t, e, 1)
	})
}

// TestE88_WhatCameFirstWins: while a turn of a run waits for the transaction of another client, an
// activity of it ends here, and a signal comes by the database. The run hears both at once, and
// in the order in which they came.
func TestE88_WhatCameFirstWins(t *testing.T) {
	either := workflow.New("either", func(wf *workflow.Context, d time.Duration) (string, error) {
		held, poked := workflow.Async(wf, hold, d), workflow.ReceiveAsync(wf, poke)
		if _, err := workflow.Receive(wf, proceed); err != nil {
			return "", err
		}
		return []string{"the activity", "the signal"}[workflow.Select(wf, held, poked)], nil
	})
	inVirtualTime(t, func(t *testing.T, w *world) {
		db := blockTurns(w)
		e := w.start(either, hold)
		for _, c := range []struct {
			ends, comes time.Duration
			first       string
		}{
			{10 * time.Second, 20 * time.Second, "the activity"},
			{20 * time.Second, 10 * time.Second, "the signal"},
		} {
			run := begin(t, e, either, c.first, c.ends)
			settle()
			db.block(run)
			signal(t, e, c.first, proceed.Name(), "", "now")
			pass(c.comes)
			signal(t, e, c.first, poke.Name(), "", "now")
			pass(time.Minute)
			db.release()
			if got, err := finish[string](t, e, c.first); got != c.first || err != nil {
				t.Errorf("%s won, %v; %s came first", got, err, c.first)
			}
		}
	})
}
