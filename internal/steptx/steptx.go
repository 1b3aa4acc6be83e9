package steptx

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/workers"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
)

// Func is a function of a user that runs inside a transaction.
type Func = func(ctx context.Context, tx any) error

// grace is how long a function may take to react to the end of its context.
const grace = 500 * time.Millisecond

// errLate is the cause of the context of a function that took too long.
var errLate = fmt.Errorf("it took longer than %s: %w", store.HookLimit, context.DeadlineExceeded)

// Runner runs functions of users on the goroutines of a pool. Their context ends when Life
// ends.
type Runner struct {
	Life context.Context
	Pool *workers.Pool
}

// Run calls f on a goroutine of its own, because f must neither end the caller's goroutine
// (by runtime.Goexit) nor keep the transaction for too long. It returns f's error, a
// *retry.PanicError, or an error that wraps store.ErrHookLeft if f still runs.
func (r *Runner) Run(ctx context.Context, f Func, tx any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, store.HookLimit, errLate)
	defer cancel()
	defer context.AfterFunc(r.Life, cancel)()
	result := make(chan error, 1)
	r.Pool.Run(func() {
		err := errors.New("it called runtime.Goexit (a test's FailNow, perhaps)")
		defer func() {
			if v := recover(); v != nil {
				err = retry.NewPanicError(v)
			}
			result <- err
		}()
		err = f(ctx, tx)
	})
	select {
	case err := <-result:
		return explain(ctx, err)
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case err := <-result:
		return explain(ctx, err)
	case <-timer.C:
		return fmt.Errorf("%w, and goes on: %w", context.Cause(ctx), store.ErrHookLeft)
	}
}

// explain adds to the error of a function that it took too long, if it did.
func explain(ctx context.Context, err error) error {
	if err == nil || context.Cause(ctx) != errLate {
		return err
	}
	return fmt.Errorf("%w (%w)", errLate, err)
}
