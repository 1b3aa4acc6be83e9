package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// shopper makes steps with effects in a table of the user's own.
type shopper struct {
	*world
	book *book
	seen []string // the table, as the last audit saw it
}

func newShopper(w *world) *shopper { return &shopper{world: w, book: newBook()} }

// buys is a workflow that calls the activity and, whatever comes of that, audits
// the table.
func (s *shopper) buys(a activity.Activity[int, int], opts ...activity.Option) workflow.Workflow[int, int] {
	return workflow.New("buys", func(wf *workflow.Context, n int) (int, error) {
		out, err := workflow.Call(wf, a, n, opts...)
		s.audit(wf)
		return out, err
	})
}

// audit is an inline step that reads the run's effects.
func (s *shopper) audit(wf *workflow.Context) {
	_, _ = workflow.Do(wf, "audit", func(ctx context.Context) (int, error) {
		return 0, activity.OnCommit(ctx, func(ctx context.Context, tx any) (err error) {
			if err = s.book.effect("audit")(ctx, tx); err == nil {
				s.seen, err = allEffects(ctx, tx)
			}
			return err
		})
	})
}

// sees demands that the last audit saw these effects, besides its own.
func (s *shopper) sees(want ...string) {
	s.t.Helper()
	if want = append(want, "audit"); !slices.Equal(s.seen, want) {
		s.t.Errorf("the table has %q, want %q", s.seen, want)
	}
}

// soon is a policy of so many attempts without waits between them.
func soon(attempts int) activity.Option {
	return activity.Retry(retry.Policy{MaxAttempts: attempts, Backoff: retry.None})
}

// TestE27_FailuresLeaveNothingAndAreJudgedByThePolicy: each way to fail is the
// failure of the attempt, with its own type, and undoes what the transaction did.
func TestE27_FailuresLeaveNothingAndAreJudgedByThePolicy(t *testing.T) {
	needsHooks.inBothModes(t, func(t *testing.T, w *world) {
		s := newShopper(w)
		var stop context.Context
		ways := []struct {
			name string
			fail func(ctx context.Context) error
			typ  string
		}{
			{"error", func(context.Context) error { return errRefused }, "crash_test.refused"},
			{"panic", func(context.Context) error { panic("ouch") }, retry.TypePanic},
			{"goexit", func(context.Context) error { runtime.Goexit(); return nil }, retry.TypeError},
			{"slow", func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }, retry.TypeDeadlineExceeded},
			{"deaf", func(context.Context) error { <-stop.Done(); return nil }, retry.TypeDeadlineExceeded},
		}
		bodies := 0
		reserve := activity.New("reserve", func(ctx context.Context, n int) (int, error) {
			bodies++
			return n + 1, activity.OnCommit(ctx, func(ctx context.Context, tx any) error {
				info, _ := activity.FromContext(ctx)
				if err := s.book.effect(fmt.Sprint("attempt ", info.Attempt))(ctx, tx); err != nil {
					return err
				}
				if info.Attempt > 2 {
					return nil
				}
				forget(ctx, tx)
				return ways[n].fail(ctx)
			})
		}, soon(3))
		flow := s.buys(reserve)
		e := w.start(flow, reserve)
		for n, way := range ways {
			bodies = 0
			var cancel context.CancelFunc
			stop, cancel = context.WithCancel(context.Background())
			if got := complete(t, e, flow, way.name, n); got != n+1 || bodies != 3 {
				t.Errorf("%s: %d after %d runs of the body", way.name, got, bodies)
			}
			cancel()
			settle()
			s.sees("attempt 3")
			want := fmt.Sprintf("1.1 failed immediate %s, 1.2 failed immediate %[1]s, 1.3 completed succeeded, 2.1 completed succeeded", way.typ)
			if got := outcomes(t, e, way.name); got != want {
				t.Errorf("%s: the attempts are\n%s, want\n%s", way.name, got, want)
			}
			for _, a := range attemptsOf(t, e, way.name)[:2] {
				if !strings.HasPrefix(a.Message, "step transaction: ") || (a.Stack != "") != (way.name == "panic") {
					t.Errorf("%s: %q %q", way.name, a.Message, a.Stack)
				}
			}
		}
		if holds := engine.Holds(e); holds != "" {
			t.Errorf("in the end the engine holds %s", holds)
		}
	})
}

// TestE27_TerminalFailureOfATransaction reaches the workflow as the same error.
func TestE27_TerminalFailureOfATransaction(t *testing.T) {
	needsHooks.inBothModes(t, func(t *testing.T, w *world) {
		s := newShopper(w)
		reserve := activity.New("reserve", func(ctx context.Context, n int) (int, error) {
			return n, activity.OnCommit(ctx, func(ctx context.Context, tx any) error {
				err := s.book.effect("never")(ctx, tx)
				forget(ctx, tx)
				return errors.Join(err, retry.Terminal(errRefused))
			})
		}, soon(5))
		flow := s.buys(reserve)
		e := w.start(flow, reserve)
		begin(t, e, flow, "run", 1)
		if _, err := finish[int](t, e, "run"); !errors.Is(err, errRefused) || !retry.IsTerminal(err) {
			t.Errorf("got %v", err)
		}
		s.sees()
	})
}

// TestE24_E27_HeartbeatsOfAnAttemptWhoseTransactionFailed reach the next one.
func TestE24_E27_HeartbeatsOfAnAttemptWhoseTransactionFailed(t *testing.T) {
	needsHooks.inBothModes(t, func(t *testing.T, w *world) {
		reserve := activity.New("reserve", func(ctx context.Context, n int) (int, error) {
			at, told, err := activity.Details[int](ctx)
			if told || err != nil {
				return at, err
			}
			if err := activity.Heartbeat(ctx, 42); err != nil {
				return 0, err
			}
			return n, activity.OnCommit(ctx, func(context.Context, any) error { return errRefused })
		}, soon(2))
		flow := workflow.New("flow", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, reserve, n) })
		if got := complete(t, w.start(flow, reserve), flow, "run", 1); got != 42 {
			t.Errorf("the second attempt was told %d", got)
		}
	})
}

// TestE27_OnlyTheAttemptThatCountsCommits: what is late, unwanted or failed takes
// its transaction with it.
func TestE27_OnlyTheAttemptThatCountsCommits(t *testing.T) {
	needsHooks.inBothModes(t, func(t *testing.T, w *world) {
		s := newShopper(w)
		reserve := activity.New("reserve", func(ctx context.Context, n int) (int, error) {
			info, _ := activity.FromContext(ctx)
			if err := activity.OnCommit(ctx, s.book.effect(fmt.Sprint("attempt ", info.Attempt))); err != nil {
				return 0, err
			}
			switch info.Attempt {
			case 1:
				time.Sleep(10 * time.Second) // its timeout is one second
			case 2:
				return 0, errRefused
			}
			return n, nil
		})
		policy := retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(time.Minute), AttemptTimeout: time.Second}
		flow := s.buys(reserve, activity.Retry(policy))
		slow := activity.New("slow", func(ctx context.Context, n int) (int, error) {
			time.Sleep(10 * time.Second)
			return n, activity.OnCommit(ctx, s.book.effect("of the loser"))
		})
		loses := workflow.New("loses", func(wf *workflow.Context, n int) (int, error) {
			winner := workflow.Select(wf, workflow.Async(wf, slow, n), workflow.NewTimer(wf, time.Second))
			err := workflow.Sleep(wf, time.Minute)
			s.audit(wf)
			return winner, err
		})
		e := w.start(flow, loses, reserve, slow)
		complete(t, e, flow, "retried", 1)
		s.sees("attempt 3")
		if winner := complete(t, e, loses, "lost", 1); winner != 1 {
			t.Errorf("%d won", winner)
		}
		s.sees()
	})
}

// TestE27_TransactionsOfOneMoment: attempts of one run that end together fail and
// succeed each by itself.
func TestE27_TransactionsOfOneMoment(t *testing.T) {
	needsHooks.inBothModes(t, func(t *testing.T, w *world) {
		s := newShopper(w)
		reserve := activity.New("reserve", func(ctx context.Context, n int) (int, error) {
			time.Sleep(time.Second)
			return n, activity.OnCommit(ctx, func(ctx context.Context, tx any) error {
				info, _ := activity.FromContext(ctx)
				if n%2 == 1 && info.Attempt == 1 {
					return errRefused
				}
				return s.book.effect(fmt.Sprint(n, " by attempt ", info.Attempt))(ctx, tx)
			})
		}, soon(2))
		flow := workflow.New("flow", func(wf *workflow.Context, n int) (int, error) {
			all, err := workflow.Map(wf, []int{0, 1, 2, 3, 4, 5}, func(wf *workflow.Context, n int) (int, error) {
				return workflow.Call(wf, reserve, n)
			})
			s.audit(wf)
			return len(all), err
		})
		e := w.start(flow, reserve)
		complete(t, e, flow, "run", 0)
		slices.Sort(s.seen)
		s.sees("0 by attempt 1", "1 by attempt 2", "2 by attempt 1", "3 by attempt 2", "4 by attempt 1", "5 by attempt 2")
	})
}

// TestE27_NoTransactionIsOpenWhileABodyRunsOrBacksOff: others write the same row
// meanwhile, on databases where a transaction would keep them from it.
func TestE27_NoTransactionIsOpenWhileABodyRunsOrBacksOff(t *testing.T) {
	needsHooks.inBothModes(t, func(t *testing.T, w *world) {
		s := newShopper(w)
		quick := activity.New("quick", func(ctx context.Context, n int) (int, error) {
			return n, activity.OnCommit(ctx, s.book.effect("quick"))
		})
		buys := s.buys(quick)
		slow := activity.New("slow", func(ctx context.Context, n int) (int, error) {
			if err := activity.OnCommit(ctx, s.book.effect("slow")); err != nil {
				return 0, err
			}
			time.Sleep(time.Hour)
			if info, _ := activity.FromContext(ctx); info.Attempt == 1 {
				return 0, errRefused
			}
			return n, nil
		}, activity.Retry(retry.Policy{MaxAttempts: 2, Backoff: retry.Fixed(time.Hour), Jitter: retry.NoJitter}))
		waits := workflow.New("waits", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, slow, n) })
		e := w.start(buys, waits, quick, slow)
		began := time.Now()
		begin(t, e, waits, "slow", 1)
		for i := range 3 { // while it runs, backs off, and runs again
			pass(time.Minute)
			complete(t, e, buys, fmt.Sprint(i), i)
			s.sees("quick")
			pass(time.Hour)
		}
		if _, err := finish[int](t, e, "slow"); err != nil || time.Since(began) < 3*time.Hour {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}

// TestE27_I9_SlowTransactionsDoNotAddUpForOthers: many that are slow at a moment
// keep a run that has none waiting for one of them at a time.
func TestE27_I9_SlowTransactionsDoNotAddUpForOthers(t *testing.T) {
	needsHooks.inVirtualTime(t, func(t *testing.T, w *world) {
		s := newShopper(w)
		ran := 0
		slow := activity.New("slow", func(ctx context.Context, n int) (int, error) {
			time.Sleep(time.Second)
			return n, activity.OnCommit(ctx, func(ctx context.Context, tx any) error {
				ran++
				time.Sleep(time.Second)
				return s.book.effect("slow")(ctx, tx)
			})
		})
		buys := s.buys(slow)
		quick := activity.New("quick", func(context.Context, int) (int, error) { return 1, nil })
		plain := workflow.New("plain", func(wf *workflow.Context, n int) (int, error) {
			for range 5 {
				if _, err := workflow.Call(wf, quick, n); err != nil {
					return 0, err
				}
			}
			return n, nil
		})
		e := w.start(buys, plain, slow, quick)
		const runs = 20
		for i := range runs {
			begin(t, e, buys, fmt.Sprint(i), i)
		}
		pass(1100 * time.Millisecond) // the first transaction has begun
		began := time.Now()
		complete(t, e, plain, "plain", 1)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("a run without transactions took %s", took)
		}
		for i := range runs {
			if got, err := finish[int](t, e, fmt.Sprint(i)); got != i || err != nil {
				t.Errorf("run %d: %d, %v", i, got, err)
			}
			if n := len(attemptsOf(t, e, fmt.Sprint(i))); n != 2 { // with that of the audit
				t.Errorf("run %d has %d attempts: a transaction that waits has not failed: %s %v", i, n, outcomes(t, e, fmt.Sprint(i)), attemptsOf(t, e, fmt.Sprint(i)))
			}
		}
		if ran != runs {
			t.Errorf("%d functions ran, want %d", ran, runs)
		}
	})
}

// fencing counts the turns with step transactions that are refused because another
// node owns their partition.
type fencing struct {
	store.Opener
	refused *atomic.Int32
}

func (f fencing) Open(ctx context.Context) (store.Store, error) {
	inner, err := f.Opener.Open(ctx)
	return fenced{inner, f.refused}, err
}

type fenced struct {
	store.Store
	refused *atomic.Int32
}

func (f fenced) Commit(ctx context.Context, turns []store.Turn) (store.Result, error) {
	result, err := f.Store.Commit(ctx, turns)
	for i, refusal := range result.Errors {
		if turns[i].Hook != nil && errors.Is(refusal, store.ErrFenced) {
			f.refused.Add(1)
		}
	}
	return result, err
}

// TestE7_E27_AStepTransactionUnderAnOldEpochLeavesNothing: the body has succeeded on
// a node that cannot reach the database, which another node takes over. What the
// first one sends when it is back is refused with its transaction.
func TestE7_E27_AStepTransactionUnderAnOldEpochLeavesNothing(t *testing.T) {
	needsHooks.inAGroup(t, func(t *testing.T, w *world) {
		s := newShopper(w)
		var refused atomic.Int32
		w.db = fencing{w.db, &refused}
		var late sync.Map // what each run's audit saw, long after everything
		node := func(name string) *engine.Engine {
			reserve := activity.New("reserve", func(ctx context.Context, n int) (int, error) {
				time.Sleep(3 * time.Second)
				return n, activity.OnCommit(ctx, s.book.effect("on "+name))
			})
			flow := workflow.New("buys", func(wf *workflow.Context, n int) (int, error) {
				out, err := workflow.Call(wf, reserve, n)
				if err == nil {
					err = workflow.Sleep(wf, 5*time.Minute)
				}
				_, _ = workflow.Do(wf, "audit", func(ctx context.Context) (int, error) {
					return 0, activity.OnCommit(ctx, func(ctx context.Context, tx any) error {
						seen, err := allEffects(ctx, tx)
						late.Store(n, seen)
						return err
					})
				})
				return out, err
			})
			return w.node(name, flow, reserve)
		}
		a, b := node("a"), node("b")
		pass(5 * time.Second)
		w.wantShares(b, "a:8 b:8")
		const runs = 16
		for i := range runs {
			begin(t, b, workflow.Declare[int, int]("buys"), fmt.Sprint(i), i)
		}
		pass(time.Second) // all bodies run
		w.plans[a].Outage(true)
		pass(20 * time.Second)
		w.wantShares(b, "b:16")
		w.plans[a].Outage(false)
		lost := 0
		for i := range runs {
			if got, err := finish[int](t, b, fmt.Sprint(i)); got != i || err != nil {
				t.Errorf("run %d: %d, %v", i, got, err)
			}
			if strings.Contains(outcomes(t, b, fmt.Sprint(i)), "lost") {
				lost++
			}
			seen, _ := late.Load(i)
			if all, _ := seen.([]string); len(all) != 1 {
				t.Errorf("run %d: the table has %q", i, all)
			}
		}
		if lost == 0 {
			t.Error("node a had no run")
		}
		if refused.Load() == 0 {
			t.Error("nothing was refused")
		}
	})
}

// TestE27_AnotherDatabaseThanTheFunctionTakes: a run whose step takes a transaction that its
// database does not give is parked and not failed, and completes when the code is mended.
func TestE27_AnotherDatabaseThanTheFunctionTakes(t *testing.T) {
	needsHooks.inVirtualTime(t, func(t *testing.T, w *world) {
		alien := activity.New("alien", func(ctx context.Context, n int) (int, error) {
			return n, activity.OnCommit(ctx, func(context.Context, fmt.Stringer) error { return nil })
		})
		mended := activity.New("alien", func(ctx context.Context, n int) (int, error) {
			return n, activity.OnCommit(ctx, func(context.Context, any) error { return nil })
		})
		e := w.start(calls(alien), alien)
		begin(t, e, calls(alien), "r", 1)
		settle()
		d, err := e.Describe(t.Context(), "r", "")
		if why := fmt.Sprintf("%+v", d); err != nil || d.Status != view.StatusParked || !strings.Contains(why, "takes a fmt.Stringer") || !strings.Contains(why, "mend the code") {
			t.Fatalf("it is %s, %v", why, err)
		}
		w.kill(e)
		e = w.start(calls(mended), mended)
		if got, err := finish[int](t, e, "r"); got != 1 || err != nil {
			t.Errorf("with the code mended: %d, %v", got, err)
		}
	})
}

// TestE27_OneTransactionTypeOnBothDatabases: the same function, with a *sql.Tx, writes and
// reads on SQLite and PostgreSQL, and starts a run there.
func TestE27_OneTransactionTypeOnBothDatabases(t *testing.T) {
	withTransactions(t, func(t *testing.T, w *world) {
		var e *engine.Engine
		var run string
		note := activity.New("note", func(ctx context.Context, n int) (int, error) {
			return n, activity.OnCommit(ctx, func(ctx context.Context, tx *sql.Tx) error {
				if _, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS effects (run TEXT, what TEXT)`); err != nil {
					return err
				}
				info, _ := activity.FromContext(ctx)
				run = info.RunID
				if _, err := tx.ExecContext(ctx, `INSERT INTO effects (run, what) VALUES ($1, $2)`, run, "noted"); err != nil {
					return err
				}
				_, _, err := startIn(e, tx, "next", "begun, ")
				return errors.Join(err, signalIn(e, tx, "next", "poked"))
			})
		})
		e = w.start(calls(note), note, waits())
		begin(t, e, calls(note), "r", 3)
		if got, err := finish[int](t, e, "r"); got != 3 || err != nil {
			t.Fatal(got, err)
		}
		if got, err := finish[string](t, e, "next"); got != "begun, poked" || err != nil {
			t.Error(got, err)
		}
		err := e.Transact(t.Context(), func(ctx context.Context, tx any) error {
			typed, err := seal.TxAs[*sql.Tx](tx)
			if err != nil {
				return err
			}
			var notes int
			if err := typed.QueryRowContext(ctx, `SELECT count(*) FROM effects WHERE run = $1`, run).Scan(&notes); err != nil || notes != 1 {
				t.Errorf("%d effects, %v", notes, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}
