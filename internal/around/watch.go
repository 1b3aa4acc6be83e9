package around

import (
	"context"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/history"
)

// Watcher is told of the verbs of clients and of attempts, and changes nothing of them but
// their context. It costs less than an interceptor: no function is made for it, and none is
// called around what it does not watch. It stands among the interceptors, at its place. Its
// methods are called concurrently.
type Watcher interface {
	// Begins is told of an operation that begins. The context is for what it stands around.
	// Ends is called with the mark, unless that is nil. Parent is for the run of a Start.
	Begins(ctx context.Context, op intercept.Op) (_ context.Context, parent Parent, mark any)
	// Ends is told how the operation ended. It panicked, or ended its goroutine, if it has
	// not returned.
	Ends(mark any, err error, returned bool)
	// Idle reports whether attempts of a run need not be watched, and what their bodies find
	// in their context all the same, nil for nothing. It calls no code of users and does not
	// block: the engine's lock is held.
	Idle(start *history.Start) (values context.Context, idle bool)
}

// Parent is a trace parent, empty if there is none, and its state.
type Parent struct{ Trace, State string }

// HeaderState is the header that has the state of a trace parent.
const HeaderState = "tracestate"

// Over returns headers with the state of the parent; they are not changed.
func (p Parent) Over(headers map[string]string) map[string]string {
	if p.State == "" {
		return headers
	}
	return history.ChangeHeaders(headers, map[string]string{HeaderState: p.State})
}

// Placed is a watcher at its place: it stands outside of the interceptor with the index At and
// those that follow it.
type Placed struct {
	Watcher
	Name string // stands in errors
	At   int
}

// watched are the kinds of operations that a watcher is told of.
var watched = []intercept.Kind{
	intercept.Start, intercept.Schedule, intercept.Signal, intercept.Query, intercept.Update, intercept.Cancel,
	intercept.Terminate, intercept.Result, intercept.Operate, intercept.Complete, intercept.Attempt,
}

// Member is a watcher or an interceptor of one kind.
type Member struct {
	name  string
	do    intercept.Func // nil of a watcher
	watch Watcher        // nil of an interceptor
}

// Watcher returns the watcher that stands alone around operations of a kind, nil if there is
// none or something else stands there too.
func (c *Chain) Watcher(k intercept.Kind) *Member {
	if all := c.of(k).all; len(all) == 1 && all[0].watch != nil {
		return &all[0]
	}
	return nil
}

// Watched does an operation around which a watcher stands alone.
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

// begins tells a watcher that an operation begins. Its panic is an error.
func (m *Member) begins(ctx context.Context, op *intercept.Op) (_ context.Context, _ Parent, mark any, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = m.panicked(op, v)
		}
	}()
	inside, parent, mark := m.watch.Begins(ctx, *op)
	return inside, parent, mark, nil
}

// ends tells a watcher that an operation has ended, and returns its error; a panic of the
// watcher is one.
func (m *Member) ends(op *intercept.Op, mark any, err error, returned bool) (told error) {
	defer func() {
		if v := recover(); v != nil {
			told = m.panicked(op, v)
		}
	}()
	m.watch.Ends(mark, err, returned)
	return err
}
