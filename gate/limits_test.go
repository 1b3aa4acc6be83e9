package gate_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/retry"
)

// reasons are those of the records.
func reasons(records []retry.Record) []retry.Reason {
	var all []retry.Reason
	for _, r := range records {
		all = append(all, r.Reason)
	}
	return all
}

func TestR45_MaxHoldTurnsHoldIntoRejoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate.New("one", 1, gate.WithMaxHold(2*time.Second))
		j := &journal{began: time.Now()}
		call := func(name string, n int) func() {
			return func() {
				if err := retry.Do(t.Context(), fixed(5*time.Second, n), j.failing(name, n), gate.Through(g)); err != nil {
					t.Error(err)
				}
			}
		}
		wg := inTurn(call("a", 2), call("b", 1))
		time.Sleep(time.Second)
		if s := g.Stats(); s.HeldInBackoff != 1 || s.Holders != 1 || s.Depth != 1 || s.OldestWait != time.Second {
			t.Errorf("%+v", s)
		}
		wg.Wait()
		j.expect(t, "a.1 at 0s", "b.1 at 2s", "a.2 at 5s")
		deserted(t, g)
	})
}

func TestR46_I8_RetriesOverBudgetStopWithThatReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate.New("api", 5, gate.WithBudget(gate.Budget{Tokens: 2, Refund: 0.5}))
		var records []retry.Record
		err := retry.Do(t.Context(), fixed(time.Second, 9), failAlways, gate.Through(g), retry.WithName("call"), retry.WithRecords(&records))
		var exhausted *retry.ExhaustedError
		if !errors.As(err, &exhausted) || exhausted.Reason != retry.ReasonBudget || exhausted.Attempts != 3 || exhausted.Err != io.EOF {
			t.Errorf("got %v", err)
		}
		if want := []retry.Reason{retry.ReasonBackoff, retry.ReasonBackoff, retry.ReasonBudget}; !slices.Equal(reasons(records), want) {
			t.Errorf("records say %v", reasons(records))
		}
		for range 3 { // three first-try successes bring one retry and a half
			if err := retry.Do(t.Context(), retry.Policy{}, succeed, gate.Through(g)); err != nil {
				t.Error(err)
			}
		}
		if s := g.Stats(); s.Tokens != 1.5 {
			t.Errorf("%v tokens", s.Tokens)
		}
		err = retry.Do(t.Context(), fixed(time.Second, 9), failAlways, gate.Through(g))
		if !errors.As(err, &exhausted) || exhausted.Attempts != 2 {
			t.Errorf("got %v", err)
		}
		deserted(t, g)
	})
}

// TestR46_ABudgetIsNotChargedForAnother: what one gate allowed and another denied
// costs nothing at the first.
func TestR46_ABudgetIsNotChargedForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rich := gate.New("a rich one", 1, gate.WithBudget(gate.Budget{Tokens: 9}))
		poor := gate.New("poor", 1, gate.WithBudget(gate.Budget{Tokens: 1}))
		_ = retry.Do(t.Context(), fixed(time.Second, 9), failAlways, gate.Through(rich, poor))
		if a, b := rich.Stats().Tokens, poor.Stats().Tokens; a != 8 || b != 0 {
			t.Errorf("%v and %v tokens are left", a, b)
		}
		deserted(t, rich, poor)
	})
}

func TestR46_AnOpenBreakerCostsNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate.New("api", 5, gate.WithBreaker(gate.Breaker{Failures: 3, Cooldown: 10 * time.Second}))
		attempts := 0
		broken := func(context.Context) error { attempts++; return io.EOF }
		var records []retry.Record
		err := retry.Do(t.Context(), fixed(time.Second, 9), broken, gate.Through(g), retry.WithName("call"), retry.WithRecords(&records))
		var exhausted *retry.ExhaustedError
		var refusal *retry.RefusedError
		if !errors.As(err, &exhausted) || exhausted.Reason != retry.ReasonBreaker || exhausted.Attempts != 3 || attempts != 3 {
			t.Errorf("the third failure: %v after %d attempts", err, attempts)
		}
		if !errors.As(err, &refusal) || refusal.Gate != "api" || refusal.Reason != retry.ReasonBreaker || !errors.Is(err, io.EOF) {
			t.Errorf("the refusal: %+v", refusal)
		}
		if want := []retry.Reason{retry.ReasonBackoff, retry.ReasonBackoff, retry.ReasonBackoff, retry.ReasonBreaker}; !slices.Equal(reasons(records), want) {
			t.Errorf("records say %v", reasons(records))
		} else if last := records[3]; last.Number != 4 || !last.Start.IsZero() || !errors.As(last.Err, &refusal) {
			t.Errorf("the record of what never began: %+v", last)
		}
		err = retry.Do(t.Context(), retry.Policy{}, broken, gate.Through(g))
		if !errors.As(err, &exhausted) || exhausted.Attempts != 0 || attempts != 3 {
			t.Errorf("while it is open: %v", err)
		}
		if _, err := g.Acquire(t.Context()); !errors.As(err, &refusal) || refusal.Last != nil {
			t.Errorf("Acquire: %v", err)
		}
		if s := g.Stats(); s.Breaker != gate.Open || s.Cooldown != 9*time.Second {
			t.Errorf("%+v", s)
		}
		time.Sleep(9 * time.Second)
		if err := retry.Do(t.Context(), retry.Policy{}, succeed, gate.Through(g)); err != nil || g.Stats().Breaker != gate.Closed {
			t.Errorf("the probe: %v, %+v", err, g.Stats())
		}
		deserted(t, g)
	})
}

func TestR46_AWaitingBreakerLetsOneProbePass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate.New("api", 5, gate.WithBreaker(gate.Breaker{Failures: 1, Cooldown: 10 * time.Second, Wait: true}))
		_ = retry.Do(t.Context(), retry.Policy{MaxAttempts: 1}, failAlways, gate.Through(g))
		j := &journal{began: time.Now()}
		call := func(name string) func() {
			body := j.failing(name, 1)
			return func() {
				if err := retry.Do(t.Context(), retry.Policy{}, func(ctx context.Context) error {
					defer time.Sleep(time.Second)
					return body(ctx)
				}, gate.Through(g)); err != nil {
					t.Error(err)
				}
			}
		}
		inTurn(call("a"), call("next"), call("next")).Wait()
		j.expect(t, "a.1 at 10s", "next.1 at 11s", "next.1 at 11s")
		deserted(t, g)
	})
}

// TestR46_AnOutageCostsNoCallThatWaits: failed probes are not charged, cost no tokens and are
// taken in turn; only where all calls may be tried once, one of them is.
func TestR46_AnOutageCostsNoCallThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate.New("api", 2, gate.WithMode(gate.Rejoin), gate.WithBreaker(gate.Breaker{Failures: 2, Cooldown: 10 * time.Second, Wait: true}), gate.WithBudget(gate.Budget{Tokens: 3}))
		until := time.Now().Add(10 * time.Minute)
		tries := make([]int, 8)
		var calls []func()
		for n := range tries {
			policy := fixed(time.Second, 3)
			if n == 2 {
				policy = retry.Never // its failure would end it, so it is no probe
			}
			calls = append(calls, func() {
				var records []retry.Record
				err := retry.Do(t.Context(), policy, func(context.Context) error {
					if tries[n]++; time.Now().Before(until) {
						return io.EOF
					}
					return nil
				}, gate.Through(g), retry.WithRecords(&records))
				if err != nil {
					t.Errorf("call %d: %v after %v", n, err, reasons(records))
				}
			})
		}
		inTurn(calls...).Wait()
		for n, tried := range tries {
			if n == 2 && tried != 1 || n != 2 && (tried < 8 || tried > 12) {
				t.Errorf("the calls were tried %v times", tries)
				break
			}
		}
		deserted(t, g)
	})
}

func TestR46_WhatNoRetryCanChangeIsNoFaultOfTheService(t *testing.T) {
	g := gate.New("api", 1, gate.WithBreaker(gate.Breaker{Failures: 1, Cooldown: time.Hour}))
	for _, p := range []retry.Policy{{}, {NonRetryable: []string{"EOF"}}, {Retryable: []string{"X"}}} {
		err := io.EOF
		if p.Retryable == nil && p.NonRetryable == nil {
			err = retry.Terminal(io.EOF)
		}
		_ = retry.Do(t.Context(), p, func(context.Context) error { return err }, gate.Through(g))
		if s := g.Stats(); s.Breaker != gate.Closed {
			t.Errorf("%+v", s)
		}
	}
	_ = retry.Do(t.Context(), retry.Never, failAlways, gate.Through(g))
	if s := g.Stats(); s.Breaker != gate.Open {
		t.Errorf("a failure: %+v", s)
	}
}

// TestR46_EveryFailureCounts, whatever stops the call after it.
func TestR46_EveryFailureCounts(t *testing.T) {
	for reason, p := range map[retry.Reason]retry.Policy{
		retry.ReasonMaxAttempts: {MaxAttempts: 1},
		retry.ReasonWithin:      {Within: 1, Backoff: retry.Fixed(time.Hour)},
		retry.ReasonBudget:      {},
		retry.ReasonTimeout:     {AttemptTimeout: time.Second, OnTimeout: retry.StopOnTimeout},
	} {
		failures := 1
		if reason == retry.ReasonBudget {
			failures = 2 // the first one has its retry
		}
		synctest.Test(t, func(t *testing.T) {
			g := gate.New("api", 1, gate.WithBreaker(gate.Breaker{Failures: failures, Cooldown: time.Hour}),
				gate.WithBudget(gate.Budget{Tokens: 1}))
			err := retry.Do(t.Context(), p, func(context.Context) error {
				time.Sleep(2 * time.Second)
				return io.EOF
			}, gate.Through(g))
			var exhausted *retry.ExhaustedError
			if !errors.As(err, &exhausted) || exhausted.Reason != reason || g.Stats().Breaker != gate.Open {
				t.Errorf("%s: %v, the breaker is %s", reason, err, g.Stats().Breaker)
			}
		})
	}
}

// TestANearerTimeComesFirst: the gate waits for the end of a long backoff when a
// time comes up that is nearer.
func TestANearerTimeComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate.New("api", 9, gate.WithRate(2, 2))
		j := &journal{began: time.Now()}
		call := func(name string, n int) func() {
			return func() { _ = retry.Do(t.Context(), fixed(time.Hour, n), j.failing(name, n), gate.Through(g)) }
		}
		inTurn(call("a", 2), call("b", 1), call("c", 1)).Wait()
		j.expect(t, "a.1 at 0s", "b.1 at 0s", "c.1 at 500ms", "a.2 at 1h0m0s")
		deserted(t, g)
	})
}

func TestARateBoundsAttemptsAndRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate.New("api", 9, gate.WithRate(2, 2))
		j := &journal{began: time.Now()}
		call := func(name string, n int) func() {
			return func() { _ = retry.Do(t.Context(), fixed(0, n), j.failing(name, n), gate.Through(g)) }
		}
		inTurn(call("a", 2), call("b", 1), call("c", 1)).Wait()
		j.expect(t, "a.1 at 0s", "a.2 at 0s", "b.1 at 500ms", "c.1 at 1s")
		deserted(t, g)
	})
}

func TestAPausedGateLetsNobodyIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate.New("api", 9)
		g.Pause()
		j := &journal{began: time.Now()}
		wg := inTurn(func() { _ = retry.Do(t.Context(), retry.Policy{}, j.failing("a", 1), gate.Through(g)) })
		time.Sleep(time.Minute)
		if s := g.Stats(); !s.Paused || s.Depth != 1 || s.OldestWait != time.Minute {
			t.Errorf("%+v", s)
		}
		g.Resume()
		wg.Wait()
		j.expect(t, "a.1 at 1m0s")
	})
}

// TestR40_AnAttemptThatQueuesTooLongHasFailed and is judged as in the engine: its
// retry queues again.
func TestR40_AnAttemptThatQueuesTooLongHasFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate.New("one", 1)
		j := &journal{began: time.Now()}
		release := acquire(t, g)
		var records []retry.Record
		policy := fixed(5*time.Second, 3)
		policy.QueueTimeout = 10 * time.Second
		wg := inTurn(func() {
			_ = retry.Do(t.Context(), policy, j.failing("a", 1), gate.Through(g), retry.WithRecords(&records))
		}, func() {
			_ = retry.Do(t.Context(), retry.Policy{}, j.failing("b", 1), gate.Through(g))
		})
		time.Sleep(20 * time.Second)
		release()
		wg.Wait()
		j.expect(t, "b.1 at 20s", "a.1 at 20s")
		if len(records) != 2 || records[0].Reason != retry.ReasonBackoff || !records[0].Start.IsZero() ||
			retry.TypeName(records[0].Err) != retry.TypeQueueTimeout || records[1].Number != 2 {
			t.Errorf("%+v", records)
		}
		deserted(t, g)
	})
}

// TestR8_AFirstAttemptMayQueueBeyondWithin: QueueTimeout is there to bound that.
func TestR8_AFirstAttemptMayQueueBeyondWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate.New("one", 1)
		j := &journal{began: time.Now()}
		release := acquire(t, g)
		wg := inTurn(func() {
			_ = retry.Do(t.Context(), retry.Policy{Within: time.Second}, j.failing("a", 2), gate.Through(g))
		})
		time.Sleep(time.Minute)
		release()
		wg.Wait()
		j.expect(t, "a.1 at 1m0s")
	})
}

// TestR8_ARetryThatQueuesBeyondWithinDoesNotStart; see the test above for a first
// attempt.
func TestR8_ARetryThatQueuesBeyondWithinDoesNotStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate.New("one", 1, gate.WithMode(gate.Release))
		j := &journal{began: time.Now()}
		policy := fixed(time.Second, 3)
		policy.Within = 10 * time.Second
		var err error
		wg := inTurn(func() { err = retry.Do(t.Context(), policy, j.failing("a", 9), gate.Through(g)) })
		release := acquire(t, g)
		wg.Wait()
		var exhausted *retry.ExhaustedError
		if !errors.As(err, &exhausted) || exhausted.Reason != retry.ReasonWithin || exhausted.Attempts != 1 || exhausted.Err != io.EOF || time.Since(j.began) != 10*time.Second {
			t.Errorf("got %v after %s", err, time.Since(j.began))
		}
		release()
		j.expect(t, "a.1 at 0s")
		deserted(t, g)
	})
}

// TestT3_EachKeyHasItsOwnBreakerAndBudget in process: what fails for one key stops no other.
func TestT3_EachKeyHasItsOwnBreakerAndBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate.New("api", 5, gate.WithBreaker(gate.Breaker{Failures: 3, Cooldown: time.Minute, PerKey: true}),
			gate.WithBudget(gate.Budget{Tokens: 1, PerKey: true}))
		ann, bob := gate.ContextWithKey(t.Context(), "ann", 1), gate.ContextWithKey(t.Context(), "bob", 1)
		do := func(ctx context.Context, f func(context.Context) error, attempts int) retry.Reason {
			var exhausted *retry.ExhaustedError
			switch err := retry.Do(ctx, fixed(time.Second, attempts), f, gate.Through(g)); {
			case err == nil:
				return retry.ReasonSucceeded
			case errors.As(err, &exhausted):
				return exhausted.Reason
			default:
				t.Error(err)
				return ""
			}
		}
		got := []retry.Reason{
			do(ann, failAlways, 9), do(ann, failAlways, 1), do(ann, succeed, 1), // two attempts, the third failure, none
			do(bob, failAlways, 2), do(bob, failAlways, 2), // a retry of its own budget, and none
			do(t.Context(), succeed, 1),
		}
		want := []retry.Reason{
			retry.ReasonBudget, retry.ReasonMaxAttempts, retry.ReasonBreaker,
			retry.ReasonMaxAttempts, retry.ReasonBudget, retry.ReasonSucceeded,
		}
		if !slices.Equal(got, want) {
			t.Errorf("the calls ended with %v, not %v", got, want)
		}
		if s := g.Stats(); s.Breaker != gate.Closed || s.OpenKeys != 2 || s.Tokens != 0 {
			t.Errorf("%+v", s)
		}
		time.Sleep(time.Minute)
		if got := do(ann, succeed, 1); got != retry.ReasonSucceeded || g.Stats().OpenKeys != 1 {
			t.Errorf("after the cooldown a call of ann ends with %s: %+v", got, g.Stats())
		}
	})
}
