package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// What the engine reads from the database it reads in pages. These tests have
// more than a page of everything.

// TestI6_ManyDueAtOnce: thousands of timers and retries that are due at the same moment, or
// nearly, all fire on time, even if no engine was running when they became due.
func TestI6_ManyDueAtOnce(t *testing.T) {
	needsNumbers.inBothModes(t, func(t *testing.T, w *world) {
		const runs = 1100
		var late atomic.Int64
		fails := activity.New("fails", func(ctx context.Context, _ int) (int, error) {
			if info, _ := activity.FromContext(ctx); info.Attempt == 1 {
				return 0, errors.New("no")
			}
			return 1, nil
		}, activity.Retry(retry.Policy{Backoff: retry.Fixed(time.Hour), Jitter: retry.NoJitter}))
		waits := workflow.New("waits", func(wf *workflow.Context, n int) (int, error) {
			due := workflow.Now(wf).Add(time.Hour)
			switch n % 3 {
			case 0: // all at the same nanosecond
				if err := workflow.Sleep(wf, time.Hour); err != nil {
					return 0, err
				}
			case 1: // one by one
				d := time.Hour + time.Duration(n)*time.Millisecond
				due = workflow.Now(wf).Add(d)
				if err := workflow.Sleep(wf, d); err != nil {
					return 0, err
				}
			default:
				if _, err := workflow.Call(wf, fails, 0); err != nil {
					return 0, err
				}
			}
			if now := workflow.Now(wf); !now.Equal(due) {
				late.Add(1)
			}
			return n, nil
		})
		e := w.start(waits, fails)
		for i := range runs {
			begin(t, e, waits, fmt.Sprint("on time ", i), i)
		}
		pass(2 * time.Hour)
		if n := late.Load(); n != 0 {
			t.Errorf("%d of %d were not on time", n, runs)
		}
		w.mustComplete(e, runs)

		for i := range runs {
			begin(t, e, waits, fmt.Sprint("too late ", i), i)
		}
		settle()
		w.kill(e)
		time.Sleep(2 * time.Hour)
		e = w.start(waits, fails)
		pass(time.Minute)
		w.mustComplete(e, 2*runs)
	})
}

// mustComplete checks that there are that many runs and all of them completed.
func (w *world) mustComplete(e *engine.Engine, runs int) {
	w.t.Helper()
	counts, err := e.Counts(w.t.Context(), 0)
	if err != nil {
		w.t.Fatal(err)
	}
	if counts.Runs["completed"] != runs || len(counts.Runs) != 1 || len(counts.Calls) != 0 {
		w.t.Errorf("there are %+v, want %d completed runs and nothing else", counts, runs)
	}
}

// TestE40_ManySignals: more signals than a page, sent while nobody served the
// database, are read completely and in order.
func TestE40_ManySignals(t *testing.T) {
	needsNumbers.inBothModes(t, func(t *testing.T, w *world) {
		const signals = 1700
		number := workflow.NewSignal[int]("number")
		collect := workflow.New("collect", func(wf *workflow.Context, _ int) ([]int, error) {
			var got []int
			for range signals {
				n, err := workflow.Receive(wf, number)
				if err != nil {
					return nil, err
				}
				got = append(got, n)
			}
			return got, nil
		})
		client := w.open(w.config())
		begin(t, client, collect, "run", 0)
		var want []int
		for i := range signals {
			signal(t, client, "run", number.Name(), fmt.Sprint(i), i)
			want = append(want, i)
			if i == 900 {
				e := w.start(collect)
				settle()
				w.kill(e)
			}
		}
		e := w.start(collect)
		if got, err := finish[[]int](t, e, "run"); !slices.Equal(got, want) || err != nil {
			t.Errorf("got %d signals, %v: %v", len(got), err, got)
		}
	})
}

// TestE10_ManyHeldRuns: more held runs than a page go on when their code is back.
func TestE10_ManyHeldRuns(t *testing.T) {
	needsNumbers.inBothModes(t, func(t *testing.T, w *world) {
		const runs = 1200
		gone := workflow.New("gone", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, reserve, n) })
		client := w.open(w.config())
		for i := range runs {
			begin(t, client, gone, fmt.Sprint(i), i)
		}
		e := w.start(reserve)
		settle()
		if counts, err := e.Counts(t.Context(), 0); err != nil || counts.Runs["waiting-for-code"] != runs {
			t.Errorf("there are %+v, %v", counts, err)
		}
		stop(t, e)
		e = w.start(reserve, gone)
		settle()
		w.mustComplete(e, runs)
	})
}

// TestManyPartitions: the same engine over a database of several partitions.
func TestManyPartitions(t *testing.T) {
	inBothModesShared(t, 16, func(t *testing.T, w *world) {
		chain, step, _ := chain()
		e := w.start(chain, step)
		const runs = 60
		for i := range runs {
			begin(t, e, chain, fmt.Sprint(i), fmt.Sprint(i))
		}
		pass(10 * time.Second)
		w.kill(e)
		e = w.start(chain, step)
		for i := range runs {
			if got, err := finish[string](t, e, fmt.Sprint(i)); got != fmt.Sprintf("%d a.%d b!.%d c.", i, i, i) || err != nil {
				t.Errorf("run %d: %q, %v", i, got, err)
			}
		}
		w.mustComplete(e, runs)
		if err := e.Health(); err != nil {
			t.Error(err)
		}
	})
}

// TestEngineTime: time is that of the database, whatever the clock of the node
// says, and goes on from its highest mark when the database's clock is set back.
func TestEngineTime(t *testing.T) {
	extent.NotInShort(t, "many days")
	for name, skew := range map[string]time.Duration{"ahead": 72 * time.Hour, "behind": -72 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			needsClocks.inVirtualTime(t, func(t *testing.T, w *world) {
				nap := workflow.New("nap", func(wf *workflow.Context, d time.Duration) (time.Time, error) {
					err := workflow.Sleep(wf, d)
					return workflow.Now(wf).UTC(), err
				})
				e := w.start(nap)
				began := time.Now()
				begin(t, e, nap, "before", time.Hour)
				begin(t, e, nap, "long", 100*time.Hour)
				pass(10 * time.Minute)
				w.kill(e)
				w.ahead.Store(int64(skew))
				e = w.start(nap)
				// Set ahead, the clock says that the hour is over. Set back, it says that
				// there are three days left; but engine time does not go back: it goes on
				// from the highest mark on record, which is that of the last write.
				if _, err := finish[time.Time](t, e, "before"); err != nil {
					t.Fatal(err)
				}
				again := 10 * time.Minute
				want := time.Hour + again
				if skew > 0 {
					want = 10 * time.Minute
				}
				if took := time.Since(began); took != want {
					t.Errorf("it took %s, want %s", took, want)
				}
				// A new timer takes its time either way.
				slept := time.Now()
				woke := complete(t, e, nap, "after", time.Hour)
				if took := time.Since(slept); took != time.Hour {
					t.Errorf("the new one took %s, want 1h", took)
				}
				if engineTime := woke.Sub(began); skew > 0 && engineTime < skew {
					t.Errorf("engine time is %s after the beginning, the database's clock was set ahead by %s", engineTime, skew)
				}
				if _, err := finish[time.Time](t, e, "long"); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); skew < 0 && took != 100*time.Hour+again || skew > 0 && took != 28*time.Hour {
					t.Errorf("the long one took %s", took)
				}
			})
		})
	}
}
