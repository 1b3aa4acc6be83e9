package workflow

import (
	"time"

	"github.com/perdure/perdure/retry"
)

// Timeout runs fn in a scope with a deadline d from now. When the deadline
// passes first, what the scope still waits for is given up at once, whether or
// not a running activity cares, and, unless fn succeeds all the same, Timeout
// returns a *retry.TimeoutError. fn must use the context it is given. A d of zero
// or less is no deadline.
func Timeout[T any](wf *Context, d time.Duration, fn func(wf *Context) (T, error)) (T, error) {
	wf.enter()
	if d <= 0 {
		return fn(wf)
	}
	s := newScope(wf.scope)
	defer s.leave()
	deadline := wf.timer("timeout", d)
	expired := &retry.TimeoutError{Kind: retry.TimeoutAttempt, Limit: d}
	wf.instance.start(wf, func(watch *Context) {
		if (Timer{deadline}).Wait(watch) == nil {
			s.expire(wf.instance.run, expired)
		}
	})
	out, err := fn(wf.with(s))
	if err != nil && s.err == error(expired) {
		err = &retry.TimeoutError{Kind: expired.Kind, Limit: d, Err: err}
	}
	deadline.abandon()
	return out, err
}
