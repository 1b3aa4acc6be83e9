package gate_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/retry"
)

// TestR44_SeveralGatesAreTakenInTheOrderOfTheirNames, holding the earlier ones.
func TestR44_SeveralGatesAreTakenInTheOrderOfTheirNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := gate.New("a", 1), gate.New("b", 1)
		release := acquire(t, b)
		j := &journal{began: time.Now()}
		wg := inTurn(func() { _ = retry.Do(t.Context(), retry.Policy{}, j.failing("both", 1), gate.Through(b, a)) })
		if a.Stats().Holders != 1 || b.Stats().Depth != 1 {
			t.Errorf("a %+v, b %+v", a.Stats(), b.Stats())
		}
		time.Sleep(time.Second)
		release()
		wg.Wait()
		j.expect(t, "both.1 at 1s")
		deserted(t, a, b)
	})
}

// TestR44_NoDeadlock: calls that fail, in backoff, canceled, through gates of all
// kinds named in any order; a deadlock would end the bubble.
func TestR44_NoDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		breaker := gate.WithBreaker(gate.Breaker{Failures: 4, Cooldown: 20 * time.Millisecond, Wait: true})
		gates := []*gate.Gate{
			gate.New("a", 2, gate.WithMode(gate.Rejoin)), gate.New("b", 1), gate.New("c", 2, gate.WithMode(gate.Release), breaker),
			gate.New("d", 1, gate.WithMaxHold(3*time.Millisecond)), gate.New("e", 2, gate.WithRate(500, 3)), gate.New("f", 1, breaker),
		}
		inside := make([]atomic.Int32, len(gates))
		policy := retry.Policy{MaxAttempts: 4, Backoff: retry.Fixed(5 * time.Millisecond), QueueTimeout: time.Second}
		var ends sync.Map
		var wg sync.WaitGroup
		for i := range 600 {
			wg.Go(func() {
				random := rand.New(rand.NewPCG(1, uint64(i)))
				time.Sleep(time.Duration(random.IntN(500)) * time.Millisecond)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+random.IntN(1000))*time.Millisecond)
				defer cancel()
				picked := random.Perm(len(gates))[:1+random.IntN(4)]
				var mine []*gate.Gate
				for _, n := range picked {
					mine = append(mine, gates[n])
				}
				err := retry.Do(ctx, policy, func(ctx context.Context) error {
					for _, n := range picked {
						if now := inside[n].Add(1); int(now) > gates[n].Spec().Limit {
							t.Errorf("%d are in gate %s", now, gates[n].Name())
						}
						defer inside[n].Add(-1)
					}
					time.Sleep(time.Duration(random.IntN(5)) * time.Millisecond)
					if random.IntN(2) == 0 {
						return io.EOF
					}
					return nil
				}, gate.ThroughAt(random.IntN(2), mine...))
				ends.Store(kind(err), true)
			})
		}
		wg.Wait()
		for _, want := range []string{"success", "canceled", "exhausted"} {
			if _, ok := ends.Load(want); !ok {
				t.Errorf("no call ended in %s: the test shows less than it should", want)
			}
		}
		deserted(t, gates...)
	})
}

func kind(err error) string {
	var aborted *retry.AbortedError
	switch {
	case err == nil:
		return "success"
	case errors.As(err, &aborted):
		return "canceled"
	}
	return "exhausted"
}

// TestR44_WhoMustWaitForARetryHoldsNothingBehind: a call that lost its place at an
// earlier gate gives up the later one, which it held.
func TestR44_WhoMustWaitForARetryHoldsNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := gate.New("a", 1, gate.WithMode(gate.Release)), gate.New("b", 1, gate.WithMode(gate.Hold))
		j := &journal{began: time.Now()}
		first := func() {
			if err := retry.Do(t.Context(), fixed(time.Second, 2), j.failing("first", 2), gate.Through(a, b)); err != nil {
				t.Error(err)
			}
		}
		second := func() { // has a when first comes back, and needs b
			time.Sleep(time.Second - time.Millisecond)
			if err := retry.Do(t.Context(), retry.Policy{}, j.failing("second", 1), gate.Through(a, b)); err != nil {
				t.Error(err)
			}
		}
		inTurn(first, second).Wait()
		j.expect(t, "first.1 at 0s", "second.1 at 1s", "first.2 at 1s")
		deserted(t, a, b)
	})
}

// TestR40_QueueTimeoutIsForAllGatesTogether: who waits at two gates has one time.
func TestR40_QueueTimeoutIsForAllGatesTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := gate.New("a", 1), gate.New("b", 1)
		releaseA, releaseB := acquire(t, a), acquire(t, b)
		began := time.Now()
		var err error
		wg := inTurn(func() {
			err = retry.Do(t.Context(), retry.Policy{MaxAttempts: 1, QueueTimeout: 10 * time.Second}, succeed, gate.Through(a, b))
		})
		time.Sleep(6 * time.Second)
		releaseA()
		wg.Wait()
		var timeout *retry.TimeoutError
		if !errors.As(err, &timeout) || timeout.Limit != 10*time.Second || time.Since(began) != 10*time.Second {
			t.Errorf("got %v after %s", err, time.Since(began))
		}
		deserted(t, a)
		releaseB()
	})
}

func TestR40_MisconfiguredGates(t *testing.T) {
	good := gate.New("good", 1)
	for want, opts := range map[string][]retry.Option{
		"the call is misconfigured: it goes through no gate; name at least one, or leave the option out":                  {gate.Through()},
		"the call is misconfigured: one of its gates is nil; pass what gate.New returns":                                  {gate.Through(good, nil)},
		`the call is misconfigured: gate "bad" is misconfigured: Limit is 0; allowed is 1 to 2147483647`:                  {gate.Through(gate.New("bad", 0))},
		`the call is misconfigured: it names the gate "good" twice; leave one out`:                                        {gate.Through(good, good)},
		`the call is misconfigured: two of its gates have the name "good"; names give the order in which gates are taken`: {gate.Through(good, gate.New("good", 2))},
		"the call is misconfigured: WithGates is given twice; name all gates of the call in one":                          {gate.Through(good), gate.Through(gate.New("b", 1))},
	} {
		err := retry.Do(t.Context(), retry.Policy{}, succeed, opts...)
		var config *retry.ConfigError
		if !errors.As(err, &config) || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	bad := gate.New("", -1, gate.WithMode("often"))
	bad.Pause()
	if _, err := bad.Acquire(t.Context()); err == nil || bad.Validate() == nil || bad.Stats() != (gate.Stats{}) {
		t.Errorf("got %v and %v", err, bad.Validate())
	}
	deserted(t, good)
}

// TestE96_WhoWaitsForOneGateKeepsNoOther: it holds the free gate for a moment, and then
// others pass it. Its place in both lines is kept: it is the next when both are free.
func TestE96_WhoWaitsForOneGateKeepsNoOther(t *testing.T) {
	for _, names := range [][2]string{{"a", "b"}, {"b", "a"}} { // the free one and the other, in order and not
		synctest.Test(t, func(t *testing.T) {
			free, busy := gate.New(names[0], 1), gate.New(names[1], 1)
			release := acquire(t, busy)
			j := &journal{began: time.Now()}
			pass := func(name string, length time.Duration, gates ...*gate.Gate) func() {
				return func() {
					err := retry.Do(t.Context(), retry.Policy{}, func(context.Context) error {
						j.note("%s at %s", name, time.Since(j.began))
						time.Sleep(length)
						return nil
					}, gate.Through(gates...))
					if err != nil {
						t.Error(err)
					}
				}
			}
			wg := inTurn(pass("both", time.Minute, free, busy))
			time.Sleep(5 * time.Millisecond)
			for range 3 {
				wg.Go(pass("one", time.Hour, free))
				synctest.Wait()
			}
			time.Sleep(5 * time.Millisecond)
			synctest.Wait()
			if s := free.Stats(); s.Running != 1 || s.Depth != 2 {
				t.Errorf("the free gate has %+v", s)
			}
			time.Sleep(90*time.Minute - 10*time.Millisecond)
			release()
			wg.Wait()
			deserted(t, free, busy)
			start := map[string]string{"a": "10ms", "b": "5ms"}[names[0]] // it is not asked for before its time
			if len(j.lines) != 4 || j.lines[0] != "one at "+start || j.lines[2] != "both at 2h0m0."+map[string]string{"a": "01s", "b": "005s"}[names[0]] {
				t.Errorf("%q", j.lines)
			}
		})
	}
}

// TestE96_NobodyStarvesInProcess: calls that need two gates start although both are always
// full, and no two slots come free at a time.
func TestE96_NobodyStarvesInProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := gate.New("a", 3), gate.New("b", 2)
		var wg sync.WaitGroup
		var before atomic.Int32
		for i := range 60 {
			for _, g := range []*gate.Gate{a, b} {
				wg.Go(func() {
					time.Sleep(time.Duration(i) * time.Second)
					_ = retry.Do(t.Context(), retry.Policy{}, func(context.Context) error {
						before.Add(1)
						time.Sleep(time.Minute + time.Duration(i)*time.Second)
						return nil
					}, gate.Through(g))
				})
			}
		}
		for range 3 {
			wg.Go(func() {
				time.Sleep(5 * time.Second)
				_ = retry.Do(t.Context(), retry.Policy{}, func(context.Context) error {
					if n := before.Load(); n > 70 {
						t.Errorf("%d started before it", n)
					}
					time.Sleep(time.Second)
					return nil
				}, gate.Through(b, a))
			})
		}
		wg.Wait()
		deserted(t, a, b)
	})
}
