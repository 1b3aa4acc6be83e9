package outage

import (
	"context"
	"time"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
)

// backoff is how a read that failed is repeated.
var backoff = retry.Exponential(20*time.Millisecond, 2, 2*time.Second)

// Insist retries a read about one thing while the database is unavailable. It returns any other
// error, and the cause of ctx when that ends.
func (w *Watch) Insist(ctx context.Context, what string, read func() error) error {
	var definite error
	err := w.Persist(ctx, what, func() error {
		err := read()
		if err != nil && !store.Unavailable(err) {
			definite, err = err, nil
		}
		return err
	})
	if err != nil {
		return err
	}
	return definite
}

// Read is Insist for a read that returns something.
func Read[T any](ctx context.Context, w *Watch, what string, read func(context.Context) (T, error)) (got T, err error) {
	err = w.Insist(ctx, what, func() (err error) {
		got, err = read(ctx)
		return err
	})
	return got, err
}

// Persist retries a read that its caller cannot do without, whatever the error, until it
// succeeds or ctx ends. Then it returns the cause of ctx.
func (w *Watch) Persist(ctx context.Context, what string, read func() error) error {
	for k := 1; ; k++ {
		err := read()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil {
			w.Back()
			return nil
		}
		w.Away(what, err)
		if !clock.Pause(ctx, backoff.Delay(k)) {
			return context.Cause(ctx)
		}
	}
}
