package attempt

import (
	"context"
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
