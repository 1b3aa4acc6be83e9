package workflow

import (
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/retry"
)

// Timeout runs fn in a scope with a deadline d from now. When the deadline passes,
// everything that the scope still waits for is abandoned immediately, whether or not a
// running activity returns, and Timeout returns a *retry.TimeoutError unless fn succeeds
// nevertheless. The order of history decides what came first, even if the run was not in
// memory then: a result that came after the deadline is dropped, and a signal stays for
// the next wait. fn must use the context it is given: an outer context would lose the
// deadline, so using one panics; see Outer. The deadline does not end the Get of a future
// that was made outside fn: begin the call inside fn, or use Select with a timer. A d of
// zero or less means no deadline.
func Timeout[T any](wf *Context, d time.Duration, fn func(wf *Context) (T, error)) (T, error) {
	wf.enter()
	wf.belongs()
	return timeout(wf, d, 0, fn)
}

// timeout is Timeout for a try of a block of code, or for no such.
func timeout[T any](wf *Context, d time.Duration, block int64, fn func(wf *Context) (T, error)) (T, error) {
	if d <= 0 {
		return fn(wf)
	}
	s := newScope(wf.scope)
	defer s.leave()
	if err := s.expireAfter(wf, d, block); err != nil {
		var none T
		return none, err
	}
	out, err := inside(wf, s, false, fn)
	if err != nil && s.timedOut() {
		err = &retry.TimeoutError{Kind: s.deadline.expired.Kind, Limit: d, Err: err}
	}
	s.settle()
	return out, err
}

// timeLimit is when a scope ends, whatever is open in it.
type timeLimit struct {
	*pending
	expired *retry.TimeoutError
	felt    bool // what is in the scope was given up, or told so
}

// expireAfter gives the scope a deadline. The error says that the run can have no more
// timers.
func (s *scope) expireAfter(wf *Context, d time.Duration, block int64) error {
	t := &timeLimit{expired: &retry.TimeoutError{Kind: retry.TimeoutAttempt, Limit: d}}
	s.deadline = t
	if wf.over() {
		t.pending = refuse("timeout", &retry.AbortedError{Name: "timeout", Attempt: 1, Phase: retry.PhaseExecution, Cause: wf.scope.err})
		return nil
	}
	call := wf.instance.run.StartDeadline(block, "timeout", d)
	if t.pending = wf.follow(call); call.Done {
		return t.failure()
	}
	call.Follower = &expiry{call.Follower, t, s}
	wf.instance.start(wf, func(watch *Context) {
		if (Timer{t.pending}).Wait(watch) == nil && s.coming != nil {
			s.expire(wf.instance.run, t.expired)
		}
	})
	return nil
}

// expiry is the deadline of a scope as the machine sees it.
type expiry struct {
	core.Follower
	limit *timeLimit
	scope *scope
}

// CallDone implements core.Follower.
func (e *expiry) CallDone() {
	e.Follower.CallDone()
	if t := e.limit; t.call.Failure == nil && t.ready() {
		e.scope.ends(&ending{t.call.Since, t.expired, true})
	}
}

// timedOut reports whether the deadline is why the scope ended with an error.
func (s *scope) timedOut() bool {
	return s.err == error(s.deadline.expired) && s.deadline.felt
}

// settle ends the deadline of a scope that was left. What came late for it is in time for
// what goes on.
func (s *scope) settle() {
	s.coming = nil
	s.deadline.abandon()
	late := s.late
	s.late = nil
	for _, p := range late {
		if p.late = false; !p.scope.keepIfLate(p) {
			p.wake()
		}
	}
}

// feel notes that something in the scope was given up, or told so, for its reason.
func (s *scope) feel() {
	for x := s; x != nil && x.err == s.err; x = x.parent {
		if x.deadline != nil {
			x.deadline.felt = true
		}
	}
}
