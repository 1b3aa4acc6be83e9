package retry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/retry"
)

type valueKey struct{}

func TestR31_EveryAttemptGetsAFreshChildOfTheCallersContext(t *testing.T) {
	parent := context.WithValue(t.Context(), valueKey{}, 0)
	var hooked, seen []any
	var infos []retry.AttemptInfo
	err := retry.Do(parent, retry.Policy{MaxAttempts: 3, Backoff: retry.None}, func(ctx context.Context) error {
		seen = append(seen, ctx.Value(valueKey{}))
		info, _ := retry.FromContext(ctx)
		infos = append(infos, info)
		return io.EOF
	}, retry.WithTrace("T"), retry.WithDerive(func(ctx context.Context, info retry.AttemptInfo) (context.Context, error) {
		hooked = append(hooked, ctx.Value(valueKey{}))
		return context.WithValue(ctx, valueKey{}, info.Number), nil
	}))
	if err == nil || !slices.Equal(hooked, []any{0, 0, 0}) || !slices.Equal(seen, []any{1, 2, 3}) {
		t.Errorf("the hook saw %v, the attempts saw %v: %v", hooked, seen, err)
	}
	want := []retry.AttemptInfo{
		{TraceID: "T", ID: "T.1", Number: 1, Max: 3},
		{TraceID: "T", ID: "T.2", Number: 2, Max: 3},
		{TraceID: "T", ID: "T.3", Number: 3, Max: 3, Final: true},
	}
	if !slices.Equal(infos, want) {
		t.Errorf("got %+v", infos)
	}
}

// TestR31_MaxIsWhatAnyRuleAllows: Final must not be said of an attempt that
// another one may follow.
func TestR31_MaxIsWhatAnyRuleAllows(t *testing.T) {
	policy := retry.Policy{MaxAttempts: 1, Backoff: retry.None, Rules: []retry.Rule{
		{Types: []string{"EOF"}, MaxAttempts: 2}, {Types: []string{"X"}, Stop: true},
	}}
	var finals []bool
	_ = retry.Do(t.Context(), policy, func(ctx context.Context) error {
		info, _ := retry.FromContext(ctx)
		finals = append(finals, info.Final)
		return io.EOF
	}, retry.WithTrace("T"))
	if !slices.Equal(finals, []bool{false, true}) {
		t.Errorf("got %v", finals)
	}
}

func TestR32_TraceAndAttemptIDs(t *testing.T) {
	ids := map[string]bool{}
	random := regexp.MustCompile(`^[0-9a-f]{32}$`)
	for range 100 {
		trace, n := "", 1
		var records []retry.Record
		_ = retry.Do(t.Context(), retry.Policy{MaxAttempts: 3, Backoff: retry.None}, func(ctx context.Context) error {
			info, ok := retry.FromContext(ctx)
			if trace == "" {
				trace = info.TraceID
			}
			if !ok || !random.MatchString(trace) || info.TraceID != trace || info.ID != fmt.Sprint(trace, ".", n) || ids[info.ID] {
				t.Errorf("attempt %d of %s is told %+v", n, trace, info)
			}
			ids[info.ID] = true
			n++
			return io.EOF
		}, retry.WithTrace(""), retry.WithRecords(&records))
		if len(records) != 3 || records[2].ID != trace+".3" {
			t.Errorf("the records are %+v", records)
		}
	}
}

// TestR32_IDsOfAPlainCall: the first attempt is not told its id, but has one.
func TestR32_IDsOfAPlainCall(t *testing.T) {
	var told []string
	err := retry.Do(t.Context(), retry.Policy{MaxAttempts: 2, Backoff: retry.None}, func(ctx context.Context) error {
		info, _ := retry.FromContext(ctx)
		told = append(told, info.ID)
		return io.EOF
	})
	exhausted, ok := errors.AsType[*retry.ExhaustedError](err)
	if !ok || told[0] != "" || told[1] != exhausted.Records[1].ID || len(told[1]) != 34 ||
		exhausted.Records[0].ID != told[1][:33]+"1" {
		t.Errorf("told %q: %+v", told, err)
	}
}

func TestR31_OtherRunnersSetTheInfo(t *testing.T) {
	want := retry.AttemptInfo{TraceID: "run", ID: "run.7", Number: 7, Max: 9}
	ctx := retry.NewContext(t.Context(), want, nil)
	if got, ok := retry.FromContext(ctx); !ok || got != want {
		t.Errorf("got %+v, %v", got, ok)
	}
	if _, ok := retry.FromContext(t.Context()); ok {
		t.Error("a context without an attempt has one")
	}
	retry.Heartbeat(ctx) // does nothing
}

func TestR33_AttemptTimeoutCancelsTheContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		start := time.Now()
		err := retry.Do(t.Context(), retry.Policy{MaxAttempts: 1, AttemptTimeout: time.Second}, func(ctx context.Context) error {
			if deadline, ok := ctx.Deadline(); !ok || !deadline.Equal(start.Add(time.Second)) {
				t.Errorf("the deadline is %s, %v", deadline, ok)
			}
			child, cancel := context.WithCancel(ctx)
			defer cancel()
			<-child.Done()
			if timeout, ok := errors.AsType[*retry.TimeoutError](context.Cause(child)); !ok || timeout.Kind != retry.TimeoutAttempt {
				t.Errorf("the cause is %v", context.Cause(child))
			}
			return child.Err()
		})
		timeout, ok := errors.AsType[*retry.TimeoutError](err)
		if !ok || timeout.Kind != retry.TimeoutAttempt || timeout.Limit != time.Second || timeout.Err != context.DeadlineExceeded || time.Since(start) != time.Second {
			t.Errorf("after %s: %v", time.Since(start), err)
		}
	})
}

// TestR33_ABodyThatIgnoresItsContext: a late success is kept, a late failure is
// a timeout.
func TestR33_ABodyThatIgnoresItsContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, policy := range []retry.Policy{{AttemptTimeout: time.Second}, {HeartbeatTimeout: time.Second}} {
			policy.MaxAttempts = 1
			late := func(result error) error {
				return retry.Do(t.Context(), policy, func(context.Context) error { time.Sleep(time.Minute); return result })
			}
			if err := late(nil); err != nil {
				t.Errorf("a late success gives %v", err)
			}
			timeout, ok := errors.AsType[*retry.TimeoutError](late(io.EOF))
			if !ok || timeout.Err != io.EOF || timeout.Limit != time.Second {
				t.Errorf("a late failure gives %+v", timeout)
			}
		}
	})
}

func TestR33_SilenceCancelsTheContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		start := time.Now()
		err := retry.Do(t.Context(), retry.Policy{MaxAttempts: 1, HeartbeatTimeout: time.Second}, func(ctx context.Context) error {
			if _, ok := ctx.Deadline(); ok {
				t.Error("it has a deadline")
			}
			for range 5 {
				time.Sleep(900 * time.Millisecond)
				retry.Heartbeat(context.WithValue(ctx, valueKey{}, 1))
				if ctx.Err() != nil {
					t.Error("canceled although it beats")
				}
			}
			<-ctx.Done()
			retry.Heartbeat(ctx) // too late
			if timeout, ok := errors.AsType[*retry.TimeoutError](context.Cause(ctx)); !ok || timeout.Kind != retry.TimeoutHeartbeat {
				t.Errorf("the cause is %v", context.Cause(ctx))
			}
			return ctx.Err()
		})
		timeout, ok := errors.AsType[*retry.TimeoutError](err)
		if !ok || timeout.Kind != retry.TimeoutHeartbeat || time.Since(start) != 5500*time.Millisecond {
			t.Errorf("after %s: %v", time.Since(start), err)
		}
	})
}

// TestR33_ALateBeatDoesNotHelp even if the body did not look at its context.
func TestR33_ALateBeatDoesNotHelp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		err := retry.Do(t.Context(), retry.Policy{MaxAttempts: 1, HeartbeatTimeout: time.Second}, func(ctx context.Context) error {
			time.Sleep(2 * time.Second)
			retry.Heartbeat(ctx)
			return io.EOF
		})
		if timeout, ok := errors.AsType[*retry.TimeoutError](err); !ok || timeout.Kind != retry.TimeoutHeartbeat {
			t.Errorf("got %v", err)
		}
	})
}

// TestR33_BeatsReachTheAttemptsAround: an inner call that beats keeps the outer
// attempt alive.
func TestR33_BeatsReachTheAttemptsAround(t *testing.T) {
	bubble(t, func(t *testing.T) {
		err := retry.Do(t.Context(), retry.Policy{MaxAttempts: 1, HeartbeatTimeout: time.Second}, func(ctx context.Context) error {
			return retry.Do(ctx, retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(100 * time.Millisecond)}, func(ctx context.Context) error {
				time.Sleep(800 * time.Millisecond)
				retry.Heartbeat(ctx)
				return retry.After(io.EOF, 100*time.Millisecond)
			}, retry.WithTrace("inner"))
		})
		inner, ok := errors.AsType[*retry.ExhaustedError](errors.Unwrap(err))
		if !ok || inner.Attempts != 3 {
			t.Errorf("got %v, %v", err, errors.Unwrap(err))
		}
	})
}

func TestR34_TheContextEndsWithTheAttempt(t *testing.T) {
	for _, look := range []bool{true, false} {
		var kept context.Context
		err := retry.Do(t.Context(), retry.Policy{AttemptTimeout: time.Hour, HeartbeatTimeout: time.Hour}, func(ctx context.Context) error {
			kept = ctx
			if look && ctx.Err() != nil {
				t.Error(ctx.Err())
			}
			if ctx.Value(valueKey{}) != nil {
				t.Error("it has a value")
			}
			return nil
		})
		if err != nil || kept.Err() != context.Canceled {
			t.Errorf("got %v, the context says %v", err, kept.Err())
		}
		select {
		case <-kept.Done():
		default:
			t.Error("the context is not done")
		}
	}
}

func TestR33_TheEarlierDeadlineHolds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := retry.Do(ctx, retry.Policy{AttemptTimeout: time.Minute}, func(ctx context.Context) error {
			if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) != time.Second {
				t.Errorf("the deadline is %s, %v", deadline, ok)
			}
			<-ctx.Done()
			return ctx.Err()
		})
		if aborted, ok := errors.AsType[*retry.AbortedError](err); !ok || aborted.Phase != retry.PhaseExecution {
			t.Errorf("got %v", err)
		}
	})
}
