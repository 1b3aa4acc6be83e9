package commit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/logs"
	"github.com/perdure/perdure/internal/outage"
	"github.com/perdure/perdure/store"
)

// fakeStore answers commits by a script and notes which runs each had.
type fakeStore struct {
	store.Owner
	mu      sync.Mutex
	commits []string
	answer  func(turns []store.Turn) (store.Result, error)
}

func (f *fakeStore) Commit(_ context.Context, turns []store.Turn) (store.Result, error) {
	var runs []string
	for _, t := range turns {
		runs = append(runs, t.Run)
	}
	f.mu.Lock()
	f.commits = append(f.commits, strings.Join(runs, " "))
	f.mu.Unlock()
	return f.answer(turns)
}

func durable(turns []store.Turn) store.Result {
	return store.Result{Now: 42, Errors: make([]error, len(turns))}
}

var errGone = &store.UnavailableError{Op: "commit", Err: errors.New("the line is cut")}

// bench is a committer on a fake store.
type bench struct {
	*Committer
	store *fakeStore
	log   strings.Builder
	stop  context.CancelCauseFunc
}

// outages returns how often the log says that an outage begins and ends.
func (b *bench) outages() (away, back int) {
	return strings.Count(b.log.String(), "event=database_away"), strings.Count(b.log.String(), "event=database_back")
}

func newBench(info store.Info, answer func(turns []store.Turn) (store.Result, error)) *bench {
	b := &bench{store: &fakeStore{answer: answer}}
	if info.Domain == nil {
		info.Domain = func(int) int { return 0 }
	}
	var ctx context.Context
	ctx, b.stop = context.WithCancelCause(context.Background())
	log := logs.New(slog.New(slog.NewTextHandler(&b.log, nil)), false)
	b.Committer = New(ctx, Config{Store: b.store, Info: info, Log: log, Clock: clock.New(42), Watch: outage.New(log)})
	return b
}

// commitAll enqueues turns, so that they make one group, runs the committer until all
// have a result, and returns these.
func (b *bench) commitAll(turns ...store.Turn) []error {
	results := make([]error, len(turns))
	var all sync.WaitGroup
	for i, t := range turns {
		all.Go(func() { results[i] = b.Commit(t) })
		synctest.Wait() // in order
	}
	var running sync.WaitGroup
	running.Go(b.Run)
	all.Wait()
	b.stop(errors.New("the test is over"))
	running.Wait()
	return results
}

func turn(run string) store.Turn { return store.Turn{Run: run} }

func (b *bench) demandCommits(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(b.store.commits, want) {
		t.Errorf("the store was given %q, want %q", b.store.commits, want)
	}
}

func TestReadyTurnsShareATransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(store.Info{}, func(turns []store.Turn) (store.Result, error) {
			r := durable(turns)
			r.Errors[1] = store.ErrStale
			return r, nil
		})
		got := b.commitAll(turn("a"), turn("b"), turn("c"))
		if got[0] != nil || !errors.Is(got[1], store.ErrStale) || got[2] != nil {
			t.Errorf("the results are %v", got)
		}
		b.demandCommits(t, "a b c")
		if away, back := b.outages(); away != 0 || back != 0 {
			t.Errorf("the database was away %d times and back %d times", away, back)
		}
	})
}

func TestGroupsDoNotSpanDomains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		info := store.Info{Domain: func(partition int) int { return partition % 2 }}
		b := newBench(info, func(turns []store.Turn) (store.Result, error) { return durable(turns), nil })
		var turns []store.Turn
		for i := range 5 {
			turns = append(turns, store.Turn{Run: fmt.Sprint(i), Partition: i})
		}
		b.commitAll(turns...)
		slices.Sort(b.store.commits)
		b.demandCommits(t, "0 2 4", "1 3")
	})
}

// TestE135_ADomainThatIsAwayHoldsNoOtherUp: turns of one server are committed while another
// is away, to which turns with messages for it wait by themselves.
func TestE135_ADomainThatIsAwayHoldsNoOtherUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		away.Store(true)
		info := store.Info{Domain: func(partition int) int { return partition % 2 }}
		touches := func(t *store.Turn) bool {
			return t.Partition == 1 || slices.ContainsFunc(t.Messages, func(m store.Message) bool { return m.Partition == 1 })
		}
		b := newBench(info, func(turns []store.Turn) (store.Result, error) {
			for i := range turns {
				if touches(&turns[i]) && away.Load() {
					return store.Result{}, errGone
				}
			}
			return durable(turns), nil
		})
		go b.Run()
		done := map[string]chan error{}
		commit := func(turn store.Turn) {
			answer := make(chan error, 1)
			done[turn.Run] = answer
			go func() { answer <- b.Commit(turn) }()
		}
		commit(store.Turn{Run: "there", Partition: 1})
		commit(store.Turn{Run: "across", Partition: 0, Messages: []store.Message{{Partition: 1}}})
		time.Sleep(time.Minute)
		for i := range 3 {
			commit(store.Turn{Run: fmt.Sprint("here ", i), Partition: 0, Messages: []store.Message{{Partition: 0}}})
		}
		synctest.Wait()
		for run, answer := range done {
			if here := strings.HasPrefix(run, "here"); len(answer) == 1 != here {
				t.Errorf("while a server is away, %q has %d answers", run, len(answer))
			}
		}
		if b.Watch.Err() == nil {
			t.Error("nothing is said to be wrong")
		}
		away.Store(false)
		time.Sleep(time.Minute)
		for run, answer := range done {
			if len(answer) != 1 || <-answer != nil {
				t.Errorf("%q was not committed", run)
			}
		}
		if err := b.Watch.Err(); err != nil {
			t.Errorf("said to be wrong: %v", err)
		}
		b.stop(nil)
		synctest.Wait()
	})
}

// TestE135_HooksOfADomainThatIsAwayHoldNoOthersUp: a turn with a hook that is tried again
// keeps no place in which one of another server could commit.
func TestE135_HooksOfADomainThatIsAwayHoldNoOthersUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		info := store.Info{Domain: func(partition int) int { return partition }, LoneHooks: 2}
		b := newBench(info, func(turns []store.Turn) (store.Result, error) {
			if turns[0].Partition == 1 {
				return store.Result{}, errGone
			}
			return durable(turns), nil
		})
		hook := func(any) error { return nil }
		for i := range 5 {
			go b.Commit(store.Turn{Run: fmt.Sprint("there ", i), Partition: 1, Hook: hook})
		}
		time.Sleep(time.Minute)
		done := make(chan error, 1)
		go func() { done <- b.Commit(store.Turn{Run: "here", Partition: 0, Hook: hook}) }()
		time.Sleep(time.Minute)
		if len(done) == 0 || <-done != nil {
			t.Error("while a server is away, a turn with a hook waits that does not concern it")
		}
		b.stop(nil)
		synctest.Wait()
	})
}

func TestLostAnswerIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		b := newBench(store.Info{}, func(turns []store.Turn) (store.Result, error) {
			if tries++; tries < 3 {
				return store.Result{}, errGone
			}
			return durable(turns), nil
		})
		if got := b.commitAll(turn("a"), turn("b")); got[0] != nil || got[1] != nil {
			t.Errorf("the results are %v", got)
		}
		b.demandCommits(t, "a b", "a b", "a b")
		if away, back := b.outages(); away != 1 || back != 1 || b.Watch.Err() != nil {
			t.Errorf("the database was away %d times and back %d times, and it is %v", away, back, b.Watch.Err())
		}
	})
}

// TestE67_AClosedRunThatIsGoneWasClosed: a turn whose answer was lost and whose run is gone
// since is durable if it closes the run. Without a lost answer, or if it only goes on with
// the run or stands on another that is gone, it is not.
func TestE67_AClosedRunThatIsGoneWasClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed, open := &store.RunState{Status: store.Continued}, &store.RunState{Status: store.Running}
		turns := []store.Turn{
			{Run: "closes", Number: 2, State: closed, Create: &store.Run{ID: "next"}},
			{Run: "goes on", Number: 2, State: open},
			{Run: "needs a base", Number: 2, State: closed, Create: &store.Run{ID: "other", Base: &store.Base{}}},
		}
		gone := func(turns []store.Turn) (store.Result, error) {
			r := durable(turns)
			for i := range r.Errors {
				r.Errors[i] = store.ErrNotFound
			}
			return r, nil
		}
		first := true
		b := newBench(store.Info{}, func(turns []store.Turn) (store.Result, error) {
			if first {
				first = false
				return store.Result{}, errGone
			}
			return gone(turns)
		})
		if got, want := fmt.Sprint(b.commitAll(turns...)), fmt.Sprint([]error{nil, store.ErrNotFound, store.ErrNotFound}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		b = newBench(store.Info{}, gone)
		if got := b.commitAll(turns[0]); !errors.Is(got[0], store.ErrNotFound) {
			t.Errorf("without a lost answer: %v", got)
		}
	})
}

func TestCulpritIsFoundByHalving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusal := errors.New("a zero byte")
		b := newBench(store.Info{}, func(turns []store.Turn) (store.Result, error) {
			if slices.ContainsFunc(turns, func(t store.Turn) bool { return t.Run == "bad" }) {
				return store.Result{}, refusal
			}
			return durable(turns), nil
		})
		got := b.commitAll(turn("a"), turn("b"), turn("bad"), turn("c"))
		for i, err := range got {
			if (i == 2) != errors.Is(err, refusal) {
				t.Errorf("the result of turn %d is %v", i, err)
			}
		}
		b.demandCommits(t, "a b bad c", "a b", "bad c", "bad", "c")
	})
}

func TestBlockedTurnHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until := time.Now().Add(8 * time.Second)
		b := newBench(store.Info{}, func(turns []store.Turn) (store.Result, error) {
			r := durable(turns)
			for i := range turns {
				if turns[i].Run == "blocked" && time.Now().Before(until) {
					r.Errors[i] = errGone
				}
			}
			return r, nil
		})
		var running sync.WaitGroup
		running.Go(b.Run)
		blocked := make(chan error, 1)
		go func() { blocked <- b.Commit(turn("blocked")) }()
		synctest.Wait()
		began := time.Now()
		if err := b.Commit(turn("a")); err != nil || time.Since(began) > 0 {
			t.Errorf("another turn got %v after %s", err, time.Since(began))
		}
		if err := <-blocked; err != nil || time.Now().Before(until) || time.Since(until) > lastBlockedPause {
			t.Errorf("the blocked turn got %v, %s after it could be committed", err, time.Since(until))
		}
		if n := strings.Count(b.log.String(), "commit_blocked"); n != 1 {
			t.Errorf("it was warned of %d times", n)
		}
		b.stop(errors.New("the test is over"))
		running.Wait()
	})
}

func TestSlowHooksLeaveTheRestToTheNextGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(store.Info{}, func(turns []store.Turn) (store.Result, error) {
			r := durable(turns)
			for i := range turns {
				if turns[i].Hook != nil {
					r.Errors[i] = turns[i].Hook(nil)
				}
			}
			return r, nil
		})
		hooked := func(run string, d time.Duration) store.Turn {
			return store.Turn{Run: run, Hook: func(any) error { time.Sleep(d); return nil }}
		}
		for i, err := range b.commitAll(hooked("a", time.Second), turn("b"), hooked("c", time.Second), hooked("d", 0)) {
			if err != nil {
				t.Errorf("turn %d got %v", i, err)
			}
		}
		b.demandCommits(t, "a b c d", "c d", "d")
	})
}

func TestLoneHooksAreCommittedByThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(store.Info{LoneHooks: 1}, func(turns []store.Turn) (store.Result, error) { return durable(turns), nil })
		b.commitAll(turn("a"), store.Turn{Run: "hooked", Hook: func(any) error { return nil }}, turn("b"))
		b.demandCommits(t, "hooked", "a b")
	})
}

func TestSlowCommitIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(store.Info{}, func(turns []store.Turn) (store.Result, error) {
			time.Sleep(slowCommit + time.Second)
			return durable(turns), nil
		})
		b.commitAll(turn("a"))
		if away, back := b.outages(); away != 1 || back != 1 {
			t.Errorf("the database was away %d times and back %d times", away, back)
		}
	})
}

func TestEndOfTheCommitterEndsCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(store.Info{}, func([]store.Turn) (store.Result, error) { return store.Result{}, errGone })
		over := errors.New("the engine is over")
		go func() { time.Sleep(time.Minute); b.stop(over) }()
		var running sync.WaitGroup
		running.Go(b.Run)
		if err := b.Commit(turn("a")); err != over {
			t.Errorf("the result is %v", err)
		}
		running.Wait()
	})
}

// TestEachTurnIsCommittedOnce by many at a time, who use what carries a turn after each other. The
// race detector sees a carrier that is cleared after it was given on.
func TestEachTurnIsCommittedOnce(t *testing.T) {
	const committers, turns = 16, 500
	b := newBench(store.Info{}, func(turns []store.Turn) (store.Result, error) { return durable(turns), nil })
	var running, all sync.WaitGroup
	running.Go(b.Run)
	for i := range committers {
		all.Go(func() {
			for n := range turns {
				if err := b.Commit(turn(fmt.Sprintf("%d/%d", i, n))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	b.stop(errors.New("the test is over"))
	running.Wait()
	times := map[string]int{}
	for _, group := range b.store.commits {
		for _, run := range strings.Fields(group) {
			times[run]++
		}
	}
	for run, n := range times {
		if n != 1 {
			t.Errorf("turn %q was committed %d times", run, n)
		}
	}
	if len(times) != committers*turns {
		t.Errorf("%d of %d turns were committed", len(times), committers*turns)
	}
}
