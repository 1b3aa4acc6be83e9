package retry_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/retry"
)

// sinkError keeps the compiler from removing what is measured.
var sinkError error

func succeed(context.Context) error { return nil }

// direct is the call that Do is compared with; a variable, so that it is not
// inlined away.
var direct = succeed

func BenchmarkDirectCall(b *testing.B) {
	ctx := b.Context()
	for b.Loop() {
		sinkError = direct(ctx)
	}
}

func BenchmarkDo(b *testing.B) {
	type key struct{}
	plain := context.Background()
	deep := b.Context()
	for range 5 {
		deep = context.WithValue(deep, key{}, 1)
	}
	timeout := retry.Policy{AttemptTimeout: time.Minute}
	heartbeat := retry.Policy{AttemptTimeout: time.Minute, HeartbeatTimeout: time.Second}
	var records []retry.Record
	ignore := func(retry.Record) {}
	same := func(ctx context.Context, _ retry.AttemptInfo) (context.Context, error) { return ctx, nil }

	for _, bm := range []struct {
		name   string
		ctx    context.Context
		policy retry.Policy
		opts   []retry.Option
	}{
		{"zero policy", plain, retry.Policy{}, nil},
		{"backoff", plain, retry.Quick, nil},
		{"deep context", deep, retry.Policy{}, nil},
		{"within", plain, retry.Standard, nil},
		{"timeout", plain, timeout, nil},
		{"heartbeat", plain, heartbeat, nil},
		{"name", plain, retry.Policy{}, []retry.Option{retry.WithName("charge")}},
		{"sink", plain, retry.Policy{}, []retry.Option{retry.WithSink(ignore)}},
		{"derive", plain, retry.Policy{}, []retry.Option{retry.WithDerive(same)}},
		{"everything", plain, heartbeat, []retry.Option{
			retry.WithName("charge"), retry.WithTrace("trace"), retry.WithDerive(same),
			retry.WithSink(ignore), retry.WithRecords(&records),
		}},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				records = nil
				sinkError = retry.Do(bm.ctx, bm.policy, direct, bm.opts...)
			}
		})
	}
	b.Run("value", func(b *testing.B) {
		b.ReportAllocs()
		fn := func(context.Context) (int, error) { return 1, nil }
		for b.Loop() {
			_, sinkError = retry.Value(plain, retry.Policy{}, fn)
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	now := time.Unix(0, 0)
	rules := retry.Policy{
		Within:       time.Hour,
		NonRetryable: []string{"CardDeclined"},
		Rules: []retry.Rule{
			{Types: []string{"RateLimit"}, MaxAttempts: 20, Backoff: retry.Fixed(time.Second)},
			{Types: []string{"Network"}, MaxAttempts: 9, Backoff: retry.Linear(time.Second, time.Minute)},
		},
	}
	failure := retry.Failure{Types: []string{"Network", "Error"}}
	for _, bm := range []struct {
		name   string
		policy retry.Policy
		state  retry.State
	}{
		{"default", retry.Policy{}, retry.State{Attempt: 3}},
		{"rules", rules, retry.State{Attempt: 3, First: now}},
		{"attempt two billion", retry.Policy{MaxAttempts: retry.Unlimited, Backoff: retry.Exponential(1, 1.0000001, retry.Forever)}, retry.State{Attempt: 2_000_000_000}},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			var d retry.Decision
			for b.Loop() {
				d = retry.Decide(&bm.policy, bm.state, failure, now, 0.5)
			}
			if !d.Retry {
				b.Fatal(d)
			}
		})
	}
}

func BenchmarkClassify(b *testing.B) {
	err := errors.Join(errors.New("one"), retry.After(context.DeadlineExceeded, time.Second))
	b.ReportAllocs()
	for b.Loop() {
		_ = retry.Classify(err)
	}
}

// BenchmarkDoAgain is a call whose first attempts fail.
func BenchmarkDoAgain(b *testing.B) {
	failure := errors.New("no")
	for failures, name := range []string{1: "one retry", 2: "two retries", 4: "exhausted"} {
		if name == "" {
			continue
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			p := retry.Policy{MaxAttempts: 4, Backoff: retry.None}
			ctx, left := b.Context(), 0
			fn := func(context.Context) error {
				if left--; left >= 0 {
					return failure
				}
				return nil
			}
			for b.Loop() {
				left = failures
				sinkError = retry.Do(ctx, p, fn)
			}
		})
	}
}
