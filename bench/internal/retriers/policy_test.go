package retriers

import (
	"context"
	"testing"
	"time"

	avast "github.com/avast/retry-go/v5"
	"github.com/perdure/perdure/retry"
)

// What programs keep in package variables.
var (
	charged   = succeed // a variable, so that the call is not inlined
	usual     = retry.Policy{MaxAttempts: attempts, Backoff: retry.Exponential(initial, 2, longest)}
	immediate = retry.Policy{MaxAttempts: attempts, Backoff: retry.None}
	exact     = retry.Policy{MaxAttempts: attempts, Backoff: retry.Fixed(initial), Jitter: retry.NoJitter}
	ruled     = retry.Policy{
		MaxAttempts: attempts, NonRetryable: []string{"CardDeclined"},
		Rules: []retry.Rule{{Types: []string{"RateLimit"}, MaxAttempts: 10, Backoff: retry.Fixed(time.Minute)}},
	}
)

// BenchmarkSuccessByPolicy: the first attempt succeeds, with the policy where
// programs have it. All calls are written out, because a loop over functions adds a
// call and a copy of the policy to each.
func BenchmarkSuccessByPolicy(b *testing.B) {
	ctx := b.Context()
	b.Run("direct call", func(b *testing.B) {
		for b.Loop() {
			sink = charged(ctx)
		}
	})
	b.Run("package variable", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sink = retry.Do(ctx, usual, charged)
		}
	})
	b.Run("package variable, Backoff None", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sink = retry.Do(ctx, immediate, charged)
		}
	})
	b.Run("package variable, no jitter", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sink = retry.Do(ctx, exact, charged)
		}
	})
	b.Run("package variable, with rules", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sink = retry.Do(ctx, ruled, charged)
		}
	})
	b.Run("built in place", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sink = retry.Do(ctx, retry.Policy{MaxAttempts: attempts, Backoff: retry.Exponential(initial, 2, longest)}, charged)
		}
	})
	b.Run("avast retry-go", func(b *testing.B) {
		retrier := avast.New(avast.Attempts(attempts), avast.DelayType(avast.BackOffDelay), avast.Delay(initial), avast.MaxDelay(longest), avast.Context(ctx))
		b.ReportAllocs()
		for b.Loop() {
			sink = retrier.Do(func() error { return charged(ctx) })
		}
	})
}

// TestSuccessAllocatesNothing, wherever the policy is.
func TestSuccessAllocatesNothing(t *testing.T) {
	ctx := context.Background()
	for name, p := range map[string]retry.Policy{"usual": usual, "immediate": immediate, "exact": exact, "ruled": ruled} {
		if n := testing.AllocsPerRun(100, func() { sink = retry.Do(ctx, p, charged) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
