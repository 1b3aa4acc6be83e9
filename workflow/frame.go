package workflow

import (
	"errors"

	"github.com/perdure/perdure/retry"
)

// frame is the function of a block: what Timeout and Retry run.
type frame struct {
	outer *frame
	// once says that what it calls runs once unless it has a policy of its own: all of it
	// is retried by that of the block.
	once bool
}

// line is where a coroutine is.
type line struct{ in *frame }

// inside runs fn as the body of a block, with a context of its own.
func inside[T any](wf *Context, s *scope, once bool, fn func(wf *Context) (T, error)) (T, error) {
	inner := wf.with(s)
	inner.frame, inner.outer = &frame{outer: wf.frame, once: once || wf.runsOnce()}, false
	was := wf.line.in
	wf.line.in = inner.frame
	out, err := fn(inner)
	wf.line.in = was
	return out, err
}

// runsOnce reports whether calls without a policy run once.
func (wf *Context) runsOnce() bool { return wf.frame != nil && wf.frame.once }

// Outer returns wf for use inside a block (the function of Timeout or Retry) that began
// later in the same coroutine. Calls made with it do not belong to the block, and the
// block's deadline does not end them. Without Outer such a call panics, which parks the
// run, because it would silently lose the deadline.
func Outer(wf *Context) *Context {
	wf.enter()
	own := *wf
	own.outer = true
	return &own
}

var errOuter = errors.New("a workflow context from outside of a block was used inside it: what it begins does not end with the deadline of workflow.Timeout or of a try of workflow.Retry; " +
	"use the context that is passed to the block's function, or workflow.Outer(wf) if it is not to belong to the block")

// belongs panics unless what begins here belongs to the block in which the coroutine is.
func (wf *Context) belongs() {
	if wf.outer || wf.frame == wf.line.in {
		return
	}
	for b := wf.line.in; b != nil; b = b.outer {
		if b.outer == wf.frame {
			panic(retry.Terminal(errOuter))
		}
	}
}
