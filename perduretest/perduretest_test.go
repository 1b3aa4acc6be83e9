package perduretest_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/workflow"
)

var sleeper = workflow.New("sleeper", func(wf *workflow.Context, d time.Duration) (time.Duration, error) {
	began := workflow.Now(wf)
	err := workflow.Sleep(wf, d)
	return workflow.Now(wf).Sub(began), err
})

// waiter waits for its activity, which ends when its context does.
func blocked(ctx context.Context, _ string) (string, error) {
	<-ctx.Done()
	return "", context.Cause(ctx)
}

var block = activity.New("block", blocked)

var blocker = workflow.New("blocker", func(wf *workflow.Context, in string) (string, error) {
	return workflow.Call(wf, block, in)
})

func TestAYearPassesAtOnce(t *testing.T) {
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		env.Register(sleeper)
		year := 365 * 24 * time.Hour
		began := time.Now()
		slept, err := perduretest.Run(env, sleeper, "s", year)
		if slept != year || err != nil || time.Since(began) != year {
			t.Errorf("slept %s, %v; %s passed", slept, err, time.Since(began))
		}
	})
}

func TestRunsAreEvictedAfterEveryTurnUnlessResident(t *testing.T) {
	for name, options := range map[string][]perduretest.Option{"evicted": nil, "resident": {perduretest.Resident()}} {
		t.Run(name, func(t *testing.T) {
			perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
				entered := 0
				env.Register(workflow.New("counter", func(wf *workflow.Context, in string) (string, error) {
					entered++
					return in, workflow.Sleep(wf, time.Second)
				}))
				counter := workflow.Declare[string, string]("counter")
				if _, err := perduretest.Run(env, counter, "c", ""); err != nil {
					t.Fatal(err)
				}
				if want := map[string]int{"evicted": 2, "resident": 1}[name]; entered != want {
					t.Errorf("the code was entered %d times, want %d", entered, want)
				}
			}, options...)
		})
	}
}

func TestCrashLosesTheAttemptAndGoesOn(t *testing.T) {
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		lives := 0
		env.Register(blocker, block.Impl(func(ctx context.Context, in string) (string, error) {
			if lives++; lives == 1 {
				return blocked(ctx, in)
			}
			return in, nil
		}))
		h, err := perduretest.Start(env, blocker, "b", "done")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		first := env.Engine()
		env.Crash()
		if env.Engine() == first || first.Health() == nil {
			t.Error("the engine survived its crash")
		}
		out, err := h.Result()
		if out != "done" || err != nil {
			t.Errorf("got %q, %v", out, err)
		}
		a := env.Workflow("b").Attempts()
		if len(a) != 2 || a[0].Outcome != "lost" || a[1].Outcome != "completed" || a[0].Node == "" || a[0].Node == a[1].Node {
			t.Errorf("the ledger says %+v", a)
		}
		if env.Crashes() != 1 {
			t.Errorf("%d crashes", env.Crashes())
		}
	})
}

func TestDowntimePasses(t *testing.T) {
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		env.Register(sleeper)
		h, err := perduretest.Start(env, sleeper, "s", 90*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		env.Crash()
		if passed := time.Since(began); passed != time.Hour {
			t.Errorf("the next engine was there after %s", passed)
		}
		if slept, err := h.Result(); slept != 90*time.Minute || err != nil {
			t.Errorf("slept %s, %v: the timer must keep its due time", slept, err)
		}
	}, perduretest.Downtime(time.Hour))
}

func TestRestartDeploysNewCodeAndChargesNothing(t *testing.T) {
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		env.Register(blocker, block)
		h, err := perduretest.Start(env, blocker, "b", "done")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		env.Register(block.Impl(func(_ context.Context, in string) (string, error) { return in, nil }))
		env.Restart()
		out, err := h.Result()
		a := env.Workflow("b").Attempts()
		if out != "done" || err != nil || env.Crashes() != 0 || len(a) != 2 || a[0].Outcome != "drained" {
			t.Errorf("got %q, %v after %d crashes; attempts %+v", out, err, env.Crashes(), a)
		}
	})
}

func TestEveryWriteMeetsEveryWrite(t *testing.T) {
	for _, fault := range []perduretest.Fault{perduretest.CrashBefore, perduretest.FailAfter} {
		t.Run(fault.String(), func(t *testing.T) {
			var writes, crashes []int
			perduretest.EveryWrite(t, fault, func(t *testing.T, env *perduretest.Env) {
				env.Register(sleeper)
				if _, err := perduretest.Run(env, sleeper, "s", time.Hour); err != nil {
					t.Error(err)
				}
				t.Cleanup(func() { writes, crashes = append(writes, env.Writes()), append(crashes, env.Crashes()) })
			})
			// Join, Claim, two turns; Leave comes after the cleanups. The last run
			// meets no fault, and the one before meets it when it leaves.
			n := len(writes)
			if n != 6 || writes[n-1] != 4 {
				t.Fatalf("the runs made these numbers of writes: %v", writes)
			}
			if fault == perduretest.CrashBefore && !slices.Equal(crashes, []int{1, 1, 1, 1, 0, 0}) {
				t.Errorf("crashes: %v", crashes)
			}
		})
	}
}

func TestFaultsCountOverAllLives(t *testing.T) {
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		env.Register(sleeper)
		env.At(3, perduretest.CrashAfter)
		env.At(5, perduretest.CrashBefore) // the Claim of the second life
		env.At(9, perduretest.Slow(time.Minute), perduretest.FailAfter)
		began := time.Now()
		if _, err := perduretest.Run(env, sleeper, "s", time.Hour); err != nil {
			t.Error(err)
		}
		if env.Crashes() != 2 {
			t.Errorf("%d crashes, want 2", env.Crashes())
		}
		if passed := time.Since(began); passed < time.Hour+time.Minute {
			t.Errorf("%s passed: the slow write did not take its time", passed)
		}
	})
}

func TestOutageIsVisibleAndPasses(t *testing.T) {
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		env.Register(sleeper)
		h, err := perduretest.Start(env, sleeper, "s", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		eng := env.Engine()
		env.Outage(5 * time.Minute)
		time.Sleep(4 * time.Minute)
		if err := eng.Health(); !store.Unavailable(err) {
			t.Errorf("in the outage the engine says %v", err)
		}
		if slept, err := h.Result(); err != nil || slept < 5*time.Minute {
			t.Errorf("slept %s, %v", slept, err)
		}
		if err := eng.Health(); err != nil || env.Crashes() > 0 {
			t.Errorf("after the outage the engine says %v, %d crashes", err, env.Crashes())
		}
		env.Outage(5 * time.Minute)
		began := time.Now()
		if _, err := perduretest.Run(env, sleeper, "t", 0); err != nil || time.Since(began) < 5*time.Minute {
			t.Errorf("a start in an outage: %v after %s", err, time.Since(began))
		}
	})
}

var flaky = activity.New("flaky", func(context.Context, string) (string, error) { return "", errors.New("no") },
	activity.Retry(retry.Policy{MaxAttempts: 4}))

var unlucky = workflow.New("unlucky", func(wf *workflow.Context, in string) (string, error) {
	return workflow.Call(wf, flaky, in)
})

func TestSeedDecidesTheJitter(t *testing.T) {
	took := func(seed uint64) (d time.Duration) {
		perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
			env.Register(unlucky, flaky)
			began := time.Now()
			var exhausted *retry.ExhaustedError
			if _, err := perduretest.Run(env, unlucky, "u", ""); !errors.As(err, &exhausted) {
				t.Errorf("got %v", err)
			}
			d = time.Since(began)
		}, perduretest.Seed(seed))
		return d
	}
	one, again, two := took(1), took(1), took(2)
	if one != again || one == two {
		t.Errorf("seed 1 took %s and %s, seed 2 took %s", one, again, two)
	}
}

func TestAStuckRunIsExplained(t *testing.T) {
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		env.Register(blocker, block)
		_, err := perduretest.Run(env, blocker, "b", "")
		if err == nil {
			t.Fatal("the run ended")
		}
		for _, part := range []string{"stuck", "24h0m0s", `activity "block" is running, attempt 1`} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("the error does not say %q: %v", part, err)
			}
		}
	}, perduretest.Patience(24*time.Hour))
}

func TestMessagesArriveOnceThroughCrashes(t *testing.T) {
	add := workflow.NewSignal[int]("add")
	sum := workflow.New("sum", func(wf *workflow.Context, n int) (total int, err error) {
		for range n {
			v, err := workflow.Receive(wf, add)
			if err != nil {
				return total, err
			}
			total += v
		}
		_, err = workflow.Receive(wf, add)
		return total, err
	})
	for _, fault := range []perduretest.Fault{perduretest.CrashAfter, perduretest.FailAfter, perduretest.Outage(time.Minute)} {
		t.Run(fault.String(), func(t *testing.T) {
			perduretest.EveryWrite(t, fault, func(t *testing.T, env *perduretest.Env) {
				env.Register(sum)
				h, err := perduretest.Start(env, sum, "s", 2)
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range []int{1, 10} {
					if err := add.Send(t.Context(), env.Workflow("s"), v); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Hour)
				if err := env.Workflow("s").Cancel("enough"); err != nil {
					t.Fatal(err)
				}
				var failed *perdure.RunError
				if _, err := h.Result(); !errors.As(err, &failed) || failed.Status != "canceled" {
					t.Errorf("got %v, want a canceled run", err)
				}
				received := 0
				for _, ev := range env.Workflow("s").History() {
					if ev.Kind == "SignalReceived" {
						received++
					}
				}
				if received != 2 {
					t.Errorf("%d signals are on record, want 2", received)
				}
			})
		})
	}
}

func TestTerminateEndsAtOnce(t *testing.T) {
	perduretest.EveryWrite(t, perduretest.FailAfter, func(t *testing.T, env *perduretest.Env) {
		env.Register(sleeper)
		h, err := perduretest.Start(env, sleeper, "s", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if err := env.Workflow("s").Terminate("no use"); err != nil {
			t.Fatal(err)
		}
		var failed *perdure.RunError
		if _, err := h.Result(); !errors.As(err, &failed) || failed.Status != "terminated" || env.Workflow("s").Describe().Reason != "no use" {
			t.Errorf("got %v, want a terminated run", err)
		}
	})
}

func TestSQLiteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		env.Register(sleeper)
		h, err := perduretest.Start(env, sleeper, "s", 30*24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		env.Crash()
		if _, err := h.Result(); err != nil {
			t.Error(err)
		}
		if got := env.Engine().Location(); filepath.Base(got) != "test.db" {
			t.Errorf("the engine runs on %s", got)
		}
	}, perduretest.Store(func() store.Opener { return sqlite.File(path, sqlite.Exclusive()) }))
}

// keeper is a database with a goroutine that ends when it is closed, and not
// when its stores are.
type keeper struct {
	*memory.Database
	end  chan struct{}
	open map[store.Store]bool
	left int // stores that were open when it was closed; -1 before that
}

type keptStore struct {
	store.Store
	keeper *keeper
}

func (k *keeper) Open(ctx context.Context) (store.Store, error) {
	if k.open == nil {
		k.open = map[store.Store]bool{}
		go func() { <-k.end }()
	}
	s, err := k.Database.Open(ctx)
	k.open[s] = true
	return keptStore{s, k}, err
}

func (s keptStore) Close() error {
	delete(s.keeper.open, s.Store)
	return s.Store.Close()
}

func (k *keeper) Close() error {
	k.left = len(k.open)
	close(k.end)
	return nil
}

func TestADatabaseThatCanBeClosedIsClosedLast(t *testing.T) {
	var k *keeper
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		env.Engine()
		env.Crash()
		env.Restart()
	}, perduretest.Store(func() store.Opener {
		k = &keeper{Database: memory.New(), end: make(chan struct{}), left: -1}
		return k
	}))
	if k.left != 0 {
		t.Errorf("When the database was closed, %d stores were open (-1: it was not closed).", k.left)
	}
}

func TestGoroutinesOfTheTestMayEndLate(t *testing.T) {
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		env.Register(blocker, block.Impl(func(ctx context.Context, in string) (string, error) {
			time.Sleep(time.Minute) // does not look at its context
			return in, nil
		}))
		if _, err := perduretest.Start(env, blocker, "b", ""); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
	})
}

func TestEngineOptionsAreHeeded(t *testing.T) {
	db := memory.New(memory.Partitions(3))
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		env.Register(blocker, block.Impl(func(ctx context.Context, in string) (string, error) { return in, nil }))
		env.At(4, perduretest.CrashAfter)
		if _, err := perduretest.Run(env, blocker, "b", ""); err != nil {
			t.Fatal(err)
		}
		for _, a := range env.Workflow("b").Attempts() {
			if !strings.HasPrefix(a.Node, "my node") {
				t.Errorf("attempt %d ran on %q", a.Number, a.Node)
			}
		}
	}, perduretest.Engine(perdure.NodeName("my node")), perduretest.Store(func() store.Opener { return db }))
}
