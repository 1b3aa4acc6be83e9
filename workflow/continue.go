package workflow

import (
	"fmt"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// ContinueAsNew ends the run and begins the next one of its chain with a new input and an
// empty history, under the same workflow ID. Return its results from the workflow's
// function immediately:
//
//	return workflow.ContinueAsNew(wf, Poll, state)
//
// The next run may be of another workflow with the same result type. A package-level
// workflow that continues as itself is made with Declare and Impl.
//
// The end and the beginning are one transaction: there is never a moment with no run or
// with two. Callers that wait for the result wait for that of the last run. Unread
// signals go to the next run, in their order, and signal keys are still recognized. If
// cancellation was requested, the next run begins canceled. Open calls are given up, and
// their results are dropped. The next run is attempt 1 of RetryPolicy, with its full
// time.
//
// The returned error ends the run. Inside Retry or Saga it is a failure of the block like
// any other, which Retry does not retry.
func ContinueAsNew[In, Out any](wf *Context, w Workflow[In, Out], in In) (Out, error) {
	wf.enter()
	var none Out
	if err := history.CheckName("workflow name", w.Name()); err != nil {
		return none, retry.Terminal(err)
	}
	input, err := history.Encode(in)
	if err != nil {
		return none, retry.Terminal(fmt.Errorf("workflow %q: input: %w", w.Name(), err))
	}
	return none, retry.Terminal(&ContinueError{Workflow: w.Name(), input: input})
}

// ContinueError is the error that ContinueAsNew returns. Return it from the workflow's
// function.
type ContinueError struct {
	Workflow string // name of the workflow to continue as
	input    history.Payload
}

func (e *ContinueError) Error() string {
	return fmt.Sprintf("the run is to be continued as workflow %q: return this error from the workflow's function", e.Workflow)
}

// end closes the run as its function returned.
func (i *instance) end(result history.Payload, err error) {
	var next *ContinueError
	continued := history.Search(err, func(err error) (is bool) {
		next, is = err.(*ContinueError)
		return is
	})
	if continued {
		i.interceptEnd(nil)
		i.run.Continue(next.Workflow, next.input)
		return
	}
	err, replaced := i.interceptEnd(err)
	if err == nil {
		i.run.Complete(result)
		return
	}
	canceled := i.run.CancelRequested() && retry.Classify(err).Canceled
	i.run.Fail(history.FromError(err), canceled, replaced)
}
