package around

import (
	"context"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/history"
)

// Watcher observes the verbs of clients and attempts, and changes nothing about them except
// their context. It costs less than an interceptor: no function is created for it, and it
// is not called for kinds that it does not watch. It has a place among the interceptors.
// Its methods are called concurrently.
type Watcher interface {
	// Begins observes the beginning of an operation. What is inside runs with the returned
	// context. Ends is called with mark, unless that is nil. parent is for the run that a
	// Start creates.
	Begins(ctx context.Context, op intercept.Op) (_ context.Context, parent Parent, mark any)
	// Ends observes how the operation ended. If it has not returned, it panicked or exited
	// its goroutine.
	Ends(mark any, err error, returned bool)
	// Idle reports whether the attempts of a run need not be watched. values is what their
	// bodies find in their context nevertheless, nil for nothing. Idle must not call user
	// code or block, because the engine's lock is held.
	Idle(start *history.Start) (values context.Context, idle bool)
}

// Parent is a trace parent and its state. Both may be empty.
type Parent struct{ Trace, State string }

// HeaderState is the header of a trace parent's state.
const HeaderState = "tracestate"

// Over returns headers with the state of the parent. It does not modify headers.
func (p Parent) Over(headers map[string]string) map[string]string {
	if p.State == "" {
		return headers
	}
	return history.ChangeHeaders(headers, map[string]string{HeaderState: p.State})
}

// Placed is a watcher with its place: outside of the interceptor with index At and those
// after it.
type Placed struct {
	Watcher
	Name string // used in errors
	At   int
}

// watched are the kinds of operations that a watcher observes.
var watched = []intercept.Kind{
	intercept.Start, intercept.Schedule, intercept.Signal, intercept.Query, intercept.Update, intercept.Cancel,
	intercept.Terminate, intercept.Result, intercept.Operate, intercept.Complete, intercept.Attempt,
}

// Member is a watcher or an interceptor of one kind.
type Member struct {
	name  string
	do    intercept.Func // nil for a watcher
	watch Watcher        // nil for an interceptor
}

// Watcher returns the watcher of a kind of operation if nothing else is around it, or nil.
func (c *Chain) Watcher(k intercept.Kind) *Member {
	if all := c.of(k).all; len(all) == 1 && all[0].watch != nil {
		return &all[0]
	}
	return nil
}

// Watched runs an operation with only a watcher around it.
func Watched[T any](ctx context.Context, m *Member, op intercept.Op, do func(context.Context, Parent) (T, error)) (out T, err error) {
	if err := history.CheckContext(ctx); err != nil {
		return out, err
	}
	ctx, parent, mark, err := m.begins(ctx, &op)
	if err != nil {
		return out, err
	}
	if mark == nil {
		return do(ctx, parent)
	}
	returned := false
	defer func() { err = m.ends(&op, mark, err, returned) }()
	out, err = do(ctx, parent)
	returned = true
	return out, err
}

// begins calls Begins. A panic becomes an error.
func (m *Member) begins(ctx context.Context, op *intercept.Op) (_ context.Context, _ Parent, mark any, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = m.panicked(op, v)
		}
	}()
	inside, parent, mark := m.watch.Begins(ctx, *op)
	return inside, parent, mark, nil
}

// ends calls Ends and returns the operation's error, or an error if Ends panicked.
func (m *Member) ends(op *intercept.Op, mark any, err error, returned bool) (told error) {
	defer func() {
		if v := recover(); v != nil {
			told = m.panicked(op, v)
		}
	}()
	m.watch.Ends(mark, err, returned)
	return err
}
