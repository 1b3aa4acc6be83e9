package attempt

import (
	"context"
	"sync"
)

// lifetime is the context of an attempt: a child of the runner's that ends with the attempt or
// when the attempt is asked to end.
//
// What a cancelable context costs (a channel, a place in the parent's list of children, which
// all attempts share) is paid when something first looks at Done or Err, or cancels the
// attempt; many bodies are done before. All cancellation is that of a context of the standard
// library, so contexts derived from this one, and context.Cause, behave as usual.
type lifetime struct {
	context.Context // the runner's

	mu     sync.Mutex
	inner  context.Context // made at the first look
	cancel context.CancelCauseFunc
	ended  bool // the attempt has ended before anything looked
}

// live returns the context that cancels, and makes it the first time.
func (l *lifetime) live() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inner == nil {
		l.inner, l.cancel = context.WithCancelCause(l.Context)
		if l.ended {
			l.cancel(nil)
		}
	}
	return l.inner
}

// Done implements context.Context.
func (l *lifetime) Done() <-chan struct{} { return l.live().Done() }

// Err implements context.Context.
func (l *lifetime) Err() error { return l.live().Err() }

// Value implements context.Context. Through it the standard library finds the context that
// cancels.
func (l *lifetime) Value(key any) any {
	l.mu.Lock()
	inner := l.inner
	l.mu.Unlock()
	if inner != nil {
		return inner.Value(key)
	}
	return l.Context.Value(key)
}

// end cancels the context with a cause.
func (l *lifetime) end(cause error) {
	l.live()
	l.cancel(cause)
}

// over says that the attempt has ended by itself.
func (l *lifetime) over() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	if l.cancel != nil {
		l.cancel(nil)
	}
}

// cause returns why the attempt should end, nil if it should not. It is context.Cause, but
// makes nothing.
func (l *lifetime) cause() error {
	l.mu.Lock()
	inner := l.inner
	l.mu.Unlock()
	if inner != nil {
		return context.Cause(inner)
	}
	return context.Cause(l.Context)
}
