package retry_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/retry"
)

// bubble runs a test in virtual time. It fails if a goroutine is left behind.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// exact waits 1s, 2s, 4s ... without jitter.
var exact = retry.Policy{Jitter: retry.NoJitter}

func TestR30_NoWaitAfterTheLastFailure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		start, n := time.Now(), 0
		err := retry.Do(t.Context(), exact, func(context.Context) error { n++; return io.EOF })
		if n != 5 || time.Since(start) != 15*time.Second {
			t.Errorf("%d attempts in %s: %v", n, time.Since(start), err)
		}
		exhausted, ok := errors.AsType[*retry.ExhaustedError](err)
		if !ok || exhausted.Attempts != 5 || exhausted.Max != 5 || exhausted.Reason != retry.ReasonMaxAttempts || exhausted.Err != io.EOF || len(exhausted.Records) != 5 {
			t.Errorf("got %+v", exhausted)
		}
	})
}

func TestR30_TheFirstAttemptGetsTheCallersContext(t *testing.T) {
	ctx := t.Context()
	for name, opts := range map[string][]retry.Option{
		"plain": nil, "name": {retry.WithName("x")}, "random": {retry.WithRandom(func() float64 { return 0 })},
	} {
		for _, policy := range []retry.Policy{{}, retry.Standard, {NonRetryable: []string{"X"}}} {
			err := retry.Do(ctx, policy, func(got context.Context) error {
				if got != ctx {
					t.Errorf("%s: got another context", name)
				}
				return nil
			}, opts...)
			if err != nil {
				t.Error(err)
			}
		}
	}
}

func TestR30_AllocationsOfASuccess(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ok := func(context.Context) error { return nil }
	value := func(context.Context) (int, error) { return 1, nil }
	limited := retry.Policy{AttemptTimeout: time.Minute, HeartbeatTimeout: time.Minute}
	rules := retry.Policy{NonRetryable: []string{"A"}, Rules: []retry.Rule{{Types: []string{"B"}, MaxAttempts: 9, Backoff: retry.Fixed(1)}}}
	derive := retry.WithDerive(func(ctx context.Context, _ retry.AttemptInfo) (context.Context, error) { return ctx, nil })
	sink := retry.WithSink(func(retry.Record) {})
	var records []retry.Record

	for name, c := range map[string]struct {
		call func()
		most float64
	}{
		"zero policy":  {func() { _ = retry.Do(ctx, retry.Policy{}, ok) }, 0},
		"standard":     {func() { _ = retry.Do(ctx, retry.Standard, ok) }, 0},
		"rules":        {func() { _ = retry.Do(ctx, rules, ok) }, 0},
		"value":        {func() { _, _ = retry.Value(ctx, retry.Policy{}, value) }, 0},
		"name":         {func() { _ = retry.Do(ctx, retry.Policy{}, ok, retry.WithName("x")) }, 0},
		"trace":        {func() { _ = retry.Do(ctx, retry.Policy{}, ok, retry.WithTrace("x")) }, 3},
		"timeouts":     {func() { _ = retry.Do(ctx, limited, ok) }, 3},
		"derive":       {func() { _ = retry.Do(ctx, retry.Policy{}, ok, derive) }, 3},
		"sink":         {func() { _ = retry.Do(ctx, retry.Policy{}, ok, sink) }, 3},
		"all together": {func() { records = nil; _ = retry.Do(ctx, limited, ok, derive, sink, retry.WithRecords(&records)) }, 3},
	} {
		if n := testing.AllocsPerRun(100, c.call); n > c.most {
			t.Errorf("%s: %v allocations, want at most %v", name, n, c.most)
		}
	}
}

func TestR33_CanceledBeforeTheCall(t *testing.T) {
	why := errors.New("the user left")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	for _, opts := range [][]retry.Option{nil, {retry.WithName("charge"), retry.WithTrace("t")}} {
		err := retry.Do(ctx, exact, func(context.Context) error { t.Error("it ran"); return nil }, opts...)
		aborted, ok := errors.AsType[*retry.AbortedError](err)
		if !ok || aborted.Attempt != 1 || aborted.Phase != retry.PhaseExecution || aborted.Last != nil {
			t.Errorf("got %+v", err)
		}
		if !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
			t.Errorf("%v hides its causes", err)
		}
	}
}

func TestR33_CanceledInBackoff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		start, n := time.Now(), 0
		err := retry.Do(ctx, exact, func(context.Context) error { n++; return io.EOF })
		aborted, ok := errors.AsType[*retry.AbortedError](err)
		if !ok || aborted.Attempt != 2 || aborted.Phase != retry.PhaseBackoff || aborted.Last != io.EOF || n != 2 {
			t.Errorf("%d attempts, got %+v", n, err)
		}
		if time.Since(start) != 2500*time.Millisecond || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %s: %v", time.Since(start), err)
		}
	})
}

// TestR13_ACancelWithoutAWaitStopsToo: between two attempts without a delay
// there is no timer that a cancel could interrupt.
func TestR13_ACancelWithoutAWaitStopsToo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	err := retry.Do(ctx, retry.Policy{MaxAttempts: retry.Unlimited, Within: retry.Forever, Backoff: retry.None}, func(context.Context) error {
		n++
		return io.EOF
	}, retry.WithSink(func(r retry.Record) {
		if r.Number == 3 {
			cancel()
		}
	}))
	aborted, ok := errors.AsType[*retry.AbortedError](err)
	if !ok || aborted.Phase != retry.PhaseBackoff || aborted.Attempt != 3 || n != 3 {
		t.Errorf("%d attempts, got %v", n, err)
	}
}

func TestR33_CanceledWhileRunning(t *testing.T) {
	for _, result := range []error{nil, io.EOF, retry.Terminal(io.EOF)} {
		for _, policy := range []retry.Policy{exact, retry.Never, {AttemptTimeout: time.Hour}} {
			ctx, cancel := context.WithCancel(t.Context())
			n := 0
			err := retry.Do(ctx, policy, func(context.Context) error { n++; cancel(); return result })
			aborted, ok := errors.AsType[*retry.AbortedError](err)
			if n != 1 || (result == nil) != (err == nil) {
				t.Errorf("%d attempts, got %v", n, err)
			}
			if result != nil && (!ok || aborted.Phase != retry.PhaseExecution || aborted.Attempt != 1 || !errors.Is(err, io.EOF) || !errors.Is(err, context.Canceled)) {
				t.Errorf("got %+v", err)
			}
		}
	}
}

func TestR13_AForeignCancellationIsNotRetried(t *testing.T) {
	n := 0
	err := retry.Do(t.Context(), exact, func(context.Context) error { n++; return context.Canceled })
	if aborted, ok := errors.AsType[*retry.AbortedError](err); !ok || n != 1 || aborted.Cause != context.Canceled {
		t.Errorf("%d attempts, got %v", n, err)
	}
}

func TestR12_TerminalReachesTheCallerAsItIs(t *testing.T) {
	marked := retry.Terminal(&quotaError{Limit: 1})
	n := 0
	err := retry.Do(t.Context(), exact, func(context.Context) error { n++; return marked })
	if err != marked || n != 1 {
		t.Errorf("%d attempts, got %v", n, err)
	}
}

func TestR14_AFilterCarriesItsReason(t *testing.T) {
	policy := retry.Policy{NonRetryable: []string{"EOF"}}
	err := retry.Do(t.Context(), policy, func(context.Context) error { return io.EOF }, retry.WithName("read"))
	if err == nil || err.Error() != "read: gave up after 1 attempt (EOF is not retried): EOF" || !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
}

func TestR14_UnlimitedAttemptsKeepBoundedRecords(t *testing.T) {
	policy := retry.Policy{MaxAttempts: 5000, Backoff: retry.None}
	err := retry.Do(t.Context(), policy, func(context.Context) error { return io.EOF })
	exhausted, ok := errors.AsType[*retry.ExhaustedError](err)
	if !ok || exhausted.Attempts != 5000 || len(exhausted.Records) != 20 {
		t.Fatalf("got %+v", err)
	}
	if last := exhausted.Records[20-1]; last.Number != 5000 || last.Reason != retry.ReasonMaxAttempts {
		t.Errorf("the last record is %+v", last)
	}
}

func TestR34_APanicBecomesAnError(t *testing.T) {
	n := 0
	err := retry.Do(t.Context(), retry.Policy{MaxAttempts: 2, Backoff: retry.None}, func(context.Context) error { n++; panic("boom") })
	e, ok := errors.AsType[*retry.PanicError](err)
	if !ok || n != 2 || e.Value != "boom" || !strings.Contains(e.Stack, "TestR34_APanicBecomesAnError") {
		t.Errorf("%d attempts, got %+v", n, e)
	}
	_, err = retry.Value(t.Context(), retry.Never, func(context.Context) (int, error) { panic(retry.Terminal(io.EOF)) })
	if !retry.IsTerminal(err) || !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
	err = retry.Do(t.Context(), retry.Never, func(context.Context) error { panic(nil) })
	if _, ok := errors.AsType[*runtime.PanicNilError](err); !ok {
		t.Errorf("got %v", err)
	}
}

// TestR34_GoexitEndsTheGoroutine: what ends the goroutine, such as FailNow in a
// test, is no failure and not held up.
func TestR34_GoexitEndsTheGoroutine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var attempt context.Context
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = retry.Do(t.Context(), retry.Policy{AttemptTimeout: time.Hour}, func(ctx context.Context) error {
				attempt = ctx
				_ = ctx.Done()
				runtime.Goexit()
				return nil
			})
			t.Error("Do returned")
		}()
		<-done
		if attempt.Err() == nil {
			t.Error("the attempt's context is still alive")
		}
	})
}

func TestR31_ConfigurationErrors(t *testing.T) {
	run := func(context.Context) error { t.Error("it ran"); return nil }
	hook := func(f func(context.Context, retry.AttemptInfo) (context.Context, error)) []retry.Option {
		return []retry.Option{retry.WithDerive(f), retry.WithName("charge")}
	}
	type info = retry.AttemptInfo
	var none context.Context
	for want, call := range map[string]func() error{
		"invalid retry policy: MaxAttempts is -1": func() error { return retry.Do(t.Context(), retry.Policy{MaxAttempts: -1}, run) },
		"Rules[0].Types is empty": func() error {
			return retry.Do(t.Context(), retry.Policy{Rules: []retry.Rule{{Stop: true}}}, run)
		},
		"OnExhausted is Pause":  func() error { return retry.Do(t.Context(), retry.Policy{OnExhausted: retry.Pause}, run) },
		"the context is nil":    func() error { return retry.Do(none, exact, run) },
		"the function is nil":   func() error { return retry.Do(t.Context(), exact, nil) },
		"call is misconfigured": func() error { _, err := retry.Value[int](t.Context(), exact, nil); return err },
		"hook failed: no tenant": func() error {
			return retry.Do(t.Context(), exact, run, hook(func(context.Context, info) (context.Context, error) { return nil, errors.New("no tenant") })...)
		},
		"hook failed: panic: bo": func() error {
			return retry.Do(t.Context(), exact, run, hook(func(context.Context, info) (context.Context, error) { panic("boom") })...)
		},
		"returned no context": func() error {
			return retry.Do(t.Context(), exact, run, hook(func(context.Context, info) (context.Context, error) { return nil, nil })...)
		},
		"does not descend": func() error {
			return retry.Do(t.Context(), exact, run, hook(func(context.Context, info) (context.Context, error) { return t.Context(), nil })...)
		},
	} {
		err := call()
		if _, ok := errors.AsType[*retry.ConfigError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want a *ConfigError with %q", err, want)
		}
	}
	if _, ok := errors.AsType[*retry.PolicyError](retry.Do(t.Context(), retry.Policy{CrashLimit: -1}, run)); !ok {
		t.Error("an invalid policy gives no *PolicyError")
	}
}

func TestR31_ADeriveHookThatFailsLaterEndsTheCall(t *testing.T) {
	n := 0
	err := retry.Do(t.Context(), retry.Policy{Backoff: retry.None}, func(context.Context) error { n++; return io.EOF },
		retry.WithDerive(func(ctx context.Context, info retry.AttemptInfo) (context.Context, error) {
			if info.Number == 3 {
				return nil, errors.New("no tenant")
			}
			return ctx, nil
		}))
	if _, ok := errors.AsType[*retry.ConfigError](err); !ok || n != 2 {
		t.Errorf("%d attempts, got %v", n, err)
	}
}

func TestR35_RecordsOfEveryAttempt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		start, n := time.Now(), 0
		var kept, seen []retry.Record
		err := retry.Do(t.Context(), exact, func(context.Context) error {
			time.Sleep(10 * time.Millisecond)
			if n++; n < 3 {
				return io.EOF
			}
			return nil
		}, retry.WithTrace("T"), retry.WithRecords(&kept), retry.WithSink(func(r retry.Record) { seen = append(seen, r) }))
		ms := func(n int) time.Time { return start.Add(time.Duration(n) * time.Millisecond) }
		want := []retry.Record{
			{Number: 1, ID: "T.1", Start: ms(0), End: ms(10), Err: io.EOF, Delay: time.Second, Reason: retry.ReasonBackoff},
			{Number: 2, ID: "T.2", Start: ms(1010), End: ms(1020), Err: io.EOF, Delay: 2 * time.Second, Reason: retry.ReasonBackoff},
			{Number: 3, ID: "T.3", Start: ms(3020), End: ms(3030), Reason: retry.ReasonSucceeded},
		}
		if err != nil || !slices.EqualFunc(kept, want, sameRecord) || !slices.EqualFunc(seen, want, sameRecord) {
			t.Errorf("got %v\n%+v\n%+v\nwant\n%+v", err, kept, seen, want)
		}
	})
}

// sameRecord compares the times without their monotonic part.
func sameRecord(a, b retry.Record) bool {
	times := a.Start.Equal(b.Start) && a.End.Equal(b.End)
	a.Start, a.End, b.Start, b.End = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	return times && a == b
}

// TestR35_APanicOfTheSinkIsNotAnOutcome: it is a bug of the caller's program.
func TestR35_APanicOfTheSinkIsNotAnOutcome(t *testing.T) {
	n := 0
	defer func() {
		if v := recover(); v != "sink" || n != 1 {
			t.Errorf("%d attempts, got %v", n, v)
		}
	}()
	_ = retry.Do(t.Context(), exact, func(context.Context) error { n++; return nil }, retry.WithSink(func(retry.Record) { panic("sink") }))
}

func TestR9_TheBudgetIsAskedOnlyWhenItMatters(t *testing.T) {
	asked := 0
	budget := retry.WithGates(func() (retry.Gates, error) {
		return openGate{allows: func() bool { asked++; return true }}, nil
	})
	policy := retry.Policy{MaxAttempts: 3, Backoff: retry.None}
	_ = retry.Do(t.Context(), policy, func(context.Context) error { return io.EOF }, budget)
	if asked != 2 {
		t.Errorf("asked %d times for two retries", asked)
	}
	_ = retry.Do(t.Context(), policy, func(context.Context) error { return retry.Terminal(io.EOF) }, budget)
	if asked != 2 {
		t.Error("asked for an error that is not retried")
	}
}

func TestR30_ValueReturnsTheValueOrZero(t *testing.T) {
	n := 0
	got, err := retry.Value(t.Context(), retry.Policy{Backoff: retry.None}, func(context.Context) (string, error) {
		if n++; n == 1 {
			return "half", io.EOF
		}
		return "whole", nil
	})
	if got != "whole" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := retry.Value(t.Context(), retry.Never, func(context.Context) (string, error) { return "half", io.EOF }); got != "" || err == nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestR34_ManyCallsAtOnceLeaveNothingBehind runs under the race detector.
func TestR34_ManyCallsAtOnceLeaveNothingBehind(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		policy := retry.Policy{MaxAttempts: 6, AttemptTimeout: time.Second, HeartbeatTimeout: 700 * time.Millisecond}
		var calls sync.WaitGroup
		for i := range 200 {
			calls.Go(func() {
				n := 0
				_ = retry.Do(ctx, policy, func(ctx context.Context) error {
					n++
					if info, ok := retry.FromContext(ctx); !ok || info.Number != n {
						t.Errorf("attempt %d is told %+v", n, info)
					}
					child, cancel := context.WithCancel(ctx)
					defer cancel()
					for range i % 5 {
						retry.Heartbeat(child)
						select {
						case <-time.After(400 * time.Millisecond):
						case <-child.Done():
							return child.Err()
						}
					}
					return io.EOF
				})
			})
		}
		time.Sleep(20 * time.Second)
		cancel()
		calls.Wait()
	})
}
