package attempt

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/internal/clock"
)

// leased is the context of a body that would not simply be repeated if it was lost: others ask
// whether it has acted, so it must not act later. It ends when the lease does, by a timer. A
// process that stood still goes on with any of its goroutines first, and it may be that of the
// body; so each look at Done and Err looks at the lease as well. Contexts that are derived from
// it, as package net/http does for each request, look when they are made.
type leased struct {
	context.Context
	x *Attempt
}

// leased returns the context of such a body. Without a lease it is the same. The runner's mu is
// held.
func (r *Runner) leased(ctx context.Context, x *Attempt) context.Context {
	left := r.config.Left()
	if left == clock.Forever {
		return ctx
	}
	x.lease = time.AfterFunc(left, x.outlived)
	return leased{ctx, x}
}

// Done implements context.Context.
func (l leased) Done() <-chan struct{} {
	l.look()
	return l.Context.Done()
}

// Err implements context.Context.
func (l leased) Err() error {
	l.look()
	return l.Context.Err()
}

// look ends the attempt's context if the lease is over.
func (l leased) look() {
	if l.x.runner.config.Left() <= 0 {
		l.x.life.end(errLate)
	}
}

// outlived ends a body whose lease is over. If that was renewed it looks again when it ends.
func (x *Attempt) outlived() {
	r := x.runner
	r.mu.Lock()
	defer r.mu.Unlock()
	switch left := r.config.Left(); {
	case left <= 0:
		x.life.end(errLate)
	case !x.over.Load():
		x.lease.Reset(left)
	}
}

// lifetime is the context of an attempt: a child of the runner's that ends with the attempt or
// when the attempt is asked to end.
//
// What a cancelable context costs (a channel, a place in the parent's list of children, which
// all attempts share) is paid when something first looks at Done or Err, or cancels the
// attempt; many bodies are done before. All cancellation is that of a context of the standard
// library, so contexts derived from this one, and context.Cause, behave as usual.
type lifetime struct {
	context.Context // the runner's

	mu    sync.Mutex             // held while inner is made
	inner atomic.Pointer[looked] // made at the first look
	ended atomic.Bool            // the attempt has ended by itself
}

// looked is the context that cancels.
type looked struct {
	context.Context
	cancel context.CancelCauseFunc
}

// live returns the context that cancels, and makes it the first time.
func (l *lifetime) live() *looked {
	if inner := l.inner.Load(); inner != nil {
		return inner
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	inner := l.inner.Load()
	if inner == nil {
		inner = &looked{}
		inner.Context, inner.cancel = context.WithCancelCause(l.Context)
		l.inner.Store(inner)
		if l.ended.Load() { // over saw no inner, or cancels it as well
			inner.cancel(nil)
		}
	}
	return inner
}

// Done implements context.Context.
func (l *lifetime) Done() <-chan struct{} { return l.live().Done() }

// Err implements context.Context.
func (l *lifetime) Err() error { return l.live().Err() }

// Value implements context.Context. Through it the standard library finds the context that
// cancels.
func (l *lifetime) Value(key any) any {
	if inner := l.inner.Load(); inner != nil {
		return inner.Value(key)
	}
	return l.Context.Value(key)
}

// end cancels the context with a cause.
func (l *lifetime) end(cause error) {
	l.live().cancel(cause)
}

// over says that the attempt has ended by itself.
func (l *lifetime) over() {
	l.ended.Store(true)
	if inner := l.inner.Load(); inner != nil {
		inner.cancel(nil)
	}
}

// cause returns why the attempt should end, nil if it should not. It is context.Cause, but
// makes nothing.
func (l *lifetime) cause() error {
	if inner := l.inner.Load(); inner != nil {
		return context.Cause(inner.Context)
	}
	return context.Cause(l.Context)
}
