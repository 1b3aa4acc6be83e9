package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
)

// transaction is what the body of an attempt handed to activity.OnCommit. It
// travels with the end of the attempt, in memory only: if that is lost, the
// attempt is.
type transaction struct {
	ctx context.Context // of the attempt; its end is not the transaction's
	run func(ctx context.Context, tx any) error
}

// hookGrace is how long a function may take to heed the end of its context before
// it is left behind.
const hookGrace = 500 * time.Millisecond

// errSlowHook is the cause of the context of a step transaction whose time is up.
var errSlowHook = fmt.Errorf("it took longer than %s: %w", store.HookLimit, context.DeadlineExceeded)

// upToTransaction answers how much mail goes into one turn: up to the second end
// of an attempt with a transaction, so that a turn has one at most, and its
// failure is that attempt's.
func upToTransaction(all []mail) int {
	seen := false
	for i, m := range all {
		if m.transaction == nil {
			continue
		}
		if seen {
			return i
		}
		seen = true
	}
	return len(all)
}

// hook is what the turn has to run inside its transaction, nil for nothing. The
// machine decided that the attempt counts.
func (e *Engine) hook(out *core.Turn, todo []mail) func(tx any) error {
	if len(out.Transactions) == 0 {
		return nil
	}
	for _, m := range todo {
		if m.transaction != nil {
			return func(tx any) error {
				return e.runTransaction(context.WithoutCancel(m.transaction.ctx), m.transaction.run, tx)
			}
		}
	}
	return nil
}

// runTransaction runs what users wrote, on a goroutine of its own: it must neither
// end that of the caller nor keep the transaction for longer than its time.
func (e *Engine) runTransaction(ctx context.Context, f func(ctx context.Context, tx any) error, tx any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, store.HookLimit, errSlowHook)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	result := make(chan error, 1)
	e.code.run(func() {
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
		return late(ctx, err)
	case <-ctx.Done():
	}
	grace := time.NewTimer(hookGrace)
	defer grace.Stop()
	select {
	case err := <-result:
		return late(ctx, err)
	case <-grace.C:
		return fmt.Errorf("%w, and goes on: %w", context.Cause(ctx), store.ErrHookLeft)
	}
}

// late tells why a function failed whose time was up.
func late(ctx context.Context, err error) error {
	if err == nil || context.Cause(ctx) != errSlowHook {
		return err
	}
	return fmt.Errorf("%w (%w)", errSlowHook, err)
}

// transactionFailed makes the end of the attempt whose transaction failed a
// failure. Nothing of its turn is durable; the run is loaded anew and told.
func (e *Engine) transactionFailed(r *resident, todo []mail, failure error) {
	for i, m := range todo {
		end, ok := m.input.(core.AttemptEnded)
		if !ok || m.transaction == nil {
			continue
		}
		todo[i] = mail{sequence: m.sequence, input: core.AttemptEnded{
			Call: end.Call, Attempt: end.Attempt, Outcome: core.Failed, Ended: e.clock.now(),
			Failure: history.FromError(fmt.Errorf("step transaction: %w", failure)),
		}}
	}
	e.putBack(r, todo)
}
