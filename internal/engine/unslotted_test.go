package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
)

// slowCommits is a database of which each commit takes its time.
type slowCommits struct {
	store.Opener
	each time.Duration
}

func (s slowCommits) Open(ctx context.Context) (store.Store, error) {
	db, err := s.Opener.Open(ctx)
	return slowStore{db, s.each}, err
}

type slowStore struct {
	store.Store
	each time.Duration
}

func (s slowStore) Commit(ctx context.Context, turns []store.Turn) (store.Result, error) {
	time.Sleep(s.each)
	return s.Store.Commit(ctx, turns)
}

// TestE147_ManyRetriesAtOnceAreOnTime: many more retries than there are slots are due in
// one moment, and each begins at that moment, though a commit takes a while: they are on
// record before, and hold no slot until they begin. Never more run than there are slots.
func TestE147_ManyRetriesAtOnceAreOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const slots, runs = 4, 300
		w := newWorld(t)
		w.db = slowCommits{w.db, 10 * time.Millisecond}
		due := time.Now().Add(10 * time.Second)
		var mu sync.Mutex
		late := map[time.Duration]int{}
		active := 0
		work := activity.New("work", func(ctx context.Context, n int) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			info, _ := activity.FromContext(ctx)
			if info.Attempt == 1 {
				return 0, retry.After(errors.New("not yet"), time.Until(due))
			}
			late[time.Since(due)]++
			if active++; active > slots {
				t.Errorf("%d bodies run at once, and there are %d slots", active, slots)
			}
			active--
			return n, nil
		})
		flow := calls(work)
		config := w.config(flow, work)
		config.Concurrency = slots
		e := w.startWith(config)
		var all sync.WaitGroup
		for i := range runs {
			all.Go(func() { begin(t, e, flow, fmt.Sprint(i), i) })
		}
		all.Wait()
		for i := range runs {
			if got, err := finish[int](t, e, fmt.Sprint(i)); got != i || err != nil {
				t.Fatalf("run %d: %d, %v", i, got, err)
			}
		}
		if late[0] != runs {
			t.Errorf("of %d retries %d began when they were due; all of them, by how late they were: %v", runs, late[0], late)
		}
	})
}

// TestE147_WhoGetsNoSlotNeverBegan: retries are on record when their time comes, and long
// bodies keep all slots. They wait in the queue then, run once each, under the number
// they had, and the ledger says when they began, and knows of no other attempt.
func TestE147_WhoGetsNoSlotNeverBegan(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		const slots, runs = 2, 9
		var mu sync.Mutex
		began := map[string]time.Time{}
		active, most := 0, 0
		work := activity.New("work", func(ctx context.Context, n int) (int, error) {
			info, _ := activity.FromContext(ctx)
			if info.Attempt == 1 {
				return 0, errors.New("not yet")
			}
			mu.Lock()
			if !began[info.AttemptID].IsZero() {
				t.Errorf("%s runs twice", info.AttemptID)
			}
			began[info.AttemptID] = time.Now()
			active++
			most = max(most, active)
			mu.Unlock()
			if deadline, _ := ctx.Deadline(); time.Until(deadline) != 3*time.Second || !info.Started.Equal(time.Now()) {
				t.Errorf("it began at %s and is told %s, and that it has %s", time.Now(), info.Started, time.Until(deadline))
			}
			err := busy(ctx, 2*time.Second) // less than its timeout, more than that with the wait
			mu.Lock()
			active--
			mu.Unlock()
			return n, err
		}, activity.Retry(retry.Policy{MaxAttempts: 2, Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter, AttemptTimeout: 3 * time.Second}))
		flow := calls(work)
		config := w.config(flow, work)
		config.Concurrency = slots
		e := w.startWith(config)
		for i := range runs {
			begin(t, e, flow, fmt.Sprint(i), i)
		}
		for i := range runs {
			if got, err := finish[int](t, e, fmt.Sprint(i)); got != i || err != nil {
				t.Fatalf("run %d: %d, %v", i, got, err)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		for i := range runs {
			a := attemptsOf(t, e, fmt.Sprint(i))
			if len(a) != 2 || a[1].Outcome != "completed" || !a[1].Started.Equal(began[a[1].ID]) {
				t.Errorf("run %d began again at %s, and has on record %+v", i, began[a[1].ID], a)
			}
		}
		if most != slots {
			t.Errorf("at most %d bodies ran at once, want %d", most, slots)
		}
	})
}

// TestE147_WhatIsCanceledBeforeItsTime: an attempt that is canceled before its time never
// began, and no view says that it did: neither a retry that was committed early, nor one that
// waits for its slot.
func TestE147_WhatIsCanceledBeforeItsTime(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		for name, c := range map[string]struct{ keeps, when time.Duration }{
			"early": {0, 400 * time.Millisecond}, "just before": {0, 490 * time.Millisecond}, "waiting": {time.Hour, 600 * time.Millisecond},
		} {
			u := startUnbegun(t, w, retry.Policy{MaxAttempts: 2}, c.keeps)
			pass(c.when)
			if err := u.engine.Cancel(t.Context(), "run", "", request.By{Why: "enough"}); err != nil {
				t.Fatal(err)
			}
			pass(2 * time.Second)
			if d := describe(t, u.engine, "run"); d.Status != "canceled" {
				t.Errorf("%s: the run is %s", name, d.Status)
			}
			if all := attemptsOf(t, u.engine, "run"); len(all) != 1 || u.count() != 1 {
				t.Errorf("%s: %d bodies ran, and on record is %+v", name, u.count(), all)
			}
			for _, ev := range eventsOf(t, u.engine, "run") {
				if r := ev.Event.Retry; r != nil && r.TotalAttempts != 1 {
					t.Errorf("%s: history says that there were %d attempts", name, r.TotalAttempts)
				}
			}
			stop(t, u.engine)
		}
	})
}

// TestE147_WhoWaitsNoMoreIsInNoQueue: an attempt that waits for its slot leaves the queue when its
// call is paused, not when it is its turn: nothing counts it among those that wait.
func TestE147_WhoWaitsNoMoreIsInNoQueue(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		u := startUnbegun(t, w, retry.Policy{MaxAttempts: 2}, time.Hour)
		pass(550 * time.Millisecond)
		same(t, "when its time has come", engine.Begun(u.engine), 1)
		control(t, u.engine, "run", core.Control{Operation: core.PauseCall})
		pass(time.Second)
		same(t, "paused", engine.Begun(u.engine), 0)
	})
}

// TestE147_AnActivityThatIsPausedDoesNotBegin: neither a retry that is on record early, nor
// one that waits for its slot. It begins when the activity is on again.
func TestE147_AnActivityThatIsPausedDoesNotBegin(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		for name, c := range map[string]struct{ keeps, when time.Duration }{
			"early": {0, 400 * time.Millisecond}, "waiting": {600 * time.Millisecond, 550 * time.Millisecond},
		} {
			u := startUnbegun(t, w, retry.Policy{MaxAttempts: 2}, c.keeps)
			pass(c.when)
			pauseActivity(t, u.engine, "work", true, "off "+name)
			pass(10 * time.Second)
			if u.count() != 1 {
				t.Errorf("%s: an attempt began although its activity is paused", name)
			}
			pauseActivity(t, u.engine, "work", false, "on "+name)
			u.wantTwice(t, name)
			stop(t, u.engine)
		}
	})
}

// TestE147_NothingBeginsInAPartitionThatLeaves: a retry that is on record ahead of its time gets
// no slot while its partition is handed over, although one is free: a body that began would keep
// the partition here. It begins where the partition goes.
func TestE147_NothingBeginsInAPartitionThatLeaves(t *testing.T) {
	inAGroupOf(t, 1, func(t *testing.T, w *world) {
		u := startUnbegun(t, w, retry.Policy{MaxAttempts: 2}, 0)
		pass(400 * time.Millisecond)
		onRecordAhead(t, u.engine)
		patience, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		engine.HandOver(u.engine, patience)
		if n := u.count(); n != 1 || patience.Err() != nil {
			t.Errorf("when the partition left, %d attempts had begun: %v", n, patience.Err())
		}
		u.wantTwice(t, "handed over")
	})
}
