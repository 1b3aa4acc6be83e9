package workflow

import (
	"context"
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/coro"
	"github.com/perdure/perdure/retry"
)

// scope is a part of a run that can be canceled by itself.
type scope struct {
	parent   *scope       // nil for the root and for shields
	err      error        // why it is canceled
	calls    []*core.Call // open calls, oldest first
	children []*scope
	parked   []*coro.Coroutine // wait for something that is no call
	deadline *timeLimit        // nil for none
	coming   *ending           // ends it, and the code has not seen that; nil for none
	late     []*pending        // came after that, and before the code could give them up
}

func newScope(parent *scope) *scope {
	s := &scope{parent: parent}
	if parent != nil {
		s.err = parent.err
		parent.children = append(parent.children, s)
	}
	return s
}

// cancel gives up the scope's calls in the order they were made, then its inner
// scopes in theirs. It is sticky: the first reason stays.
func (s *scope) cancel(run *core.Run, err error) { s.end(run, err, false) }

// expire is cancel for a deadline: it does not wait for running attempts to end.
func (s *scope) expire(run *core.Run, err error) { s.end(run, err, true) }

func (s *scope) end(run *core.Run, err error, abandon bool) {
	if s.err != nil {
		return
	}
	if s.coming != nil { // that came first
		err, abandon = s.coming.err, s.coming.abandon
	}
	s.err = err
	if len(s.calls)+len(s.parked)+len(s.late) > 0 {
		s.feel()
	}
	for _, c := range slices.Clone(s.calls) {
		run.Cancel(c, abandon)
	}
	for _, child := range slices.Clone(s.children) {
		child.end(run, err, abandon)
	}
	for _, co := range s.parked {
		co.Wake()
	}
	s.parked = nil
	s.giveUpLate(run, abandon)
	s.leave()
}

// add remembers an open call.
func (s *scope) add(c *core.Call) { s.calls = append(s.calls, c) }

// remove forgets a call that is done.
func (s *scope) remove(c *core.Call) {
	i := slices.Index(s.calls, c)
	switch n := len(s.calls); {
	case i < 0:
	case i < n/2 && n > fewCalls: // the oldest end first: what is before them is less to move
		copy(s.calls[1:], s.calls[:i])
		s.calls[0] = nil
		s.calls = s.calls[1:]
	default:
		s.calls = slices.Delete(s.calls, i, i+1)
	}
}

// fewCalls is how many open calls are moved without a thought.
const fewCalls = 32

// leave detaches a scope that no longer needs its parent's cancellation.
func (s *scope) leave() {
	if s.parent == nil {
		return
	}
	siblings := s.parent.children
	if i := slices.Index(siblings, s); i >= 0 {
		s.parent.children = slices.Delete(siblings, i, i+1)
	}
}

// aborted is what a verb returns in a canceled scope without doing anything.
func (s *scope) aborted(name string) error {
	s.feel()
	return &retry.AbortedError{Name: name, Attempt: 1, Phase: retry.PhaseExecution, Cause: s.err}
}

// CancelError is the error of a scope that was canceled by request.
type CancelError struct {
	Reason string // as given, may be empty
}

func init() { retry.RegisterErrorType[*CancelError]("workflow.CancelError") }

func (e *CancelError) Error() string {
	if e.Reason == "" {
		return "canceled"
	}
	return fmt.Sprintf("canceled: %s", e.Reason)
}

// ErrorType returns Canceled.
func (e *CancelError) ErrorType() string { return retry.TypeCanceled }

// Unwrap returns context.Canceled.
func (e *CancelError) Unwrap() error { return context.Canceled }

// WithCancel returns a context whose calls can be canceled together, and the function
// that cancels them. Canceling does not wait: running attempts are asked to end, and
// their calls return a *retry.AbortedError, or the result if they succeed nevertheless;
// calls that wait (in backoff, in a queue, for a timer, a signal) end immediately; later
// calls do not run. Canceling the parent cancels this context, too. Any coroutine of the
// run may call the function, more than once.
func WithCancel(wf *Context) (*Context, func()) {
	wf.enter()
	wf.belongs()
	s := newScope(wf.scope)
	return wf.with(s), func() {
		wf.instance.enter()
		s.cancel(wf.instance.run, &CancelError{})
	}
}

// Shield returns a context that no cancellation and no deadline reaches. Use it to clean
// up after one.
func Shield(wf *Context) *Context {
	wf.enter()
	shield := wf.with(newScope(nil))
	shield.outer = true
	return shield
}

// shielded reports whether no request to cancel the run reaches the context's scope.
func (wf *Context) shielded() bool {
	root := wf.scope
	for root.parent != nil {
		root = root.parent
	}
	return root != wf.instance.root
}
