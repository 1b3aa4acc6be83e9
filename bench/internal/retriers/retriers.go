package retriers

import (
	"context"
	"time"

	avast "github.com/avast/retry-go/v5"
	cenkalti "github.com/cenkalti/backoff/v5"
	"github.com/eapache/go-resiliency/retrier"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/retry"
	sethvargo "github.com/sethvargo/go-retry"
)

// What all are set up with.
const (
	attempts = 5
	initial  = 100 * time.Millisecond
	longest  = 30 * time.Second
)

// Body is what is called.
type Body func(context.Context) error

// Peer is one package. Its functions make the function that makes one call: with
// an exponential backoff, and without any wait.
type Peer struct {
	Name      string
	Backoff   func(context.Context, Body) func() error
	Immediate func(context.Context, Body) func() error
}

// Peers are all that are compared; the first is the call itself, without a package.
func Peers() []Peer {
	return []Peer{
		{"direct call", direct, nil},
		perdure("perdure"),
		perdure("perdure with a gate", gate.Through(gate.New("gate", 10))),
		{"cenkalti backoff", cenkaltiBackoff, cenkaltiImmediate},
		avastPeer(),
		{"sethvargo go-retry", sethvargoBackoff, sethvargoImmediate},
		eapachePeer(),
		failsafePeer(),
	}
}

func direct(ctx context.Context, body Body) func() error {
	return func() error { return body(ctx) }
}

func perdure(name string, opts ...retry.Option) Peer {
	with := func(p retry.Policy) func(context.Context, Body) func() error {
		return func(ctx context.Context, body Body) func() error {
			return func() error { return retry.Do(ctx, p, body, opts...) }
		}
	}
	return Peer{
		name,
		with(retry.Policy{MaxAttempts: attempts, Backoff: retry.Exponential(initial, 2, longest)}),
		with(retry.Policy{MaxAttempts: attempts, Backoff: retry.None}),
	}
}

func cenkaltiBackoff(ctx context.Context, body Body) func() error {
	operation := func() (struct{}, error) { return struct{}{}, body(ctx) }
	return func() error {
		b := cenkalti.NewExponentialBackOff() // has the state of a call
		b.InitialInterval, b.Multiplier, b.MaxInterval = initial, 2, longest
		_, err := cenkalti.Retry(ctx, operation, cenkalti.WithMaxTries(attempts), cenkalti.WithBackOff(b))
		return err
	}
}

func cenkaltiImmediate(ctx context.Context, body Body) func() error {
	operation := func() (struct{}, error) { return struct{}{}, body(ctx) }
	return func() error {
		_, err := cenkalti.Retry(ctx, operation, cenkalti.WithMaxTries(attempts), cenkalti.WithBackOff(&cenkalti.ZeroBackOff{}))
		return err
	}
}

func avastPeer() Peer {
	with := func(opts ...avast.Option) func(context.Context, Body) func() error {
		return func(ctx context.Context, body Body) func() error {
			r := avast.New(append(opts, avast.Attempts(attempts), avast.Context(ctx))...)
			call := func() error { return body(ctx) }
			return func() error { return r.Do(call) }
		}
	}
	return Peer{
		"avast retry-go",
		with(avast.DelayType(avast.BackOffDelay), avast.Delay(initial), avast.MaxDelay(longest)),
		with(avast.DelayType(avast.FixedDelay), avast.Delay(0)),
	}
}

func sethvargoBackoff(ctx context.Context, body Body) func() error {
	marked := retryable(body)
	return func() error {
		b := sethvargo.WithCappedDuration(longest, sethvargo.NewExponential(initial))
		return sethvargo.Do(ctx, sethvargo.WithMaxRetries(attempts-1, b), marked)
	}
}

func sethvargoImmediate(ctx context.Context, body Body) func() error {
	marked := retryable(body)
	zero := sethvargo.BackoffFunc(func() (time.Duration, bool) { return 0, false })
	return func() error { return sethvargo.Do(ctx, sethvargo.WithMaxRetries(attempts-1, zero), marked) }
}

// retryable marks the errors of the body, as sethvargo's package wants them.
func retryable(body Body) sethvargo.RetryFunc {
	return func(ctx context.Context) error { return sethvargo.RetryableError(body(ctx)) }
}

func eapachePeer() Peer {
	with := func(waits []time.Duration) func(context.Context, Body) func() error {
		r := retrier.New(waits, nil)
		return func(ctx context.Context, body Body) func() error {
			return func() error { return r.RunCtx(ctx, body) }
		}
	}
	return Peer{
		"eapache go-resiliency",
		with(retrier.LimitedExponentialBackoff(attempts-1, initial, longest)),
		with(retrier.ConstantBackoff(attempts-1, 0)),
	}
}

func failsafePeer() Peer {
	with := func(b retrypolicy.Builder[any]) func(context.Context, Body) func() error {
		executor := failsafe.With(b.WithMaxAttempts(attempts).Build())
		return func(ctx context.Context, body Body) func() error {
			bound := executor.WithContext(ctx)
			call := func() error { return body(ctx) }
			return func() error { return bound.Run(call) }
		}
	}
	return Peer{
		"failsafe-go",
		with(retrypolicy.NewBuilder[any]().WithBackoff(initial, longest)),
		with(retrypolicy.NewBuilder[any]()),
	}
}
