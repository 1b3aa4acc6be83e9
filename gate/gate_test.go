package gate_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/retry"
)

// never fails.
func succeed(context.Context) error { return nil }

// deserted checks that nothing is left at the gate.
func deserted(t *testing.T, gates ...*gate.Gate) {
	t.Helper()
	for _, g := range gates {
		if s := g.Stats(); s.Holders != 0 || g.Tickets() != 0 || g.HasTimer() {
			t.Errorf("gate %s is left with %+v, %d tickets, a timer: %v", g.Name(), s, g.Tickets(), g.HasTimer())
		}
	}
}

// acquire takes a slot that must be free.
func acquire(t *testing.T, g *gate.Gate) (release func()) {
	t.Helper()
	free, err := g.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := free(); err != nil {
			t.Error(err)
		}
	}
}

// journal notes in which order things happen.
type journal struct {
	mu    sync.Mutex
	lines []string
	began time.Time
}

func (j *journal) note(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

func (j *journal) expect(t *testing.T, want ...string) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if !slices.Equal(j.lines, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(j.lines, "\n"), strings.Join(want, "\n"))
	}
}

// failing notes its attempts with their times, and fails until the n-th.
func (j *journal) failing(name string, n int) func(context.Context) error {
	attempt := 0
	return func(context.Context) error {
		attempt++
		j.note("%s.%d at %s", name, attempt, time.Since(j.began))
		if attempt < n {
			return io.EOF
		}
		return nil
	}
}

func fixed(d time.Duration, attempts int) retry.Policy {
	return retry.Policy{MaxAttempts: attempts, Backoff: retry.Fixed(d), Jitter: retry.NoJitter}
}

// inTurn starts the functions one after the other, each when those before wait.
func inTurn(fns ...func()) *sync.WaitGroup {
	var wg sync.WaitGroup
	for _, f := range fns {
		wg.Go(f)
		synctest.Wait()
	}
	return &wg
}

func TestR40_TenThousandContendersKeepLimitAndOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, n = 7, 10_000
		g := gate.New("crowd", limit)
		var mu sync.Mutex
		var order []int
		inside := 0
		var calls []func()
		for i := range n {
			calls = append(calls, func() {
				err := retry.Do(t.Context(), retry.Policy{}, func(context.Context) error {
					mu.Lock()
					order = append(order, i)
					if inside++; inside > limit {
						t.Errorf("%d are inside", inside)
					}
					mu.Unlock()
					time.Sleep(time.Duration(i+1) * time.Millisecond) // no two end together
					mu.Lock()
					inside--
					mu.Unlock()
					return nil
				}, gate.Through(g))
				if err != nil {
					t.Error(err)
				}
			})
		}
		inTurn(calls...).Wait()
		if len(order) != n || !slices.IsSorted(order) {
			t.Errorf("%d were served, in order: %v", len(order), slices.IsSorted(order))
		}
		deserted(t, g)
	})
}

func TestR40_WhoLeavesTheQueueNeverCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate.New("one", 1)
		j := &journal{began: time.Now()}
		release := acquire(t, g)
		ctx, cancel := context.WithCancel(t.Context())
		call := func(name string, ctx context.Context, p retry.Policy) func() {
			return func() {
				err := retry.Do(ctx, p, j.failing(name, 1), gate.Through(g), retry.WithName(name))
				if err != nil { // the end of one that had the gate is at the moment when the next has it
					j.note("%s: %v", name, err)
				}
			}
		}
		wg := inTurn(
			call("a", t.Context(), retry.Policy{}),
			call("canceled", ctx, retry.Policy{}),
			call("late", t.Context(), retry.Policy{QueueTimeout: time.Second, MaxAttempts: 1}),
			call("b", t.Context(), retry.Policy{}),
		)
		cancel()
		synctest.Wait()
		time.Sleep(2 * time.Second)
		if s := g.Stats(); s.Depth != 2 || s.Holders != 1 || s.OldestWait != 2*time.Second {
			t.Errorf("%+v", s)
		}
		release()
		wg.Wait()
		j.expect(t,
			"canceled: canceled was canceled in attempt 1 (queue): context canceled",
			"late: late: gave up after 1 attempt (max attempts): timeout: the attempt did not start within 1s",
			"a.1 at 2s", "b.1 at 2s")
		deserted(t, g)
	})
}

func TestR40_ReleasingTwiceIsAnError(t *testing.T) {
	g := gate.New("one", 1)
	release, err := g.Acquire(t.Context())
	if err != nil || release() != nil {
		t.Fatal(err)
	}
	defer acquire(t, g)()
	if err := release(); err == nil || !strings.Contains(err.Error(), "given back already") {
		t.Errorf("got %v", err)
	}
	if s := g.Stats(); s.Holders != 1 {
		t.Errorf("a second slot: %+v", s)
	}
}

// TestR41_ModesInBackoff: a fails once and waits 3s, b and c came after it.
func TestR41_ModesInBackoff(t *testing.T) {
	for mode, want := range map[gate.Mode][]string{
		"":           {"a.1 at 0s", "a.2 at 3s", "b.1 at 3s", "c.1 at 5s"},
		gate.Hold:    {"a.1 at 0s", "a.2 at 3s", "b.1 at 3s", "c.1 at 5s"},
		gate.Rejoin:  {"a.1 at 0s", "b.1 at 0s", "c.1 at 2s", "a.2 at 4s", "d.1 at 4s"},
		gate.Release: {"a.1 at 0s", "b.1 at 0s", "c.1 at 2s", "d.1 at 4s", "a.2 at 6s"},
	} {
		t.Run("mode "+string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := gate.New("one", 1, gate.WithMode(mode))
				j := &journal{began: time.Now()}
				slow := func(name string) func() {
					body := j.failing(name, 1)
					return func() {
						if err := retry.Do(t.Context(), retry.Policy{}, func(ctx context.Context) error {
							defer time.Sleep(2 * time.Second)
							return body(ctx)
						}, gate.Through(g)); err != nil {
							t.Error(err)
						}
					}
				}
				calls := []func(){func() {
					if err := retry.Do(t.Context(), fixed(3*time.Second, 2), j.failing("a", 2), gate.Through(g)); err != nil {
						t.Error(err)
					}
				}, slow("b"), slow("c")}
				if mode == gate.Rejoin || mode == gate.Release {
					calls = append(calls, slow("d"))
				}
				inTurn(calls...).Wait()
				j.expect(t, want...)
				deserted(t, g)
			})
		})
	}
}

// TestR42_TheSlotComesBackOnce however a call ends, in all modes.
func TestR42_TheSlotComesBackOnce(t *testing.T) {
	panicky := func(retry.Record) { panic("sink") }
	for name, end := range map[string]func(ctx context.Context, through retry.Option){
		"success":    func(ctx context.Context, o retry.Option) { _ = retry.Do(ctx, retry.Policy{}, succeed, o) },
		"exhaustion": func(ctx context.Context, o retry.Option) { _ = retry.Do(ctx, fixed(1, 3), failAlways, o) },
		"stop": func(ctx context.Context, o retry.Option) {
			_ = retry.Do(ctx, retry.Policy{}, func(context.Context) error { return retry.Terminal(io.EOF) }, o)
		},
		"abort in backoff": func(ctx context.Context, o retry.Option) {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_ = retry.Do(ctx, fixed(time.Hour, 3), failAlways, o)
		},
		"abort while running": func(ctx context.Context, o retry.Option) {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_ = retry.Do(ctx, fixed(time.Hour, 3), func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, o)
		},
		"panic": func(ctx context.Context, o retry.Option) {
			_ = retry.Do(ctx, fixed(1, 2), func(context.Context) error { panic(1) }, o)
		},
		"goexit": func(ctx context.Context, o retry.Option) {
			_ = retry.Do(ctx, fixed(1, 2), func(context.Context) error { runtime.Goexit(); return nil }, o)
		},
		"bad sink": func(ctx context.Context, o retry.Option) {
			defer func() { _ = recover() }()
			_ = retry.Do(ctx, fixed(1, 2), failAlways, o, retry.WithSink(panicky))
		},
		"bad hook": func(ctx context.Context, o retry.Option) {
			_ = retry.Do(ctx, retry.Policy{}, succeed, o, retry.WithDerive(func(ctx context.Context, _ retry.AttemptInfo) (context.Context, error) { return nil, nil }))
		},
		"canceled before": func(ctx context.Context, o retry.Option) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			_ = retry.Do(ctx, retry.Policy{}, succeed, o)
		},
		"invalid policy": func(ctx context.Context, o retry.Option) {
			_ = retry.Do(ctx, retry.Policy{MaxAttempts: -1}, succeed, o)
		},
	} {
		for _, mode := range []gate.Mode{gate.Hold, gate.Release, gate.Rejoin} {
			t.Run(name+" "+string(mode), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					a, b := gate.New("a", 2, gate.WithMode(mode)), gate.New("b", 1, gate.WithMode(mode))
					var wg sync.WaitGroup
					wg.Go(func() { end(t.Context(), gate.Through(b, a)) })
					wg.Wait()
					deserted(t, a, b)
					acquire(t, b)()
				})
			})
		}
	}
}

func failAlways(context.Context) error { return io.EOF }

// TestR42_NobodyTakesAHeldSlot: J2 of the origin, both ways.
func TestR42_NobodyTakesAHeldSlot(t *testing.T) {
	for mode, others := range map[gate.Mode]time.Duration{gate.Hold: 3 * time.Second, gate.Rejoin: 0} {
		synctest.Test(t, func(t *testing.T) {
			g := gate.New("two", 2, gate.WithMode(mode))
			j := &journal{began: time.Now()}
			retried := func(name string) func() {
				return func() { _ = retry.Do(t.Context(), fixed(time.Second, 4), j.failing(name, 4), gate.Through(g)) }
			}
			var done []time.Duration
			wg := inTurn(retried("a"), retried("b"), func() {
				_ = retry.Do(t.Context(), retry.Policy{}, func(context.Context) error {
					done = append(done, time.Since(j.began))
					return nil
				}, gate.Through(g))
			})
			if s := g.Stats(); mode == gate.Hold && (s.Holders != 2 || s.HeldInBackoff != 2 || s.Depth != 1) {
				t.Errorf("%s: %+v", mode, s)
			}
			wg.Wait()
			if !slices.Equal(done, []time.Duration{others}) {
				t.Errorf("%s: c ran at %v, not %v", mode, done, others)
			}
			deserted(t, g)
		})
	}
}

type key struct{}

// TestR43_TheContextIsCapturedBeforeQueueing: who lets a call in lends it nothing,
// and every attempt derives from what the caller had when it called.
func TestR43_TheContextIsCapturedBeforeQueueing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate.New("one", 1, gate.WithMode(gate.Release))
		release := acquire(t, g)
		var seen []any
		var ids []string
		ctx := context.WithValue(t.Context(), key{}, "caller")
		wg := inTurn(func() {
			_ = retry.Do(ctx, fixed(time.Second, 2), func(ctx context.Context) error {
				info, _ := retry.FromContext(ctx)
				seen, ids = append(seen, ctx.Value(key{})), append(ids, info.ID)
				return io.EOF
			}, gate.Through(g), retry.WithTrace("T"))
		})
		ctx = context.WithValue(ctx, key{}, "later")
		_ = retry.Do(ctx, retry.Policy{}, func(context.Context) error { release(); return nil }, retry.WithTrace("other"))
		wg.Wait()
		if !slices.Equal(seen, []any{"caller", "caller"}) || !slices.Equal(ids, []string{"T.1", "T.2"}) {
			t.Errorf("saw %v in %v", seen, ids)
		}
	})
}

func TestR44_PriorityInProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate.New("one", 1)
		j := &journal{began: time.Now()}
		release := acquire(t, g)
		call := func(name string, priority int) func() {
			return func() {
				if err := retry.Do(t.Context(), retry.Policy{}, j.failing(name, 1), gate.ThroughAt(priority, g)); err != nil {
					t.Error(err)
				}
			}
		}
		wg := inTurn(call("low", -1), call("plain", 0), call("high", 9), call("high too", 9))
		release()
		wg.Wait()
		j.expect(t, "high.1 at 0s", "high too.1 at 0s", "plain.1 at 0s", "low.1 at 0s")
	})
}

func TestR33_CanceledWhileItQueuesForARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate.New("one", 1, gate.WithMode(gate.Release))
		why := errors.New("closing time")
		ctx, cancel := context.WithCancelCause(t.Context())
		var err error
		wg := inTurn(func() { err = retry.Do(ctx, fixed(time.Second, 2), failAlways, gate.Through(g)) })
		defer acquire(t, g)()
		time.Sleep(5 * time.Second) // it is in line again
		cancel(why)
		wg.Wait()
		var aborted *retry.AbortedError
		if !errors.As(err, &aborted) || aborted.Attempt != 2 || aborted.Phase != retry.PhaseQueue || !errors.Is(err, why) || aborted.Last != io.EOF {
			t.Errorf("got %#v", err)
		}
	})
}

func TestR33_AcquireIsCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate.New("one", 1)
		defer acquire(t, g)()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := g.Acquire(ctx)
		var aborted *retry.AbortedError
		if !errors.As(err, &aborted) || aborted.Phase != retry.PhaseQueue || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if _, err := g.Acquire(ctx); !errors.As(err, &aborted) || g.Stats().Depth != 0 {
			t.Errorf("a canceled context: %v", err)
		}
	})
}
