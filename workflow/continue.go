package workflow

import (
	"fmt"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// ContinueAsNew ends the run and lets the next one of its chain begin with an
// input of its own and an empty history, under the same workflow ID. Return what
// it returns from the workflow's function, immediately:
//
//	return workflow.ContinueAsNew(wf, Poll, state)
//
// The workflow may be another one, of the same result. A package-level workflow
// that continues as itself is made with Declare and Impl.
//
// Both happen in one transaction: there is no moment without a run, and never two.
// A caller that waits for the result waits for that of the last run. Signals that were
// not read wait for the next run, in their order, and IDs that were seen stay
// seen. A request to cancel sticks: the next run begins canceled. Calls that are
// open are given up; what they still come to is dropped. The next run is attempt
// 1 of RetryPolicy, with all its time.
//
// It is the returned error that does it: inside of Retry or Saga it is a failure
// of the block as any other, which Retry does not retry.
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

// ContinueError is the error that ContinueAsNew returns.
type ContinueError struct {
	Workflow string // name of the one to go on as
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
